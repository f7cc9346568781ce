import concurrent.futures
import logging
import sys
import threading
import traceback

import tensorflow as tf
from training import Training, fit, keras_model

tf.keras.config.disable_traceback_filtering()
tf.debugging.disable_traceback_filtering()


class Fails(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 3:
            raise ValueError("in a callback")


def failing():
    fit(keras_model(), callbacks=[Fails()])


class Held:
    def __del__(self):
        failing()


def own_hook(kind, error, trace):
    print("own hook", len(traceback.extract_tb(trace)), flush=True)
    sys.__excepthook__(kind, error, trace)


thread = threading.Thread(target=failing, name="mine")
thread.start()
thread.join()
held = Held()
del held
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    error = pool.submit(failing).exception()
    traceback.print_exception(error)
try:
    Training().train("many")
except TypeError:
    logging.exception("logged")
sys.stderr.flush()
sys.excepthook = own_hook
failing()
