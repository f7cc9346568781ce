import tensorflow as tf

calls = {"tape": 0, "assign": 0, "function": 0}
gradient = tf.GradientTape.gradient


def counted(self, *args, **kwargs):
    calls["tape"] += 1
    return gradient(self, *args, **kwargs)


tf.GradientTape.gradient = counted
kept_function = tf.function


def own_function(*args, **kwargs):
    calls["function"] += 1
    return kept_function(*args, **kwargs)


tf.function = own_function
from tensorflow.python.ops import resource_variable_ops

assign_sub = resource_variable_ops.BaseResourceVariable.assign_sub


def counted_assign(self, *args, **kwargs):
    calls["assign"] += 1
    return assign_sub(self, *args, **kwargs)


resource_variable_ops.BaseResourceVariable.assign_sub = counted_assign
from training import train

print(train(), calls)
tf.GradientTape.gradient = gradient
tf.function = kept_function
resource_variable_ops.BaseResourceVariable.assign_sub = assign_sub
print(train(10, "after.bin"), calls)
