"""The frame that is noted while an object is let go, in a process of its own: it may crash."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import atexit
import functools
import operator
import weakref
from unslow.record.engine.current_frames import current_frames

noted = []
lines = map(operator.attrgetter("f_code.co_name"), current_frames())
note = functools.partial(next, map(noted.append, lines))
kept = []


class Thing:
    pass


def let_go():
    thing = Thing()
    kept.append(weakref.ref(thing, note))


def program():
    let_go()
    functools.partial(let_go)()  # C code calls it


for _ in range(100):
    program()
print(len(noted), *sorted(set(noted)), flush=True)
held = [Thing()]
kept.append(weakref.ref(held[0], note))
atexit.register(lambda: print(noted[-1]))
atexit.register(held.clear)  # the last one is called first, and no Python calls it
"""


def test_the_frame_is_that_of_python_code_also_below_c_code() -> None:
    words = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["200", "program", "current_frames"]
    assert not done.stderr
