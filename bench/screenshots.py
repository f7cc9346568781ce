"""Pictures for the documentation: the report of an example, a comparison, a notebook and a terminal.

python bench/screenshots.py [example]        needs Chromium and nbconvert; writes docs/images/

Each page is shown wide, at 400 pixels, and dark. terminal.svg is a recording of a terminal: `unslow run`,
`unslow fix` and `unslow fix --prove --apply` on the example, one after the other. What it shows was printed by
these commands.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COMMANDS = ("unslow run train.py", "unslow fix", "unslow fix --prove --apply")
ROWS, COLUMNS = 30, 84
SECONDS = 6  # that each screen of the recording stays
# Name of the picture after that of the page, colour scheme, width and height in pixels.
SHOTS = (("", "light", 1200, 1500), ("-dark", "dark", 1200, 1100), ("-narrow", "light", 400, 1500))
CELLS = (
    "%load_ext unslow",
    """\
import tensorflow as tf

weight = tf.Variable(1.0)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = (weight * x) ** 2
    weight.assign_sub(0.01 * tape.gradient(loss, weight))
""",
    """\
%%unslow
for n in range(200):
    step(float(n))
""",
    "%unslow_fix",
)
_MARK = re.compile(r"^# (expect|steps):.*\n|  # <-- .*$", re.MULTILINE)
# Without the web font of rich's own format: the picture asks nothing of the network.
_SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
 font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main() -> None:
    example = sys.argv[1] if len(sys.argv) > 1 else "graph_growth.py"
    browser = os.environ.get("UNSLOW_BROWSER") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if browser is None:
        sys.exit("screenshots need Chromium: apt-get install chromium, or set UNSLOW_BROWSER")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        source = (ROOT / "examples" / example).read_text(encoding="utf-8")
        (Path(place) / "train.py").write_text(_MARK.sub("", source), encoding="utf-8")
        printed = [_printed(command, place) for command in COMMANDS]
        _printed("unslow run --quiet train.py", place)
        first, *_, last = sorted((Path(place) / ".unslow").glob("2*"))
        _printed(f"unslow why {first.name} --format html -o report.html", place)
        _printed(f"unslow compare {first.name} {last.name} --format html -o comparison.html", place)
        pages = {name: Path(place) / f"{name}.html" for name in ("report", "comparison")}
        _shoot(browser, {**pages, "notebook": _notebook(Path(place))})
    (IMAGES / "terminal.svg").write_text(recording(printed), encoding="utf-8")
    print(f"==> wrote {', '.join(sorted(path.name for path in IMAGES.iterdir()))} in docs/images")


def _printed(command: str, place: str) -> str:
    """What a command prints, both streams."""
    print(f"==> {command}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def recording(printed: list[str]) -> str:
    """Screens that follow each other; where nothing is animated, the first one stays."""
    screens = []
    for number, (command, text) in enumerate(zip(COMMANDS, printed, strict=True)):
        console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), highlight=False)  # noqa: PTH123, SIM115
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        lines = [line for line in text.splitlines() if line.strip()][: ROWS - 1]
        for line in [*lines, *[""] * (ROWS - 1 - len(lines))]:
            console.print(_coloured(line[:COLUMNS]))
        svg = console.export_svg(title="unslow", code_format=_SVG, unique_id=f"screen{number}")
        screens.append(f'<g class="screen" style="animation-delay:{number * SECONDS}s">{svg}</g>')
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', screens[0])[0]
    whole, shown = len(screens) * SECONDS, 100 / len(screens)
    return f"""\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img"
 aria-label="A terminal: {", then ".join(COMMANDS)}">
<style>
.screen {{ visibility: hidden; animation: show {whole}s step-end infinite; }}
.screen:first-of-type {{ visibility: visible; }}
@keyframes show {{ 0% {{ visibility: visible; }} {shown:.2f}% {{ visibility: hidden; }} }}
@media (prefers-reduced-motion: reduce) {{ .screen {{ animation: none; }} }}
</style>
{"".join(screens)}
</svg>
"""


def _coloured(line: str) -> Text:
    for start, style in (
        ("+", "green"),
        ("-", "red"),
        ("@@", "cyan"),
        ("Training could", "bold red"),
    ):
        if line.startswith(start):
            return Text(line, style)
    if "PROVED" in line:
        return Text(line, "bold green")
    return Text(line, "bold" if line.lstrip().startswith(">") else "")


def _notebook(place: Path) -> Path:
    """A notebook, executed by a real kernel; its page is made light and dark when it is shown."""
    print("==> a notebook", flush=True)
    cells = [nbformat.v4.new_code_cell(text) for text in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", PYTHONPATH=str(ROOT / "src"))
    resources = {"metadata": {"path": str(place)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:  # TensorFlow's own warnings about retracing fill a screen
        cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
    del notebook.cells[:2]
    for theme in ("light", "dark"):
        page, _ = HTMLExporter(template_name="lab", theme=theme).from_notebook_node(notebook)
        (place / f"notebook-{theme}.html").write_text(page, encoding="utf-8")
    return place / "notebook-light.html"


def _shoot(browser: str, pages: Mapping[str, Path]) -> None:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for suffix, scheme, width, height in SHOTS:
            tab = chromium.new_page(
                viewport={"width": width, "height": height},
                color_scheme=scheme,  # type: ignore[arg-type]
            )
            for name, page in pages.items():
                tab.goto(page.with_name(page.name.replace("light", scheme)).as_uri())
                tab.wait_for_timeout(1500)
                tab.screenshot(path=str(IMAGES / f"{name}{suffix}.png"))
        chromium.close()


if __name__ == "__main__":
    main()
