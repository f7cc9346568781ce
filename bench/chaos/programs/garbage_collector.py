import gc

from training import Training

phases = []
gc.disable()
gc.set_threshold(123, 4, 5)
training = Training()
training.train(300)
print(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.get_debug())
gc.callbacks.append(lambda phase, info: phases.append(phase))
gc.collect()
gc.callbacks.pop()
gc.enable()
print(phases, len(gc.callbacks), training.train(20))
training.keep()
