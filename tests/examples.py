"""What the examples say of themselves: the expected finding, its line, and the number of steps."""

from __future__ import annotations

import os
import re
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from unslow.analyse.run.assemble import load
from unslow.diagnose import diagnose
from unslow.model import Diagnosis

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
RECORDED = EXAMPLES / "recorded"


@dataclass(frozen=True)
class Example:
    """A script with the disease of its name, or a healthy one that looks suspicious."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(EXAMPLES).with_suffix("").as_posix().replace("/", "-")

    @property
    def recording(self) -> Path:
        return RECORDED / f"{self.name}.zip"

    def words(self, heading: str) -> list[str]:
        found = re.search(rf"^# {heading}: (.*)$", self.path.read_text(), re.MULTILINE)
        return [word.strip() for word in found.group(1).split(",")] if found else []

    @property
    def expected(self) -> str | None:
        """The cause that must come first; None where nothing may be found."""
        word = self.words("expect")[0]
        return None if word == "nothing" else word

    @property
    def possible(self) -> bool:
        """Whether what it needs of the machine is there."""
        return not self.words("needs") or limits_memory()

    @property
    def allowed(self) -> set[str]:
        return {*self.words("also"), *([self.expected] if self.expected else [])}

    def lines(self, mark: str) -> list[int]:
        """The lines that end in `# <-- mark`."""
        return marked(self.path.read_text(), mark)


@cache
def diagnosis_of(recording: Path) -> Diagnosis:
    """What is found in a recording; read once in every process of the tests."""
    with TemporaryDirectory() as place, zipfile.ZipFile(recording) as packed:
        packed.extractall(place)
        return diagnose(load(place))


def limits_memory() -> bool:
    """Whether this process may go into a control group of its own: one example needs it."""
    roots = [Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")]
    root = next((one for one in roots if (one / "cgroup.procs").exists()), None)
    return root is not None and os.access(root / "cgroup.procs", os.W_OK)


def marked(text: str, mark: str) -> list[int]:
    """The lines of a text that end in `# <-- mark`."""
    return [
        number
        for number, row in enumerate(text.splitlines(), 1)
        if row.rstrip().endswith(f"# <-- {mark}")
    ]


def all_examples() -> list[Example]:
    """Sick and healthy ones; the styles and helper modules have no expectation."""
    scripts = sorted(EXAMPLES.glob("*.py")) + sorted((EXAMPLES / "healthy").glob("*.py"))
    return [
        Example(path)
        for path in scripts
        if re.search(r"^# expect: ", path.read_text(), re.MULTILINE)
    ]
