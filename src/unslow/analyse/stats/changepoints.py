"""Which change explains a series best: none, a line, a step, a ramp, or bumps that go away again.

Change-point searches turn a slow drift into a staircase; here drift and step compete on the same
terms, by an information criterion on values with their autocorrelation taken out.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from unslow.analyse.stats.robust import autocorrelation, clipped

if TYPE_CHECKING:
    import numpy.typing as npt

    from unslow.model import Floats, Ints

    Mask = npt.NDArray[np.bool_]


class Form(enum.IntEnum):
    """What a series does."""

    FLAT = 0
    LINE = 1
    STEP = 2
    RAMP = 3  # flat, then straight up or down, then flat; one of the flats may be missing
    BUMP = 4  # somewhere else for a while, and back


# What each form must gain over FLAT, in units of log(size): the more places it is tried at, the
# more chance finds. Set so that chance wins in at most one of some hundred stationary series,
# autocorrelated ones included.
_PRICE = np.array([0.0, 2.4, 3.8, 4.5, 5.0])
_EDGE = 0.08  # a level that is held for a smaller share of the series, at an end, is a bump
_BUMPS = 0.25  # share of the series that may be set aside as bumps


@dataclass(frozen=True, slots=True)
class Change:
    """The form that won, its curve, and where it leaves its first and reaches its last level."""

    form: Form
    curve: Floats
    start: int
    stop: int
    kept: Mask  # False where the values were set aside as bumps

    @property
    def before(self) -> float:
        return float(self.curve[0])

    @property
    def after(self) -> float:
        return float(self.curve[-1])


@dataclass(frozen=True, slots=True)
class _Candidates:
    form: Ints
    start: Ints
    stop: Ints
    curve: Floats  # one row per candidate: from 0 to 1, or from 0 over 1 to 0


@lru_cache(maxsize=64)
def _candidates(size: int) -> _Candidates:
    edge = max(2, round(_EDGE * size))
    place = np.arange(size)

    start, stop = np.triu_indices(size, 1)
    width = stop - start
    step = (width == 1) & (stop >= edge) & (stop <= size - edge)
    grid = 2 if size >= 32 else 1  # neighbouring ramps are nearly the same
    whole = (start == 0) & (stop == size - 1)
    ramp = (width >= size // 3) & (start % grid == 0) & ((size - 1 - stop) % grid == 0)
    keep = step | ramp | whole
    start, stop, width = start[keep], stop[keep], width[keep]
    form = np.where(width == 1, Form.STEP, np.where(whole[keep], Form.LINE, Form.RAMP))
    rising = np.clip((place - start[:, None]) / width[:, None], 0.0, 1.0)

    first, last = np.triu_indices(size + 1, 1)
    inside = (first > 0) & (last < size) | (last - first < edge)
    inside &= last - first <= _BUMPS * size
    first, last = first[inside], last[inside]
    bumps = ((place >= first[:, None]) & (place < last[:, None])).astype(float)
    return _Candidates(
        form=np.concatenate([form, np.full(len(bumps), Form.BUMP)]),
        start=np.concatenate([start, first]),
        stop=np.concatenate([stop, last]),
        curve=np.concatenate([rising, bumps]),
    )


def _whitened(rows: Floats, rho: float) -> Floats:
    """Rows with a lag-one autocorrelation taken out."""
    out = np.array(rows)
    out[..., 1:] -= rho * rows[..., :-1]
    out[..., 0] *= np.sqrt(1 - rho * rho)
    return out


def _fit(values: Floats, curves: Floats, rho: float) -> tuple[Floats, Floats, float]:
    """The height of each curve in the values, the squares it explains, and those of a level."""
    level = _whitened(np.ones(len(values)), rho)
    level /= np.sqrt(level @ level)
    rest = _whitened(values, rho)
    rest -= level * (level @ rest)
    bare = _whitened(curves, rho)
    bare -= np.outer(bare @ level, level)
    power = np.einsum("ij,ij->i", bare, bare)
    # A curve that is flat on what is left of the values has no power, and explains nothing.
    height = np.where(power > 1e-6, (bare @ rest) / np.maximum(power, 1e-6), 0.0)
    return height, height * height * power, float(rest @ rest)


def _winner(
    values: Floats, candidates: _Candidates, kept: Mask, floor: float
) -> tuple[int, Floats]:
    """The best candidate on the values that are kept, and its curve; -1 if a level is as good."""
    tame = clipped(values[kept], floor)
    curves = candidates.curve[:, kept]
    height, explained, _ = _fit(tame, curves, 0.0)
    closest = int(np.argmax(explained))
    residuals = tame - height[closest] * curves[closest]
    rho = autocorrelation(residuals - residuals.mean(), 4)  # level, height, start and stop

    height, explained, total = _fit(tame, curves, rho)
    noise = len(tame) * floor * floor
    gain = len(tame) * np.log((total + noise) / (np.maximum(total - explained, 0.0) + noise))
    size = len(values)
    # Few values make chance look better than the logarithm knows.
    gain -= np.log(size) * (1 + 10 / size + (12 / size) ** 2) * _PRICE[candidates.form]
    best = int(np.argmax(gain))
    curve = height[best] * candidates.curve[best]
    return (best if gain[best] > 0 else -1), curve + float(np.median(tame - curve[kept]))


def best_change(values: Floats, floor: float) -> Change:
    """The change that explains the values best without bumps; `floor` > 0 is the least noise."""
    size = len(values)
    candidates = _candidates(size)
    kept = np.ones(size, dtype=bool)
    while np.count_nonzero(kept) >= (1 - _BUMPS) * size:
        best, curve = _winner(values, candidates, kept, floor)
        if best < 0:
            break
        form, start, stop = (
            Form(candidates.form[best]),
            int(candidates.start[best]),
            int(candidates.stop[best]),
        )
        if form is not Form.BUMP:
            return Change(form, curve, start, stop, kept)
        kept[start:stop] = False
    return Change(Form.FLAT, np.full(size, float(np.median(values))), 0, size - 1, kept)
