"""Settings of what one step computes: batch, accumulation, steps per execution, optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.facts.whatif import AccumulationSeen, ModelCompiled, OptimizerMade
from unslow.proof.whatif.setting import Machine, Setting, first_reason
from unslow.proof.whatif.survey import Survey, place_of


def batch(seen: Survey, machine: Machine) -> Iterator[Setting]:
    arrays = [fact for fact in seen.fits if fact.arrays]
    reachable = arrays or seen.batches
    now = seen.examples
    for name, factor in (("batch-half", 0.5), ("batch-x2", 2.0), ("batch-x4", 4.0)):
        size = max(1, round(now * factor))
        yield Setting(
            name,
            "batch",
            {"batch": factor, "inner": seen.inner},
            keep=f"batch_size={size}" if arrays else f".batch({size})",
            where=place_of(reachable),
            changes="other batch",
            why_not=first_reason(
                (not reachable, "the script makes its batches itself: neither fit() nor batch()"),
                (size == now, "the batch is already 1"),
            ),
        )


def accumulation(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = seen.of(AccumulationSeen)
    size = seen.examples // 4
    arrays = [fact for fact in seen.fits if fact.arrays]
    reachable = bool(arrays or seen.batches) and size > 0
    why_not = first_reason(
        (not facts, "no optimizer of Keras 3"),
        (any(fact.own for fact in facts), "the script already accumulates"),
    )
    keep, where = "gradient_accumulation_steps=4", place_of(seen.of(OptimizerMade))
    yield Setting(
        "accumulate-4",
        "accumulation",
        {"accumulate": 4},
        keep=keep,
        where=where,
        changes="1 update in 4",
        why_not=why_not,
    )
    yield Setting(
        "accumulate-4-small",
        "accumulation",
        {"accumulate": 4, "batch": 0.25, "inner": seen.inner},
        keep=f"{keep} and a batch of {size}",
        where=where,
        changes="4 small steps",
        why_not=why_not or first_reason((not reachable, "the batch cannot be cut from outside")),
    )


def execution(seen: Survey, machine: Machine) -> Iterator[Setting]:
    epoch = next((fact.epoch for fact in seen.fits if fact.epoch), 0)
    steps, uneven = _group(machine.steps, epoch)
    together = max((fact.together for fact in seen.fits), default=1)
    yield Setting(
        "steps_per_execution",
        "execution",
        {"steps_per_execution": steps},
        keep=f"model.compile(…, steps_per_execution={steps})",
        where=place_of(seen.of(ModelCompiled)),
        why_not=first_reason(
            (not seen.fits, "fit() is not what trains here"),
            (any(fact.eager for fact in seen.fits), "the model runs eagerly"),
            (together > 1, f"it is already {together}"),
            (uneven > _UNEVEN, f"an epoch of {epoch} steps cannot be cut evenly"),
        ),
    )


_UNEVEN = 0.05  # a share of miscounted steps that would pass for a gain
_GROUP_SIZES = (10, 8, 5, 4, 3, 2)
_SHORT_EPOCH = 16


def _group(steps: int, epoch: int) -> tuple[int, float]:
    """How many steps to run at once, and the share of miscounted ones: a last group is short."""
    whole_epoch = (epoch,) if 1 < epoch <= _SHORT_EPOCH else ()
    within = min(steps, epoch) if epoch else steps
    found = []
    for count in (*_GROUP_SIZES, *whole_epoch):
        groups = -(-epoch // count)
        over = groups * count / epoch - 1 if 0 < epoch < steps else 0.0
        divides = within % count == 0 and steps % count == 0
        found.append((over > _UNEVEN, not divides, over, -count))
    _, _, over, count = min(found)
    return -count, over


_OLD_OPTIMIZERS = {"SGD": "GradientDescentOptimizer", "Adam": "AdamOptimizer"}


def optimizer(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = seen.of(OptimizerMade)
    old = any(fact.package.startswith("tensorflow") for fact in facts)
    module = "tf.compat.v1.train" if old else "keras.optimizers"
    for name in ("SGD", "Adam", "Adafactor"):
        target = _OLD_OPTIMIZERS.get(name, "") if old else name
        yield Setting(
            name.lower(),
            "optimizer",
            {"optimizer": name},
            keep=f"{module}.{target or name}(…)",
            where=place_of(facts),
            changes="other optimizer",
            why_not=first_reason(
                (not facts, "no optimizer of Keras or tf.train is used"),
                (not target, "tf.train has none"),
                (
                    all(fact.own == target for fact in facts),
                    f"the script already uses {target}",
                ),
            ),
        )
