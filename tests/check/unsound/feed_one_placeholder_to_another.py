# ruff: noqa
# expect: symbolic-feed 11

import tensorflow.compat.v1 as t

t.disable_v2_behavior()
a = t.placeholder(t.float32)
b = t.placeholder(t.float32)
double = a * 2.0
with t.Session() as s:
    s.run(double, feed_dict={a: b})
