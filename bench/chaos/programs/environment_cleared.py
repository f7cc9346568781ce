import os
import sys

from training import Training

training = Training()
training.train(20)
os.environ.clear()
os.unsetenv("PYTHONPATH")
del sys.path[1:]
sys.path_importer_cache.clear()
sys.meta_path[:] = sys.meta_path[-2:]
print(training.train(200), dict(os.environ))
training.keep()
