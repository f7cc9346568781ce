"""What is known of an object goes with it, and never shows on it."""

from __future__ import annotations

import gc

from unslow.record.engine.weak_table import WeakTable


class Owner:
    pass


def test_a_value_is_found_by_its_owner_alone() -> None:
    table: WeakTable[int] = WeakTable()
    one, other = Owner(), Owner()
    table.put(one, 1)
    assert table.get(one) == 1
    assert table.get(other) is None
    assert not vars(one)


def test_a_dead_owner_is_forgotten() -> None:
    table: WeakTable[int] = WeakTable()
    owner = Owner()
    owner.itself = owner  # type: ignore[attr-defined]
    table.put(owner, 1)
    del owner
    gc.collect()
    assert not table.by_id
    assert not table.owners()


def test_a_value_can_be_replaced() -> None:
    table: WeakTable[int] = WeakTable()
    owner = Owner()
    table.put(owner, 1)
    table.put(owner, 2)
    assert table.get(owner) == 2
