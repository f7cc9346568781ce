# run: {python} -m doctest -v doc_tests.py
"""Examples in documentation, with the output that they must have.

>>> training = Training()
>>> first, last = training.train(1), training.train(50)
>>> first > last
True
>>> training.step  # doctest: +ELLIPSIS
<tensorflow.python.eager.polymorphic_function.polymorphic_function.Function object at 0x...>
>>> training.train(None)
Traceback (most recent call last):
    ...
TypeError: 'NoneType' object cannot be interpreted as an integer
>>> training.keep()
"""

from training import Training
