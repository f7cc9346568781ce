# ruff: noqa
# expect: removed-argument 12
# expect: removed-argument 14

import keras

from . import models
from .models import make

keras.utils.set_random_seed(1)
first = make()
first.fit_generator(None)
second = models.Small()
second.predict_classes(None)
