"""Types of what the program hands to probes: objects and functions of TensorFlow's, Keras's or its
own.

No types are published for these objects. What a probe reads of one is checked when it is read.
Where a probe only passes an object on, its type is `object`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Foreign: TypeAlias = Any
Function: TypeAlias = Callable[..., Any]
