"""A real notebook, executed cell by cell in a real kernel."""

from __future__ import annotations

import html
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

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


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_cell_shows_its_report_as_a_page_and_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    cells = [nbformat.v4.new_code_cell(text) for text in ("%load_ext unslow", SET_UP, TRAIN)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    shown = [out for out in cells[2].outputs if out.output_type == "display_data"]
    assert len(shown) == 1, cells[2].outputs
    text, page = shown[0].data["text/plain"], html.unescape(shown[0].data["text/html"])
    assert "retracing" in text
    for report in (text, page):
        assert "cell 3, line 4" in report
        assert not re.search(r"ipykernel_\d+/\d+\.py", report)
    assert "<iframe srcdoc=" in page
