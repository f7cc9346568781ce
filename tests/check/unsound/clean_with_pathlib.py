# ruff: noqa
# expect: blind-cleanup 15

from pathlib import Path

import tensorflow as tf

scratch = Path("/var/tmp") / "tensorflow"


def after(epoch):
    tf.print("epoch", epoch)
    if scratch.exists():
        for item in scratch.iterdir():
            item.unlink()
