import tensorflow as tf
from training import train


class Own(Exception):
    def __str__(self):
        return "own text"


print(train())
try:
    tf.function(lambda x: x @ x)(tf.ones([2, 3]))
except Exception as error:
    raise Own from error
