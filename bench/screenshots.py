"""Pictures for the README: records an example, and shows its report as a page and in a terminal.

python bench/screenshots.py [example]        needs Chromium; writes docs/images/
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from unslow.cli.show import report_on  # noqa: E402
from unslow.report import html  # noqa: E402
from unslow.report.terminal import renderable  # noqa: E402

IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    example = sys.argv[1] if len(sys.argv) > 1 else "graph_growth.py"
    browser = os.environ.get("UNSLOW_BROWSER") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if browser is None:
        sys.exit("screenshots need Chromium: apt-get install chromium, or set UNSLOW_BROWSER")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(ROOT / "examples" / example, place)
        print(f"==> recording {example}", flush=True)
        subprocess.run(
            [sys.executable, "-m", "unslow", "run", "-q", "--out", "run", example],
            cwd=place,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        _, view = report_on(f"{place}/run")
        page = Path(place) / "report.html"
        page.write_text(html.dumps(view), encoding="utf-8")
        _shoot(browser, page)
    console = Console(record=True, width=84, file=io.StringIO(), highlight=False)
    console.print(renderable(view), width=80)
    (IMAGES / "terminal.svg").write_text(
        console.export_svg(title=f"unslow run {example}"), encoding="utf-8"
    )
    print(f"==> wrote {', '.join(sorted(path.name for path in IMAGES.iterdir()))} in docs/images")


def _shoot(browser: str, page: Path) -> None:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name, scheme, width, height in (
            ("report.png", "light", 1200, 1500),
            ("report-dark.png", "dark", 1200, 900),
            ("report-narrow.png", "light", 400, 900),
        ):
            tab = chromium.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )  # type: ignore[arg-type]
            tab.goto(page.as_uri())
            tab.wait_for_timeout(500)
            tab.screenshot(path=str(IMAGES / name))
        chromium.close()


main()
