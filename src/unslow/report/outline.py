"""What terminal, markdown and HTML say alike: summaries, evidence, ways out, limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from unslow.report import words
from unslow.report.rows import FindingRow, FixRow, LoopRow
from unslow.report.words import Row

_VISIBLE_STRETCH = 0.01  # of the run: a shorter stretch is no row (judgement)
_VISIBLE_SHARE = 0.05  # of a stretch: a smaller part of it is not named (judgement)
_UNNAMED_PARTS = ("import", "small parts")
_TENSORFLOW = "TensorFlow itself"
# Bytes beside TensorFlow itself: less is no concern on any machine (judgement).
_WORTH_SPLITTING = 200e6
_VISIBLE_PART = 0.01  # of the peak
_LITTLE_GROWTH = 1e5  # bytes per 1,000 steps: less is within the noise of an allocator (judgement)


def divided(findings: list[FindingRow]) -> tuple[list[FindingRow], list[FindingRow]]:
    """Problems, and findings that are no problem of the program."""
    problems = [finding for finding in findings if finding["fault"]]
    return problems, [finding for finding in findings if not finding["fault"]]


def costs(finding: FindingRow) -> list[str]:
    """Seconds and share of a finding, and that it grows, in a few words each."""
    parts = []
    if finding["seconds"] > 0:
        parts += [words.seconds(finding["seconds"]), words.share(finding["share"])]
    if finding["grows"]:
        parts.append("grows")
    return parts


def summary(finding: FindingRow) -> list[str]:
    """What a finding costs and how far it can be trusted."""
    return [*costs(finding), finding["certainty"]]


def evidence(finding: FindingRow) -> list[tuple[str, str]]:
    """Labels and values; a value of zero says nothing and is left out."""
    return [(each["label"], each["text"]) for each in finding["evidence"] if each["value"] != 0]


def ways_out(finding: FindingRow, with_forecast: bool = True) -> Iterator[tuple[str, str]]:
    """What else it explains, what comes of it and what to do, each with its label."""
    if finding["merged"]:
        yield "Also explains", f"{', '.join(finding['merged'])}."
    if with_forecast and finding["forecast"] and finding["forecast"]["text"]:
        yield "Later", words.ended(finding["forecast"]["text"])
    if finding["fix"]:
        yield "Fix", _fix(finding["fix"])
    elif finding["advice"]:
        yield ("Do" if finding["fault"] else "Note"), words.ended(finding["advice"])
    if finding["refusal"]:
        refusal = finding["refusal"]
        yield "No diff", f"{refusal['reason'].rstrip('.')}{words.led(' (', refusal['line'], ')')}."
    if finding["proof"]:
        yield "Proof", words.ended(finding["proof"]["text"])


def _fix(fix: FixRow) -> str:
    title = words.capitalized(fix["title"].rstrip("."))
    note = words.led(" ", words.capitalized(fix["note"]))
    return words.ended(f"{title} ({fix['safety']}: {words.SAFETY[fix['safety']]}).{note}")


def loop_summary(loop: LoopRow) -> str:
    worker = words.led(", ", loop["worker"])
    steps = f"{words.count(loop['steps'], 'step')} in {words.seconds(loop['seconds'])}"
    several = loop["updates_per_step"]
    updates = f", {words.count(several)} updates a step" if several > 1.05 else ""
    return f"{loop['kind']}{worker}: {steps}{updates}"


def loop_course(loop: LoopRow) -> str:
    first = f"; the first step took {words.seconds(loop['first'])}" if loop["first_apart"] else ""
    return f"{loop['trend']['text']}{first}"


def memory(row: Row, several: bool) -> str:
    start, peak, end = (words.size(row[f"{name}_bytes"]) for name in ("start", "peak", "end"))
    who = row["worker"] or f"process {row['process']}"
    text = f"{start} at the start → {peak} at the peak → {end} at the end"
    growth = row["growth_per_1000_steps"]
    if growth is not None and abs(growth) >= _LITTLE_GROWTH:
        text += f"; {'+' if growth > 0 else ''}{words.size(growth)} per 1,000 steps"
    return f"{who}: {text}" if several else text


def memory_account(view: Row) -> list[tuple[str, str, str, str]]:
    """What the peak of memory consists of: holder, size, share, and what it is with its line.

    Empty where nearly all of the peak is TensorFlow itself.
    """
    found = view["memory_account"]
    if not found or not found["peak_bytes"]:
        return []
    start = sum(part["bytes"] for part in found["parts"] if part["owner"] == _TENSORFLOW)
    if found["peak_bytes"] - start < _WORTH_SPLITTING:
        return []
    rows = [_memory_part(part, found["peak_bytes"]) for part in found["parts"] if part["bytes"]]
    small = found["small_parts_bytes"]
    if small >= _VISIBLE_PART * found["peak_bytes"]:
        share = words.share(small / found["peak_bytes"])
        rows.append(("small parts", words.size(small), share, ""))
    return rows


def memory_peak(view: Row) -> str:
    found = view["memory_account"]
    at = words.led(", reached at ", found["line"])
    return f"The peak of {words.size(found['peak_bytes'])}{at}, consists of"


def _memory_part(part: Row, peak: float) -> tuple[str, str, str, str]:
    at = words.led(" (", part["line"], ")")
    share = words.share(part["bytes"] / peak)
    return part["owner"], words.size(part["bytes"]), share, f"{part['name']}{at}"


def account(view: Row) -> list[tuple[str, str, str, str]]:
    """Each stretch of the run: its name, seconds and share, and the two largest parts of it."""
    found = view["account"]
    whole = found["seconds"] if found else 0.0
    if not whole:
        return []
    rows = []
    for stretch in found["stretches"]:
        seconds = stretch["seconds"] or 0.0  # a damaged recording may hold no number
        if seconds >= _VISIBLE_STRETCH * whole:
            share = words.share(seconds / whole)
            parts = _largest(stretch["parts"], _VISIBLE_SHARE * seconds)
            rows.append((stretch["name"], words.seconds(seconds), share, parts))
    return rows


def _largest(parts: list[Row], least: float) -> str:
    """The two largest parts that say more than the name of their stretch."""
    named = [part for part in parts if part["name"] not in _UNNAMED_PARTS]
    known = [part for part in named if (part["seconds"] or 0.0) >= least]
    largest = sorted(known, key=lambda part: -float(part["seconds"]))[:2]
    return ", ".join(map(_account_part, largest))


def _account_part(part: Row) -> str:
    """A finding's line stands with the finding; what no finding explains has its line here."""
    at = "" if part["cause"] else words.led(" (", part["line"], ")")
    return f"{part['name']} {words.seconds(part['seconds'])}{at}"


def limits(view: Row) -> Iterator[str]:
    """What was not seen, what was ignored on request, and what recording cost."""
    yield from not_judged(view)
    yield from _lost_probes(view)
    yield from view["notes"]
    if view["at_lowest_rate"]:
        yield view["at_lowest_rate"]
    yield from ignored(view["ignored"])
    if view["unexplained_seconds"] > 0:
        part = words.share(view["unexplained_share"])
        whole = "run" if view["account"] else "training"
        yield f"unexplained: {words.seconds(view['unexplained_seconds'])} ({part}) of the {whole}"
    own = view["own_cost"]
    memory_used = (
        f", {words.size(own['peak_rss_bytes'])} of memory" if own["peak_rss_bytes"] else ""
    )
    cost = f"{words.seconds(own['seconds'])} ({words.share(own['share'])})"
    yield f"unslow itself cost {cost}{memory_used}"


def not_judged(view: Row) -> Iterator[str]:
    """Causes by the reason why they were not judged."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for each in view["not_judged"]:
        by_reason[each["reason"]].append(each["cause"])
    for reason, causes in by_reason.items():
        are_few = len(causes) < len(view["rules"]) / 2
        named = ", ".join(causes) if are_few else words.count(len(causes), "cause")
        yield f"not judged: {named} ({reason.rstrip('.')})"


def _lost_probes(view: Row) -> Iterator[str]:
    """Probes that no cause was left out for; the others stand with the causes that need them."""
    reasons = {each["reason"] for each in view["not_judged"]}
    for lost in view["lost_probes"]:
        if f"the {lost['probe']} probe was lost: {lost['reason']}" not in reasons:
            yield f"probe lost: {lost['probe']} ({lost['reason']})"


def ignored(rows: list[Row]) -> Iterator[str]:
    """Findings that a setting or a comment silenced: counted, never hidden."""
    for row in rows:
        where = words.led(" at ", row["line"])
        cost = f" ({words.seconds(row['seconds'])})" if row["seconds"] > 0 else ""
        yield f"ignored: {row['cause']}{where}{cost}, {row['reason']}"
