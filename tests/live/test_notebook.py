"""Real notebooks, executed cell by cell in a real kernel."""

from __future__ import annotations

import html
import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SET_UP = """\
import tensorflow as tf
w = tf.Variable(1.0)

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = (w * x) ** 2
    w.assign_sub(0.01 * tape.gradient(loss, w))
"""
TRAIN = """\
%%unslow
# a comment
for n in range(40):
    step(float(n))
"""
BLOCK = """\
import unslow
with unslow.record():
    for n in range(40, 80):
        step(float(n))
"""
STATEMENT = """\
tasks = range(80, 120)
%unslow [step(float(n)) for n in tasks]
"""


class Client(NotebookClient):
    """Also keeps what the kernel puts into the next cell, which nbclient ignores."""

    async def async_execute_cell(self, cell: Any, cell_index: int, **options: Any) -> Any:
        done = await super().async_execute_cell(cell, cell_index, **options)
        reply = self.__dict__.setdefault("replies", [])
        reply.append(self._last_reply)
        return done

    async def _async_poll_for_reply(self, *words: Any, **options: Any) -> Any:
        found = await super()._async_poll_for_reply(*words, **options)
        self._last_reply = found["content"]["payload"] if found else []
        return found


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], list[Any]]:
    """The cells of one notebook with their outputs, and what each put into the next cell."""
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        texts = ("%load_ext unslow", SET_UP, TRAIN, "%unslow_fix", BLOCK, STATEMENT, "%unslow")
        cells = [nbformat.v4.new_code_cell(text) for text in texts]
        notebook = nbformat.v4.new_notebook(cells=cells)
        resources = {"metadata": {"path": str(folder)}}
        client = Client(notebook, timeout=300, kernel_name="python3", resources=resources)
        client.execute()
    return cells, client.__dict__["replies"]


def shown(cell: Any) -> tuple[str, str]:
    """The text and the page of the one report below a cell."""
    found = [out.data for out in cell.outputs if out.output_type == "display_data"]
    assert len(found) == 1, cell.outputs
    return found[0]["text/plain"], html.unescape(found[0]["text/html"])


def printed(cell: Any) -> str:
    return "".join(out.text for out in cell.outputs if out.output_type == "stream")


def test_a_cell_shows_its_report_as_a_page_and_as_text(executed: tuple[list[Any], Any]) -> None:
    text, page = shown(executed[0][2])
    assert "retracing" in text
    for report in (text, page):
        assert "cell 3, line 4" in report
        assert not re.search(r"ipykernel_\d+/\d+\.py", report)
    assert "<iframe srcdoc=" in page


def test_the_fix_is_shown_and_put_into_the_next_cell(executed: tuple[list[Any], Any]) -> None:
    cells, payloads = executed
    text = printed(cells[3])
    assert "retracing at cell 3, line 4" in text
    assert "+    step(tf.constant(float(n)))" in text
    (payload,) = [each for each in payloads[3] if each["source"] == "set_next_input"]
    assert payload["text"].startswith("%%unslow\n")
    assert "for n in range(40):\n    step(tf.constant(float(n)))" in payload["text"]


def test_a_block_shows_its_report_below_the_cell(executed: tuple[list[Any], Any]) -> None:
    text, page = shown(executed[0][4])
    assert "cell 5, line 4" in text and "cell 5, line 4" in page


def test_one_statement_can_be_recorded(executed: tuple[list[Any], Any]) -> None:
    text, _ = shown(executed[0][5])
    assert "cell 6, line 2" in text


def test_the_last_report_can_be_shown_again(executed: tuple[list[Any], Any]) -> None:
    cells = executed[0]
    assert shown(cells[6])[0] == shown(cells[5])[0]
