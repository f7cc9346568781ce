# ruff: noqa
# expect: nothing

import os
import pickle
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.save("m.keras")
model.save("m.h5")
model.export("folder")
name = input()
model.save(name)
model.save_weights(os.path.join("out", "w.weights.h5"))
model.save_weights(name + ".h5")
model.save_weights(f"{name}.weights.h5")
pickle.dumps(model).save("folder") if False else None
