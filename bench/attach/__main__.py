"""Measures what attaching costs and keeps the results, from which `make docs` writes docs/attached.md.

python -m bench.attach rounds             fifty rounds on one training
python -m bench.attach after [STYLE …]    a step after detaching, beside one of a training that nobody attached to
python -m bench.attach pythons PYTHON …   every style of loop on other interpreters, by the live tests
python -m bench.attach                    rounds and after
"""

from __future__ import annotations

import sys

from bench.attach import measure, pythons, results


def main(words: list[str]) -> None:
    if words[:1] == ["pythons"]:
        results.store("pythons", pythons.tried(words[1:], results.read().get("pythons", ())))
        return
    if "rounds" in words or not words:
        print("==> fifty rounds", flush=True)
        results.store("rounds", measure.rounds())
    if "after" in words or not words:
        for style in words[1:] or measure.STYLES:
            print(f"==> steps after detaching: {style}", flush=True)
            before = results.read().get("after", {})
            results.store("after", {**before, style: measure.after(style)})


main(sys.argv[1:])
