import decimal
import locale

import numpy as np
from training import fit, keras_model, train

np.seterr(all="raise")
np.set_printoptions(precision=2, suppress=True)
decimal.getcontext().traps[decimal.Inexact] = True
locale.setlocale(locale.LC_ALL, "C")
print(train(200))
fit(keras_model())
print(np.geterr(), np.array([1 / 3, 1e-9]))
try:
    np.float32(1e38) * np.float32(1e38)
except FloatingPointError as error:
    print(error)
