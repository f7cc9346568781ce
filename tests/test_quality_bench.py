"""The table of wrong decisions of the proof of quality."""

from __future__ import annotations

from bench.quality import HARMFUL, INJECTED, SHORT, TASKS, Change, Decision, page


def decision(kind: str, passed: bool) -> Decision:
    return Decision(kind, "classes, Adam", "rate=10", 0.5, passed, 8, (passed,) * len(SHORT))


def test_only_wrong_decisions_are_counted_as_wrong() -> None:
    text = page(
        [
            decision("itself", True),
            decision("itself", False),
            decision("lost shuffle", True),
            decision("lost shuffle", False),
        ]
    )
    assert "| a training against itself | 2 | 1 (50.0%) not accepted |" in text
    assert "| injected harm | 2 | 1 (50.0%) accepted |" in text
    assert "- lost shuffle (rate=10), classes, Adam: +50%" in text


def test_there_are_enough_changes_and_each_changes_something() -> None:
    changes = [change for some in INJECTED.values() for change in some]
    assert len(changes) * len(TASKS) >= HARMFUL
    assert all(change != Change() for change in changes)
    assert len(set(changes)) == len(changes)
