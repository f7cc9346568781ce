"""Small charts with logarithmic axes, as SVG text: the same numbers always give the same file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 300, 200, 46, 14, 30, 34
COLUMNS = 3
COLOURS = ("#1f6feb", "#d1570b")


@dataclass(frozen=True)
class Panel:
    """One chart: its title, what is across, and its lines by name."""

    title: str
    across: str
    lines: dict[str, Sequence[tuple[float, float]]]


def svg(panels: Sequence[Panel]) -> str:
    rows = math.ceil(len(panels) / COLUMNS)
    width, height = COLUMNS * WIDE, rows * HIGH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="10" fill="#57606a">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, panel in enumerate(panels):
        at = (number % COLUMNS * WIDE, number // COLUMNS * HIGH)
        parts += [f'<g transform="translate({at[0]} {at[1]})">', *_panel(panel), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel) -> list[str]:
    points = [point for line in panel.lines.values() for point in line]
    across, up = (_decades([point[axis] for point in points]) for axis in (0, 1))
    parts = [f'<text x="{LEFT}" y="16" font-size="12" fill="#1f2328">{panel.title}</text>']
    for power in range(across[0], across[1] + 1):
        x = _place(10.0**power, across, LEFT, WIDE - RIGHT)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HIGH - BOTTOM}" stroke="#eaeef2"/>'
        )
        parts.append(
            f'<text x="{x:.1f}" y="{HIGH - BOTTOM + 13}" text-anchor="middle">{_label(power)}</text>'
        )
    for power in range(up[0], up[1] + 1):
        y = _place(10.0**power, up, HIGH - BOTTOM, TOP)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eaeef2"/>'
        )
        parts.append(
            f'<text x="{LEFT - 5}" y="{y + 3:.1f}" text-anchor="end">{_label(power)}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDE - RIGHT) / 2}" y="{HIGH - 6}" text-anchor="middle">{panel.across}</text>'
    )
    for number, (name, line) in enumerate(panel.lines.items()):
        placed = [
            (_place(x, across, LEFT, WIDE - RIGHT), _place(y, up, HIGH - BOTTOM, TOP))
            for x, y in line
        ]
        colour = COLOURS[number % len(COLOURS)]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(
            f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in placed]
        if len(panel.lines) > 1:
            parts.append(
                f'<text x="{LEFT + 6}" y="{TOP + 12 + 12 * number}" fill="{colour}">{name}</text>'
            )
    return parts


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low = math.floor(math.log10(min(values)) + 1e-9)
    return low, max(low + 1, math.ceil(math.log10(max(values)) - 1e-9))


def _place(value: float, decades: tuple[int, int], begin: float, end: float) -> float:
    return begin + (end - begin) * (math.log10(value) - decades[0]) / (decades[1] - decades[0])


def _label(power: int) -> str:
    if -3 <= power <= 3:
        return f"{10.0**power:g}"
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
