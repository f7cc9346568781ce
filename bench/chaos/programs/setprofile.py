import cProfile
import pstats
import sys

from training import Training

profile = cProfile.Profile()
training = Training()
training.train(5)
profile.enable()
print(training.train(50))
profile.disable()
training.keep()
names = {name for _, _, name in pstats.Stats(profile).stats}
calls = [row[0] for (_, _, name), row in pstats.Stats(profile).stats.items() if name == "train"]
print("train" in names, calls)
sys.setprofile(lambda frame, event, given: None)
print(training.train(5))
sys.setprofile(None)
