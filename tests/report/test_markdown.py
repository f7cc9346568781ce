"""The markdown report against gold files, and that nothing of the user's acts as markup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from unslow.report import markdown
from unslow.report.view import view_of

from .gallery import GALLERY, LINE, proof, retracing

HOSTILE = "<img src=x onerror=alert(1)> **b** [l](http://e.x) @user #1 `t` | ~~s~~ $x$ &amp;"


@pytest.mark.parametrize("name", GALLERY)
def test_the_markdown_report_reads_as_its_gold_file(
    name: str, matches_gold: Callable[[str, str], None]
) -> None:
    matches_gold(f"{name}.md", markdown.dumps(view_of(GALLERY[name](), {0: proof()})))


def test_markup_in_names_of_the_user_stays_text() -> None:
    diagnosis = retracing()
    where = replace(LINE, file=f"{HOSTILE}.py", code=HOSTILE)
    finding = replace(diagnosis.findings[0], title=HOSTILE, advice=HOSTILE, location=where)
    run = replace(diagnosis.run, command=("python", HOSTILE))
    page = markdown.dumps(view_of(replace(diagnosis, run=run, findings=(finding,), fixes={})))
    html = MarkdownIt("commonmark").enable("table").render(page)
    assert "<img" not in html and "<strong>b" not in html and "<a " not in html


def test_back_ticks_of_a_title_are_code_and_the_rest_is_text() -> None:
    diagnosis = retracing()
    finding = replace(diagnosis.findings[0], title="`a*b*c` and *d*")
    html = MarkdownIt("commonmark").render(
        markdown.dumps(view_of(replace(diagnosis, findings=(finding,))))
    )
    assert "<code>a*b*c</code> and *d*" in html


def test_a_fence_in_the_diff_does_not_end_the_block() -> None:
    diagnosis = retracing()
    fix = replace(diagnosis.fixes[0], files={"train.py": "```\n# Loud\n"})  # type: ignore[type-var]
    html = MarkdownIt("commonmark").render(
        markdown.dumps(view_of(replace(diagnosis, fixes={0: fix})))
    )
    assert "<h1>Loud" not in html


@pytest.mark.parametrize(
    ("text", "shown"), [("46.3 ms", "46.3 ms"), ("1. first", "1\\. first"), ("-3", "\\-3")]
)
def test_a_number_is_no_list(text: str, shown: str) -> None:
    assert markdown.marked(text) == shown
