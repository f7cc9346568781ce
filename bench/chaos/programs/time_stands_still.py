# needs: freezegun
import time
from unittest import mock

from freezegun import freeze_time
from training import Training, fit, keras_model

training = Training()
training.train(20)
names = ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns")
patches = [mock.patch.object(time, name, lambda: 1_700_000_000) for name in names]
for patch in patches:
    patch.start()
with mock.patch.object(time, "sleep", lambda seconds: None):
    print(training.train(300), time.time(), time.perf_counter())
    fit(keras_model())
for patch in patches:
    patch.stop()
print(training.train(20), time.sleep.__name__)
with freeze_time("2020-02-02"):
    print(training.train(100), time.time(), time.perf_counter_ns() == time.perf_counter_ns())
training.keep("last.bin")
