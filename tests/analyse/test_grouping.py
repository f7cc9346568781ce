"""Items by a key."""

from __future__ import annotations

from unslow.analyse.grouping import grouped, largest_of_each


def test_groups_come_in_the_order_of_their_first_items() -> None:
    found = grouped(["pear", "fig", "plum", "fig leaf"], lambda word: word[0])
    assert list(found.items()) == [("p", ["pear", "plum"]), ("f", ["fig", "fig leaf"])]


def test_the_first_of_equally_large_items_stands_for_its_group() -> None:
    found = largest_of_each(["pear", "fig", "plum", "fig leaf"], lambda word: word[0], len)
    assert found == {"p": "pear", "f": "fig leaf"}
