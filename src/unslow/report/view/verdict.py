"""The answer in one sentence: what is slow, at which line, and what could be gained."""

from __future__ import annotations

from itertools import chain

from unslow.analyse.account_parts import Kind
from unslow.analyse.stats.robust import ratio
from unslow.analyse.stretches import TRAINING
from unslow.model import Diagnosis, Loop, Run, Shape, line_text
from unslow.report import words
from unslow.report.rows import FindingRow, VerdictRow
from unslow.report.view.loops import pace

SLOWER = 0.2  # a step time that rose by more needs an explanation (judgement)
NOTABLE = 0.1  # an unexplained share of the training that is stated beside the verdict (judgement)
_TOO_FEW = 2  # steps: the first one prepares, and one more shows no habit
FAR_MORE = 1.5  # times the gain of the first finding: then the gain of all is stated (judgement)
WORTH_SAYING = 1.05  # a smaller gain is no headline (judgement)


def verdict_of(diagnosis: Diagnosis, findings: list[FindingRow]) -> VerdictRow:
    """`kind` is fault, honest (an answer but no problem), healthy, unexplained or no-steps."""
    run = diagnosis.run
    problems = [finding for finding in findings if finding["fault"]]
    if problems:
        return _problem(diagnosis, problems)
    if not run.steps:
        return _verdict("no-steps", _no_steps(run))
    loop = max(run.loops, key=lambda each: each.total)
    rest = _not_explained(diagnosis)
    got_slower = loop.trend.shape in (Shape.DRIFTING, Shape.JUMPED) and loop.trend.change > SLOWER
    if not diagnosis.explained:
        return _verdict("unexplained", "This run could not be fully explained.", rest)
    blind = [one for one in diagnosis.not_judged if one.blind]
    if blind:
        missing = f"{words.count(len(blind), 'cause')} could not be judged: {blind[0].reason}."
        return _verdict("unexplained", f"No problem was found, but {missing}", rest)
    if findings:
        located = [finding for finding in findings if finding["location"]]
        known = " ".join([_no_problem(run, loop), *map(_known, located[:1])])
        return _verdict("honest", known.strip(), rest)
    if got_slower:
        return _verdict("unexplained", _slower(loop), rest)
    return _verdict("healthy", _no_problem(run, loop), rest)


def _no_steps(run: Run) -> str:
    if run.notes:
        return "No training step could be read: the recording is damaged."
    return f"No training step was seen in {words.seconds(run.seconds)}."


def _verdict(kind: str, text: str, more: str = "") -> VerdictRow:
    return {
        "kind": kind,
        "text": text,
        "more": more,
        "seconds": 0.0,
        "share": 0.0,
        "speedup": None,
        "line": "",
        "cause": "",
    }


def _problem(diagnosis: Diagnosis, problems: list[FindingRow]) -> VerdictRow:
    run = diagnosis.run
    lead = problems[0]
    gain = _speedup(lead)
    title = lead["title"].rstrip(".")
    line = words.line(lead["location"])
    what = f"{title}{words.led(', at ', line)}."
    likely = lead["certainty"] == "likely"
    headline = f"Likely: {what}" if likely else words.sentence(what)
    if gain:
        joint = "; likely cause: " if likely else ": "
        headline = f"{_gained(lead, gain)}{joint}{what}"
    others = _others(problems[1:], _together(diagnosis, lead, gain))
    more = " ".join(filter(None, (_cost(run, lead), others)))
    return {
        **_verdict("fault", headline, more),
        "seconds": lead["seconds"],
        "share": lead["share"],
        "speedup": gain,
        "line": line,
        "cause": lead["cause"],
    }


def _gained(finding: FindingRow, gain: float) -> str:
    """What could be gained; a first step is paid once, and no pace of the training."""
    if finding["in_first_step"]:
        return f"Training could start {words.seconds(finding['seconds'])} sooner"
    whole = "Training" if finding["of_training"] else "The run"
    return f"{whole} could be {words.speed(gain)}"


def _speedup(finding: FindingRow) -> float | None:
    """How many times as fast the training is without what the finding costs."""
    left = max(1 - finding["share"], 1e-3)
    return 1 / left if 1 / left >= WORTH_SAYING else None


def _together(diagnosis: Diagnosis, lead: FindingRow, alone: float | None) -> str:
    """What all findings of the training give together, where that is far more than the first."""
    account = diagnosis.account
    if account is None or not alone or not lead["of_training"]:
        return ""
    steps = (stretch.parts for stretch in account.stretches if stretch.name == TRAINING)
    found = [part.seconds for part in chain.from_iterable(steps) if part.kind is Kind.FINDING]
    gain = 1 / max(1 - sum(found) / diagnosis.run.trained, 1e-3)
    return words.speed(gain) if gain >= FAR_MORE * alone else ""


def _cost(run: Run, finding: FindingRow) -> str:
    whole, what = (run.trained, "training") if finding["of_training"] else (run.seconds, "the run")
    outlook = _outlook(finding)
    if finding["seconds"] <= 0:
        freed = words.size(finding["frees_bytes"]) if finding["frees_bytes"] else ""
        costs = words.led("It costs ", freed, " of memory.")
        grows = words.ended(words.capitalized(outlook or "it costs little yet, but it grows"))
        return grows if finding["grows"] else costs
    growing = f", and it grows{words.led(': ', outlook)}" if finding["grows"] else ""
    cost = f"{words.seconds(finding['seconds'])} of {words.seconds(whole)}"
    return words.ended(f"It takes {cost} of {what} ({words.share(finding['share'])}){growing}")


def _outlook(finding: FindingRow) -> str:
    return finding["forecast"]["text"] if finding["forecast"] else ""


def _others(others: list[FindingRow], together: str) -> str:
    """What the other findings cost: time, memory, what becomes of the run, and the whole gain."""
    if not others:
        return ""
    seconds = sum(finding["seconds"] for finding in others)
    frees = sum(finding["frees_bytes"] for finding in others)
    growing = (finding for finding in others if finding["grows"])
    texts = filter(None, map(_outlook, growing))
    costs = [words.seconds(seconds)] if seconds > 0 else []
    costs += [f"{words.size(frees)} of memory"] if frees > 0 else []
    count = words.count(len(others), "more finding")
    cost = words.led(" (", " and ".join(costs), ")")
    below = words.ended(f"{count} below{cost}{words.led(': ', next(texts, ''))}")
    return below + words.led(" Training could be ", together, " with all of them fixed.")


def _known(finding: FindingRow) -> str:
    """What is known of a line; a busy machine, which has none, is named below."""
    title = words.capitalized(finding["title"].rstrip("."))
    return f"{title}, at {words.line(finding['location'])}."


def _slower(loop: Loop) -> str:
    """A run that got slower without a cause is not called healthy."""
    before, after = words.seconds(loop.trend.before), words.seconds(loop.trend.after)
    over = f"over {words.count(loop.steps, 'step')} ({words.seconds(loop.total)})"
    return f"Steps got slower, from {before} to {after} {over} at {loop.location}: no cause found."


_TRENDS = {Shape.STEADY: ", steady", Shape.PERIODIC: ", with regular long steps"}


def _no_problem(run: Run, loop: Loop) -> str:
    each = f"{pace(loop)}{_trend(loop)}"
    kind = "step" if loop.trains else "repeated call"
    found = f"No problem found in {words.count(run.steps, kind)} ({words.seconds(run.trained)})"
    no_training = "" if loop.trains else "No training step was seen. "
    if run.steps <= _TOO_FEW:
        return f"{no_training}{found}: too few to show a habit."
    return f"{no_training}{found}: {each}."


def _trend(loop: Loop) -> str:
    """What became of the step time; an honest answer may stand beside steps that got slower."""
    if loop.trend.shape not in (Shape.DRIFTING, Shape.JUMPED):
        return _TRENDS.get(loop.trend.shape, "")
    verb = "up" if loop.trend.change > 0 else "down"
    return f", {verb} from {words.seconds(loop.trend.before)}"


def unexplained_share(diagnosis: Diagnosis) -> float:
    """Of the run, or of the training where there is no account of the run."""
    whole = diagnosis.account.seconds if diagnosis.account else diagnosis.run.trained
    return min(1.0, ratio(diagnosis.unexplained, whole))


def _not_explained(diagnosis: Diagnosis) -> str:
    """What keeps the answer from being complete; a missing signal must not read as healthy."""
    parts = []
    share = unexplained_share(diagnosis)
    if share >= NOTABLE:
        whole = "run" if diagnosis.account else "training"
        parts.append(f"{words.share(share)} of the {whole} is unexplained")
    if diagnosis.account:
        for part in diagnosis.account.uncovered:
            at = words.led(" at ", line_text(part.location))
            spent = words.share(part.seconds / diagnosis.account.seconds)
            parts.append(f"no finding covers {part.name}{at} ({spent} of the run)")
    if diagnosis.unnamed_growth:
        grown = words.size(diagnosis.unnamed_growth)
        parts.append(
            f"no finding covers the {grown} of memory that the process gained in its steps"
        )
    if diagnosis.not_judged:
        parts.append(f"{words.count(len(diagnosis.not_judged), 'cause')} could not be judged")
    return words.led("", words.capitalized(" and ".join(parts)), ".")
