"""Prints what the support desk asks for: versions, devices, build flags, a few op kernels."""
import importlib
import json
import os
import platform
import sys

import tensorflow as tf

PACKAGES = ["numpy", "h5py", "keras", "tf_keras", "ml_dtypes", "google.protobuf", "absl", "tensorboard"]


def versions():
    found = {"python": sys.version.split()[0], "tensorflow": tf.__version__}
    for name in PACKAGES:
        try:
            found[name] = getattr(importlib.import_module(name), "__version__", "?")
        except ImportError:
            found[name] = None
    return found


def devices():
    return [d.name for d in tf.config.list_physical_devices()]


def quick_check():
    a = tf.random.normal([64, 64])
    return bool(tf.reduce_all(tf.math.is_finite(tf.linalg.matmul(a, a))))


if __name__ == "__main__":
    report = {
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "versions": versions(),
        "build": {k: str(v) for k, v in tf.sysconfig.get_build_info().items()},
        "devices": devices(),
        "matmul": quick_check(),
        "eager": tf.executing_eagerly(),
    }
    json.dump(report, sys.stdout, indent=2)
    print()
