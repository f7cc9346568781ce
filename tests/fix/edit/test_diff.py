"""Diffs are taken by the real `git apply` and `patch -p1`, byte for byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unslow.fix.edit.diff import unified_diff

LONG = "".join(f"line {number}\n" for number in range(40))
CHANGES = {
    "a changed line": ("a\nb\nc\n", "a\nB\nc\n"),
    "two hunks": (LONG, LONG.replace("line 3\n", "line three\n").replace("line 30\n", "")),
    "CRLF": ("a\r\nb\r\n", "a\r\nx\r\nb\r\n"),
    "mixed line endings": ("a\r\nb\nc\r\n", "a\r\nb\nc\n"),
    "no newline before": ("a\nb", "a\nb\nc\n"),
    "no newline after": ("a\nb\n", "a\nc"),
    "no newline in both": ("a\nb", "x\nb"),
    "the last line only": ("a\nb", "a\nc"),
    "form feeds and separators inside lines": ("a\x0cb\u2028c\x85\nd\n", "a\x0cb\u2028c\x85\ne\n"),
    "a lone carriage return": ("a\rb\nc\n", "a\rB\nc\n"),
    "other scripts": ("größe = 'ж🎉'\n", "größe = 'ж'\n"),
    "lines that look like a diff": (
        "--- a\n+++ b\n@@ -1 +1 @@\n-x\n",
        "--- a\n+++ b\n@@ -1 +1 @@\n+x\n",
    ),
    "an empty line": ("a\n\nb\n", "a\n\n\nb\n"),
    "everything": ("a\n", "b\nc\n"),
}
NAMES = ["train.py", "src/pkg/train.py", "my file.py", "größe.py"]


def _applied(tool: str, folder: Path, name: str, before: str, after: str) -> bytes:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(before.encode())
    patch = unified_diff(name, before, after).encode()
    command = {"git": ["git", "apply", "-"], "patch": ["patch", "-p1", "--binary"]}[tool]
    done = subprocess.run(command, cwd=folder, input=patch, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return path.read_bytes()


@pytest.mark.parametrize("tool", ["git", "patch"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_diff_is_taken_byte_for_byte(tool: str, change: tuple[str, str], tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    assert _applied(tool, tmp_path, "train.py", *change) == change[1].encode()


@pytest.mark.parametrize("tool", ["git", "patch"])
@pytest.mark.parametrize("name", NAMES)
def test_a_diff_names_the_file_so_that_it_is_found(tool: str, name: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    assert _applied(tool, tmp_path, name, "a\n", "b\n") == b"b\n"


def test_git_takes_a_name_with_quotes(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    assert _applied("git", tmp_path, 'a"b\\c.py', "a\n", "b\n") == b"b\n"


def test_equal_texts_have_no_diff() -> None:
    assert unified_diff("train.py", "a\n", "a\n") == ""


def test_an_absolute_path_can_be_applied_from_the_root() -> None:
    assert unified_diff("/home/me/train.py", "a\n", "b\n").startswith(
        "--- a/home/me/train.py\n+++ b/home/me/train.py\n"
    )


texts = st.text("ab\n\r é+-@\\", max_size=30)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts.filter(bool), texts.filter(bool))
def test_patch_turns_any_text_into_any_other(tmp_path: Path, before: str, after: str) -> None:
    if shutil.which("patch") is None:
        pytest.skip("patch is not installed")
    if before != after:
        assert _applied("patch", tmp_path, "train.py", before, after) == after.encode()
