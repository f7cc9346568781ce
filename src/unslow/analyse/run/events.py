"""What the switches of `whatif` tell, the one kind of fact that has no class, as events."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unslow.analyse.run.recorded import Recorded
from unslow.facts.kinds import all_kinds
from unslow.model import Event

Names = Callable[[str], str]

_PLACES = ("stack", "place")  # keys of places


def events_of(process: Recorded) -> Iterator[Event]:
    """Events with paths as they are shown. A damaged line is left out."""
    declared = all_kinds()
    for line in process.log.lines:
        if line["k"] in declared:
            continue
        data = {key: value for key, value in line.items() if key not in ("k", "t")}
        try:
            for key in _PLACES:
                if isinstance(data.get(key), list):
                    data[key] = _shown(data[key], process.context.shown)
        except (TypeError, ValueError, LookupError):
            process.log.damaged += 1
            continue
        moment = float(process.seconds(line["t"]))
        yield Event(line["k"], moment, process.index, data)


def _shown(places: list[object], names: Names) -> list[object]:
    """A place `[file, line, function]`, or a list of them, with the file as it is shown."""
    if places and isinstance(places[0], str):
        return [names(places[0]), *places[1:]]
    return [_shown(place, names) for place in places if isinstance(place, list)]
