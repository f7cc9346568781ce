"""Facts whose kind is not declared yet, as untyped events; goes away with the last of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unslow.analyse.run.recorded import Recorded
from unslow.facts.json_object import JsonObject
from unslow.facts.kinds import all_kinds
from unslow.model import Event

Names = Callable[[str], str]


def events_of(process: Recorded) -> Iterator[Event]:
    """Seconds instead of nanoseconds, and paths as they are shown. A damaged line is left out."""
    declared = all_kinds()
    for line in process.log.lines:
        if line["k"] in declared:
            continue
        data = {key: value for key, value in line.items() if key not in ("k", "t")}
        try:
            plain = _plain(data, process.context.shown)
        except (TypeError, ValueError, LookupError):
            process.log.damaged += 1
            continue
        yield Event(line["k"], float(process.seconds(line["t"])), process.index, plain)


def _plain(data: JsonObject, names: Names) -> JsonObject:
    plain: JsonObject = {}
    for key, value in data.items():
        if key.endswith("_ns") and isinstance(value, int | float):
            plain[key[:-3]] = value / 1e9
        elif key in ("stack", "place", "made", "tape", "with") and isinstance(value, list):
            plain[key] = _shown(value, names)
        elif key == "lines" and isinstance(value, list):
            plain[key] = [[_shown(line[0], names), *line[1:]] for line in value]
        elif key in ("runs", "found", "stages") and isinstance(value, list):
            plain[key] = [_plain(each, names) if isinstance(each, dict) else each for each in value]
        elif key in ("file", "folder") and isinstance(value, str):
            plain[key] = names(value)
        else:
            plain[key] = value
    return plain


def _shown(places: list[object], names: Names) -> list[object]:
    """A place `[file, line, function]`, or a list of them, with the file as it is shown."""
    if places and isinstance(places[0], str):
        return [names(places[0]), *places[1:]]
    return [_shown(place, names) for place in places if isinstance(place, list)]
