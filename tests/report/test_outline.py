"""What terminal, markdown and HTML say alike: no fact twice, and no part that says nothing."""

from __future__ import annotations

from dataclasses import replace

from unslow.model import Unjudged
from unslow.report import outline
from unslow.report.view import view_of

from .gallery import GALLERY


def test_a_lost_probe_stands_once_where_a_cause_needs_it() -> None:
    lost = GALLERY["lost"]()
    reason = "the input probe was lost: AttributeError: OwnedIterator"
    view = view_of(replace(lost, not_judged=(Unjudged("input-bound", reason, blind=True),)))
    about_input = [text for text in outline.limits(view) if "OwnedIterator" in text]
    assert about_input == [f"not judged: input-bound ({reason})"]


def test_the_account_names_no_part_that_repeats_its_stretch_or_is_small() -> None:
    def part(name: str, seconds: float) -> dict[str, object]:
        return {"name": name, "seconds": seconds, "kind": "known", "line": "", "cause": ""}

    stretches = [
        {"name": "import of TensorFlow", "seconds": 2.0, "parts": [part("import", 2.0)]},
        {
            "name": "steps",
            "seconds": 8.0,
            "parts": [part("TensorFlow runs", 7.0), part("saving", 0.3), part("small parts", 0.7)],
        },
    ]
    rows = outline.account({"account": {"seconds": 10.0, "stretches": stretches}})
    assert [row[3] for row in rows] == ["", "TensorFlow runs 7.00 s"]
