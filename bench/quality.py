"""How often the proof of quality is wrong: real trainings with injected harm, and trainings against themselves.

python -m bench.quality     writes docs/quality.md; what was decided is kept below `.field/`, so it can be resumed

Every training is TensorFlow's: a small network in one `tf.function`, all of its seeds side by side. Before
and after are judged by `proof/quality.py` from their training losses alone, as a proof does. Whether a
change really harms is told apart from that, by the loss on data that was not trained on, over many other
seeds.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unslow.proof.quality import FEWEST_SEEDS, MOST_SEEDS, Answer, Judgement, judge

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".field" / "quality.json"
PAGE = ROOT / "docs" / "quality.md"

STEPS, BATCH, HIDDEN = 120, 32, 24
ROWS, FEATURES, CLASSES = 1024, 12, 6
REFERENCE = 24  # seeds that tell whether a change really harms
WORSE = 0.1  # of the held-out loss: a change that raises it by less is not called harm here
SURE = 4.0  # standard errors by which it must be raised
HARMFUL, SAME = 130, 200  # decisions of each kind
SHORT = (24, 60)  # steps: what the same test says if it sees the beginning only

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """A training: its data, its loss and its optimizer."""

    name: str
    softmax: bool = True
    adam: bool = True
    rate: float = 0.01
    dropout: float = 0.0
    spread: float = 1.0  # of the classes, or of the noise


TASKS = (
    Task("classes, Adam"),
    Task("classes, momentum", adam=False, rate=0.1),
    Task("regression, momentum", softmax=False, adam=False, rate=0.02, spread=0.3),
    Task("classes with dropout, Adam", dropout=0.3, spread=1.3),
    Task("regression, Adam", softmax=False, rate=0.01, spread=0.5),
)


@dataclass(frozen=True)
class Change:
    """What is done to a training; as given here, nothing."""

    rate: float = 1.0  # times the learning rate
    first: float = 1.0  # times the gradient of the first layer
    last: float = 1.0  # times the gradient of the last layer
    every: float = 1.0  # updates are applied in every n-th step
    ordered: float = 0.0  # 1: rows come sorted by their label
    rows: float = 1.0  # share of the data that is seen at all
    wrong: float = 0.0  # share of labels that belong to other rows
    decay: float = 0.0  # weights shrink by so much in each step
    dropout: float = 0.0  # on top of the task's own
    scale: float = 1.0  # times the features
    clip: float = 1e9  # largest norm of a gradient
    until: float = 1e9  # steps after which nothing is updated any more
    noise: float = 0.0  # added to gradients, in units of their own norm


INJECTED: Mapping[str, Sequence[Change]] = {
    "smaller learning rate": [Change(rate=r) for r in (0.03, 0.1, 0.2, 0.3)],
    "larger learning rate": [Change(rate=r) for r in (10.0, 30.0, 100.0)],
    "dropped gradients": [
        Change(first=0.0),
        Change(last=0.0),
        Change(first=0.1),
        Change(last=0.1, first=0.3),
    ],
    "updates left out": [Change(every=n) for n in (3.0, 5.0, 10.0)],
    "lost shuffle": [Change(ordered=1.0)],
    "a part of the data": [Change(rows=r) for r in (0.03, 0.06, 0.12)],
    "labels of other rows": [Change(wrong=p) for p in (0.2, 0.4, 0.7)],
    "weights that shrink": [Change(decay=d) for d in (0.02, 0.05, 0.1)],
    "more dropout": [Change(dropout=p) for p in (0.5, 0.7)],
    "features of another scale": [Change(scale=s) for s in (0.03, 0.1, 20.0)],
    "gradients cut off": [Change(clip=c) for c in (0.003, 0.01)],
    "training that stops early": [Change(until=n) for n in (10.0, 25.0, 40.0)],
    "noisy gradients": [Change(noise=n) for n in (5.0, 20.0)],
}


@dataclass(frozen=True)
class Decision:
    """One proof of quality."""

    kind: str
    task: str
    change: str
    harm: float  # relative rise of the held-out loss over many seeds
    passed: bool
    seeds: int
    short: tuple[bool, ...]  # whether it passed by its first steps alone, as in SHORT


def main() -> int:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    known = _kept()
    decisions: dict[str, Decision] = dict(known)
    for key, decision in _decided(known):
        decisions[key] = decision
        print(
            f"{len(decisions):4} {decision.kind:26} {decision.task:28} "
            f"{'passed' if decision.passed else 'refused'}  harm {decision.harm:+.0%}",
            flush=True,
        )
        KEPT.parent.mkdir(exist_ok=True)
        rows = {name: asdict(each) for name, each in decisions.items()}
        kept = {"digest": _digest(), "decisions": rows}
        KEPT.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    PAGE.write_text(page(list(decisions.values())), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")
    return 0


def _kept() -> dict[str, Decision]:
    try:
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if kept.get("digest") != _digest():
        return {}
    rows = kept["decisions"].items()
    return {name: Decision(**{**row, "short": tuple(row["short"])}) for name, row in rows}


@cache
def _digest() -> str:
    """Of the test and of what is tried: another one decides anew."""
    files = (Path(__file__), ROOT / "src" / "unslow" / "proof" / "quality.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _decided(known: Mapping[str, Decision]) -> Iterator[tuple[str, Decision]]:
    """Every decision that is not known yet."""
    for number in range(SAME):
        task = TASKS[number % len(TASKS)]
        key = f"same {number}"
        if key not in known:
            first = 1000 + 100 * number
            yield key, _decide("itself", task, Change(), first, harm=0.0)
    done = sum(each.kind != "itself" for each in known.values())
    for number, (kind, task, change) in enumerate(_injected()):
        key = f"harm {number}"
        if done >= HARMFUL:
            return
        if key in known:
            continue
        harm = real_harm(task, change)
        if harm is not None:
            done += 1
            yield key, _decide(kind, task, change, 50_000 + 100 * number, harm)


def _injected() -> Iterator[tuple[str, Task, Change]]:
    """All changes on all tasks, kinds in turn, so that any number of them is a mixture; repeated."""
    per_kind = [
        [(kind, task, change) for change in changes for task in TASKS]
        for kind, changes in INJECTED.items()
    ]
    rows = list(itertools.zip_longest(*per_kind))
    for row in itertools.cycle(rows):
        yield from (each for each in row if each is not None)


def _decide(kind: str, task: Task, change: Change, first: int, harm: float) -> Decision:
    before = trained(task, Change(), range(first, first + MOST_SEEDS)).losses
    after = trained(task, change, range(first + 50, first + 50 + MOST_SEEDS)).losses
    found = _judged(before, after)
    short = tuple(_passes(_judged(before[:, :steps], after[:, :steps])) for steps in SHORT)
    what = ", ".join(f"{name}={value:g}" for name, value in _differing(change))
    return Decision(kind, task.name, what, harm, _passes(found), found.quality.seeds, short)


def _judged(before: Floats, after: Floats) -> Judgement:
    """Seed by seed, as in a proof."""
    for seeds in range(FEWEST_SEEDS, MOST_SEEDS + 1):
        found = judge(list(before[:seeds]), list(after[:seeds]))
        if found.answer is not Answer.OPEN:
            break
    return found


def _passes(found: Judgement) -> bool:
    return found.answer is Answer.SAME and found.moved


def _differing(change: Change) -> list[tuple[str, float]]:
    usual = Change()
    names = [each.name for each in fields(Change)]
    pairs = [(name, float(getattr(change, name))) for name in names]
    return [(name, value) for name, value in pairs if value != getattr(usual, name)]


def real_harm(task: Task, change: Change) -> float | None:
    """How much the held-out loss rises, over many seeds; None where it does not surely rise."""
    seeds = range(900_000, 900_000 + REFERENCE)
    before, after = (trained(task, each, seeds).held_out for each in (Change(), change))
    if not np.isfinite(after).all():
        return float("inf")
    rise = float(after.mean() - before.mean())
    error = float(np.sqrt((before.var(ddof=1) + after.var(ddof=1)) / REFERENCE))
    relative = rise / float(before.mean())
    return relative if relative >= WORSE and rise >= SURE * error else None


@dataclass(frozen=True)
class Trained:
    """Losses of each seed: of every step, and on data that was not trained on."""

    losses: Floats
    held_out: Floats


@cache
def trained(task: Task, change: Change, seeds: range) -> Trained:
    """Train once per seed, side by side."""
    import tensorflow as tf

    knobs = {each.name: tf.constant(getattr(change, each.name)) for each in fields(Change)}
    first, count = tf.constant(seeds.start), tf.constant(len(seeds))
    losses, held_out = _training(task)(first, count, knobs)
    return Trained(np.asarray(losses, dtype=float).T, np.asarray(held_out, dtype=float))


def _data(task: Task) -> tuple[Any, Any, Any, Any]:
    """Features and labels to train on, sorted by label, and as many to test on."""
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(CLASSES, FEATURES))
    label = np.sort(rng.integers(0, CLASSES, 2 * ROWS))
    x = centres[label] + task.spread * rng.normal(size=(2 * ROWS, FEATURES))
    target = np.sin(x @ rng.normal(size=(FEATURES, 1))) + 0.5 * x[:, :1]
    order = np.arange(2 * ROWS) if task.softmax else np.argsort(target[:, 0])
    y = np.eye(CLASSES)[label] if task.softmax else target
    x, y = x[order].astype(np.float32), y[order].astype(np.float32)
    return x[::2], y[::2], x[1::2], y[1::2]


@cache
def _training(task: Task) -> Any:
    """A compiled training of many seeds, each with weights of its own along the first axis."""
    import tensorflow as tf

    x, y, test_x, test_y = (tf.constant(each) for each in _data(task))
    outputs = CLASSES if task.softmax else 1

    def loss_of(weights: Any, bx: Any, by: Any, keep: Any) -> Any:
        h = tf.nn.relu(bx @ weights[0] + weights[1]) * keep
        out = h @ weights[2] + weights[3]
        if task.softmax:
            each = tf.nn.softmax_cross_entropy_with_logits(by, out)
        else:
            each = tf.reduce_sum((out - by) ** 2, axis=-1)
        return tf.reduce_mean(each, axis=-1)

    def started(first: Any, count: Any) -> list[Any]:
        one = tf.random.stateless_normal([count, FEATURES, HIDDEN], [first, 1])
        two = tf.random.stateless_normal([count, HIDDEN, outputs], [first, 2])
        biases = [tf.zeros([count, 1, HIDDEN]), tf.zeros([count, 1, outputs])]
        return [one * (2 / FEATURES) ** 0.5, biases[0], two * HIDDEN**-0.5, biases[1]]

    def batch(first: Any, count: Any, step: Any, knobs: Any) -> tuple[Any, Any, Any]:
        pair = tf.stack([first, 10 + 10 * step])
        shape = [count, BATCH]
        most = tf.cast(knobs["rows"] * ROWS, tf.int32)
        drawn = tf.random.stateless_uniform(shape, pair, 0, ROWS, tf.int32) % most
        begin = tf.cast(step * ROWS / STEPS, tf.int32)
        in_order = tf.broadcast_to((begin + tf.range(BATCH)) % ROWS, shape)
        index = tf.where(knobs["ordered"] > 0, in_order, drawn)
        other = tf.random.stateless_uniform(shape, pair + 1, 0, ROWS, tf.int32)
        is_wrong = tf.random.stateless_uniform(shape, pair + 2) < knobs["wrong"]
        labels = tf.gather(y, tf.where(is_wrong, other, index))
        rate = 1 - (1 - task.dropout) * (1 - knobs["dropout"])
        kept = tf.random.stateless_uniform([count, BATCH, HIDDEN], pair + 3) >= rate
        return tf.gather(x, index) * knobs["scale"], labels, tf.cast(kept, tf.float32) / (1 - rate)

    def gradients(weights: list[Any], loss: Any, tape: Any, knobs: Any, step: Any) -> list[Any]:
        found = tape.gradient(loss, weights)
        norms = [tf.norm(each, axis=(1, 2), keepdims=True) + 1e-9 for each in found]
        noisy = [
            each
            + knobs["noise"]
            * norm
            * tf.random.stateless_normal(tf.shape(each), [step, k])
            / tf.cast(tf.size(each[0]), tf.float32) ** 0.5
            for k, (each, norm) in enumerate(zip(found, norms, strict=True))
        ]
        cut = [
            each * tf.minimum(1.0, knobs["clip"] / norm)
            for each, norm in zip(noisy, norms, strict=True)
        ]
        times = (knobs["first"], knobs["first"], knobs["last"], knobs["last"])
        return [each * factor for each, factor in zip(cut, times, strict=True)]

    @tf.function  # type: ignore[untyped-decorator,unused-ignore]
    def train(first: Any, count: Any, knobs: Any) -> tuple[Any, Any]:
        weights = started(first, count)
        moment = [tf.zeros_like(each) for each in weights]
        square = [tf.zeros_like(each) for each in weights]
        losses = tf.TensorArray(tf.float32, STEPS)
        for step in tf.range(STEPS):
            bx, by, keep = batch(first, count, step, knobs)
            with tf.GradientTape() as tape:
                tape.watch(weights)
                loss = loss_of(weights, bx, by, keep)
            losses = losses.write(step, loss)
            grads = gradients(weights, loss, tape, knobs, step)
            now = tf.cast(step, tf.float32)
            is_on = (now < knobs["until"]) & (tf.math.floormod(now, knobs["every"]) < 0.5)
            rate = task.rate * knobs["rate"] * tf.cast(is_on, tf.float32)
            moment = [
                0.9 * m + (0.1 if task.adam else 1.0) * g
                for m, g in zip(moment, grads, strict=True)
            ]
            square = [0.99 * s + 0.01 * g * g for s, g in zip(square, grads, strict=True)]
            if task.adam:
                one, two = 1 - 0.9 ** (now + 1), 1 - 0.99 ** (now + 1)
                moves = [
                    m / one / (tf.sqrt(s / two) + 1e-7) for m, s in zip(moment, square, strict=True)
                ]
            else:
                moves = moment
            kept = 1 - knobs["decay"]
            weights = [kept * w - rate * move for w, move in zip(weights, moves, strict=True)]
        test = [tf.repeat(each[None], count, axis=0) for each in (test_x, test_y)]
        held_out = loss_of(weights, test[0] * knobs["scale"], test[1], 1.0)
        return losses.stack(), held_out

    return train


# The page


def page(decisions: Sequence[Decision]) -> str:
    same = [each for each in decisions if each.kind == "itself"]
    harmful = [each for each in decisions if each.kind != "itself"]
    passed = [each for each in harmful if each.passed]
    refused = [each for each in same if not each.passed]
    lines = [
        "<!-- Generated by `python -m bench.quality`; do not edit. -->",
        "# How often the proof of quality is wrong",
        "",
        "A fix that draws other random numbers leads to other weights. `unslow fix --prove` then compares the loss, seed",
        f"by seed, until the answer is clear: over {FEWEST_SEEDS} to {MOST_SEEDS} seeds of each side, by an equivalence test",
        "on each third of the steps. Here that test decides about real trainings: small networks in TensorFlow,",
        f"{STEPS} steps each, {len(TASKS)} kinds of data, loss and optimizer; before and after never share a seed. A change",
        f"counts as harm where it raises the loss on data that was not trained on by at least {WORSE:.0%} over {REFERENCE}",
        "other seeds. Margin and number of seeds were chosen with the same trainings and changes, by other seeds.",
        "",
        "| what was tried | decisions | wrong | seeds, median |",
        "|---|---|---|---|",
        f"| a training against itself | {len(same)} | {_share(refused, same)} not accepted | {_seeds(same)} |",
        f"| injected harm | {len(harmful)} | {_share(passed, harmful)} accepted | {_seeds(harmful)} |",
        "",
        "Harm shows late. By the beginning of the same trainings alone, the test says:",
        "",
        "| steps | a training against itself, not accepted | harm accepted |",
        "|---|---|---|",
        *(_at(number, same, harmful) for number in range(len(SHORT))),
        f"| {STEPS}, all | {_share(refused, same)} | {_share(passed, harmful)} |",
        "",
        "| harm | decisions | accepted | median rise of the held-out loss |",
        "|---|---|---|---|",
    ]
    for kind in dict.fromkeys(each.kind for each in harmful):
        of_kind = [each for each in harmful if each.kind == kind]
        rise = float(np.median([each.harm for each in of_kind]))
        count = sum(each.passed for each in of_kind)
        lines.append(f"| {kind} | {len(of_kind)} | {count} | {rise:+.0%} |")
    if passed:
        lines += ["", "Accepted although they harm:", ""]
        lines += [
            f"- {each.kind} ({each.change}), {each.task}: {each.harm:+.0%}" for each in passed
        ]
    return "\n".join([*lines, ""])


def _at(number: int, same: Sequence[Decision], harmful: Sequence[Decision]) -> str:
    refused = [each for each in same if not each.short[number]]
    passed = [each for each in harmful if each.short[number]]
    return f"| {SHORT[number]} | {_share(refused, same)} | {_share(passed, harmful)} |"


def _seeds(decisions: Sequence[Decision]) -> str:
    return f"{float(np.median([each.seeds for each in decisions])):g}" if decisions else ""


def _share(some: Sequence[Decision], every: Sequence[Decision]) -> str:
    return f"{len(some)} ({100 * len(some) / max(1, len(every)):.1f}%)"


if __name__ == "__main__":
    sys.exit(main())
