"""Runs the sides of an experiment in turn, each in a process of its own that begins with TensorFlow imported."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path

from bench.claims.experiment import Experiment, Measured, Result, Side
from bench.claims.gauges import take_turns

_ROOT = Path(__file__).parents[2]
_PATIENCE = 120.0  # seconds; a side takes one or two, the longest some ten

Outcome = tuple[Measured, str]


def context() -> multiprocessing.context.ForkServerContext:
    """A server that has imported TensorFlow and done nothing with it; a side's process is forked from it."""
    os.environ["PYTHONPATH"] = os.pathsep.join((str(_ROOT), str(_ROOT / "src")))
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["bench.claims.warm"])
    return made


def rounds(
    experiment: Experiment, result: Result, wanted: int, some: Collection[str] = ()
) -> Iterator[str]:
    """Measure until so many rounds are done of all sides or of some, A B then B A; yields before each what comes."""
    names = [name for name in experiment.sides if name in some or not some]
    done = min((_rounds_of(name, result) for name in names), default=0)
    for turn in range(done, wanted):
        order = names if turn % 2 == 0 else names[::-1]
        if experiment.abreast:
            yield f"{', '.join(order)} ({turn + 1} of {wanted})"
            due = [name for name in order if _rounds_of(name, result) <= turn]
            for name, outcome in abreast({name: experiment.sides[name] for name in due}).items():
                _put(name, outcome, result)
            continue
        for name in order:
            if _rounds_of(name, result) > turn:
                continue  # another claim asked for this side before
            yield f"{name} ({turn + 1} of {wanted})"
            _put(name, once(experiment.sides[name]), result)


def _put(name: str, outcome: Outcome, result: Result) -> None:
    measured, raised = outcome
    if raised:
        result.raised[name] = raised
    for number, value in measured.items():
        result.samples.setdefault(f"{name}.{number}", []).append(float(f"{value:.6g}"))


def _rounds_of(side: str, result: Result) -> int:
    numbers = (values for name, values in result.samples.items() if name.split(".", 1)[0] == side)
    return max(map(len, numbers), default=0)


def once(side: Side) -> Outcome:
    """What one side hands back or raises, from a process of its own in an empty folder of its own."""
    made = context()
    ours, theirs = made.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="unslow-claims-") as place:
        child = made.Process(target=_child, args=(side, theirs, place))
        child.start()
        theirs.close()
        try:
            if not ours.poll(_PATIENCE):
                return {}, f"TimeoutError: no answer in {_PATIENCE:.0f} s"
            answer: Outcome = ours.recv()
        except EOFError:
            child.join()
            return {}, f"the process ended with {child.exitcode}"
        finally:
            child.kill()
            child.join()
    return answer


def abreast(sides: Mapping[str, Side]) -> dict[str, Outcome]:
    """What several sides hand back whose processes prepare at once and then compute one at a time, call by call.

    What else the machine does changes from second to second, and in this way meets all of them alike.
    """
    made, answers, turns = context(), dict[str, Outcome](), dict[str, Connection]()
    with tempfile.TemporaryDirectory(prefix="unslow-claims-") as place:
        children = []
        for number, (name, side) in enumerate(sides.items()):
            own = Path(place) / str(number)
            own.mkdir()
            turns[name], theirs = made.Pipe()
            children.append(made.Process(target=_child, args=(side, theirs, str(own), True)))
            children[-1].start()
            theirs.close()
        try:
            for name in sides:
                _heard(name, turns, answers)
            while turns:
                for name in [name for name in sides if name in turns]:
                    turns[name].send(None)
                    _heard(name, turns, answers)
        finally:
            for child in children:
                child.kill()
                child.join()
    return answers


def _heard(name: str, turns: dict[str, Connection], answers: dict[str, Outcome]) -> None:
    """Wait until a side asks for its next turn, or is through: then it has no more turns."""
    try:
        said = (
            turns[name].recv()
            if turns[name].poll(_PATIENCE)
            else ({}, f"TimeoutError: none in {_PATIENCE:.0f} s")
        )
    except EOFError:
        said = ({}, "the process ended without an answer")
    if said is not None:
        answers[name] = said
        del turns[name]


def _child(side: Side, answers: Connection, place: str, in_turns: bool = False) -> None:
    def wait_for_turn() -> None:
        answers.send(None)
        answers.recv()

    if in_turns:
        take_turns(wait_for_turn)
    os.chdir(place)
    os.environ["TMPDIR"] = tempfile.tempdir = place
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    with contextlib.suppress(BrokenPipeError):
        try:
            answers.send((side(), ""))
        except Exception as error:  # noqa: BLE001 - what an example raises is what was asked
            answers.send(({}, _first_line(error)))


def _first_line(error: Exception) -> str:
    """The exception's kind and the first sentence that says something."""
    kind = f"{type(error).__name__}: "
    lines = [line.strip().removeprefix(kind) for line in str(error).splitlines()]
    said = next(
        (line for line in lines if len(line.split()) > 3 and not line.startswith("File ")), ""
    )
    return (kind + said.split(". ")[0]).strip(": ")[:200]
