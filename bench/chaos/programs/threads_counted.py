import gc
import sys
import threading

import tensorflow as tf
from training import fit, keras_model, train

before = threading.active_count()
print(train(100), threading.active_count(), before, threading.main_thread().name)
fit(keras_model())
print([thread.name for thread in threading.enumerate()])
print(threading.Thread().name, len(sys._current_frames()) >= 1, threading.gettrace())
print(len([one for one in gc.get_objects() if isinstance(one, threading.Thread)]))
print(tf.test.is_built_with_cuda(), threading.excepthook is threading.__excepthook__)
