"""The page in a real browser: it draws, zooms, fits, stays off the network and runs nothing of the user's."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unslow.analyse.run.assemble import load
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.compare import compare
from unslow.compare.view import view_of as comparison_view
from unslow.diagnose import diagnose
from unslow.facts.functions import Trace
from unslow.facts.keras import Hook
from unslow.facts.memory import Container, Containers
from unslow.facts.schema import Place
from unslow.facts.sessions import GraphGrew
from unslow.model import (
    Diagnosis,
    Evidence,
    Finding,
    Fix,
    Forecast,
    Location,
    Phase,
    Refusal,
    Safety,
    Sample,
    Unjudged,
)
from unslow.report import comparison, html, json_report
from unslow.report.view import view_of

from .gallery import GALLERY, proof, retracing, workers


@pytest.fixture(scope="module")
def browser(launch: Callable[..., Any]) -> Any:
    return launch("--disable-gpu")


@dataclass
class Opened:
    page: Any
    problems: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens a diagnosis as a page from a file and listens."""
    contexts = []

    def show(
        diagnosis: Diagnosis, width: int = 1280, scheme: str = "light", proofs: Any = None
    ) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(html.dumps(view_of(diagnosis, proofs)), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        result = Opened(context.new_page())
        result.page.on(
            "console", lambda message: result.problems.append(f"{message.type}: {message.text}")
        )
        result.page.on("pageerror", lambda error: result.problems.append(str(error)))
        result.page.on(
            "dialog", lambda dialog: (result.problems.append("a dialog opened"), dialog.dismiss())
        )
        result.page.on("request", lambda request: result.asked.append(request.url))
        result.page.goto(path.as_uri())
        result.page.wait_for_selector("html[data-ready]", state="attached", timeout=10_000)
        return result

    yield show
    for context in contexts:
        context.close()


def until(page: Any, condition: str) -> None:
    """Waits for a condition; Playwright's own way evaluates text in the page, which the page's policy forbids."""
    script = f"""new Promise((resolve, reject) => {{
      const begun = performance.now();
      const look = () => ({condition}) ? resolve() : performance.now() - begun > 10000
        ? reject(new Error("never: " + {condition!r})) : requestAnimationFrame(look);
      look();
    }})"""
    page.evaluate(script)


def colours(page: Any, selector: str) -> int:
    """How many different colours a canvas holds."""
    script = """selector => {
      const canvas = document.querySelector(selector);
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const seen = new Set();
      for (let at = 0; at < pixels.length; at += 4) seen.add(pixels.slice(at, at + 3).join());
      return seen.size;
    }"""
    return int(page.evaluate(script, selector))


@pytest.mark.parametrize("name", GALLERY)
def test_the_page_opens_without_a_console_message_and_asks_nothing_of_the_network(
    name: str, opened: Callable[..., Opened]
) -> None:
    result = opened(GALLERY[name]())
    assert result.problems == []
    assert [url for url in result.asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280, 1600])
def test_the_verdict_is_in_the_first_screen(
    width: int, scheme: str, opened: Callable[..., Opened]
) -> None:
    page = opened(retracing(), width, scheme, {0: proof()}).page
    box = page.locator("#answer").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] < 800
    assert "traced again on 297 of 300 calls" in page.locator("#answer").inner_text()


def test_line_diff_and_proof_are_in_the_first_screen_too(opened: Callable[..., Opened]) -> None:
    page = opened(retracing(), proofs={0: proof()}).page
    for selector in (".hero .here", "#diff-lead .add", ".hero .way >> text=3.4 times as fast"):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] < 800, selector


@pytest.mark.parametrize("name", GALLERY)
def test_nothing_is_wider_than_the_window_on_a_phone_or_a_wide_screen(
    name: str, opened: Callable[..., Opened]
) -> None:
    page = opened(GALLERY[name](), 1600).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 1600
    page.set_viewport_size({"width": 400, "height": 800})
    until(page, "document.documentElement.scrollWidth <= 400")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["step", "memory", "trace"])
def test_charts_draw_pixels(kind: str, scheme: str, opened: Callable[..., Opened]) -> None:
    page = opened(retracing(), scheme=scheme).page
    assert colours(page, f'[data-chart="{kind}"] canvas') > 5


def test_the_page_follows_the_colour_scheme_and_the_button_switches_it(
    opened: Callable[..., Opened],
) -> None:
    page = opened(retracing(), scheme="dark").page
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (
        sum(map(int, re.findall(r"\d+", dark)))
        < 150
        < 600
        < sum(map(int, re.findall(r"\d+", light)))
    )


def _span(page: Any) -> float:
    box = page.locator('[data-chart="step"]').first
    return float(box.get_attribute("data-max")) - float(box.get_attribute("data-min"))


def test_dragging_over_a_chart_zooms_and_a_double_click_shows_all(
    opened: Callable[..., Opened],
) -> None:
    page = opened(retracing()).page
    whole = _span(page)
    over = page.locator('[data-chart="step"] .u-over').first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=4)
    page.mouse.up()
    assert _span(page) < whole / 3
    page.mouse.dblclick(box["x"] + box["width"] * 0.5, box["y"] + 50)
    assert _span(page) == whole


def test_a_chart_can_be_zoomed_and_moved_with_the_keyboard(opened: Callable[..., Opened]) -> None:
    page = opened(retracing()).page
    whole = _span(page)
    page.locator('[data-chart="step"] .plot').first.focus()
    page.keyboard.press("+")
    assert _span(page) == pytest.approx(whole / 2)
    before = page.locator('[data-chart="step"]').first.get_attribute("data-min")
    page.keyboard.press("ArrowRight")
    assert page.locator('[data-chart="step"]').first.get_attribute("data-min") != before
    page.keyboard.press("0")
    assert _span(page) == whole


def test_the_log_scale_redraws_the_chart(opened: Callable[..., Opened]) -> None:
    result = opened(GALLERY["several"]())
    page = result.page
    shot = page.locator('[data-chart="step"] canvas').nth(1).screenshot()
    page.locator('[data-chart="step"] [data-do="log"]').nth(1).click()
    assert page.locator('[data-chart="step"] canvas').nth(1).screenshot() != shot
    assert result.problems == []


def test_the_copy_button_copies_the_diff(opened: Callable[..., Opened]) -> None:
    page = opened(retracing()).page
    # The real clipboard belongs to the desktop and needs a focused window.
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.click("[data-copy=diff-lead]")
    until(page, "window.copied")
    copied = page.evaluate("window.copied")
    assert copied.strip() == view_of(retracing())["findings"][0]["fix"]["diff"].strip()


def test_every_control_has_a_name_and_every_section_a_heading(
    opened: Callable[..., Opened],
) -> None:
    page = opened(retracing(), proofs={0: proof()}).page
    for button in page.locator("button").all():
        assert (button.get_attribute("aria-label") or button.inner_text()).strip()
    for section in page.locator("section").all():
        assert page.locator(f"#{section.get_attribute('aria-labelledby')}").count() == 1
    for plot in page.locator(".plot").all():
        assert plot.get_attribute("aria-label")


def test_the_page_prints(opened: Callable[..., Opened]) -> None:
    result = opened(retracing(), scheme="dark")
    assert len(result.page.pdf()) > 20_000
    assert result.problems == []


def test_a_spike_of_one_step_in_100_000_survives_and_the_page_stays_small() -> None:
    seconds = np.full(100_000, 0.01)
    seconds[43_210] = 0.5
    view = view_of(
        replace(
            retracing(), run=Sketch("long", seconds, {Phase.RUN: 0.8}).run(), findings=(), fixes={}
        )
    )
    assert max(view["charts"]["steps"][0]["high"]) == 0.5
    assert len(html.dumps(view)) < 2_000_000


@pytest.fixture(scope="module")
def axe(npm: Callable[[str], Path]) -> str:
    return (npm("axe-core") / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("diagnosis", [GALLERY["several"], GALLERY["healthy"], workers])
def test_the_page_keeps_the_rules_of_accessibility(
    diagnosis: Callable[[], Diagnosis], scheme: str, opened: Callable[..., Opened], axe: str
) -> None:
    page = opened(diagnosis(), scheme=scheme).page
    page.evaluate(axe)
    found = page.evaluate("axe.run(document).then(result => result.violations)")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_a_comparison_is_a_page_too(
    width: int, scheme: str, browser: Any, tmp_path: Path, axe: str
) -> None:
    one, other = GALLERY["several"](), retracing()
    view = comparison_view(compare(one, other), one, other, None)
    path = tmp_path / "comparison.html"
    path.write_text(comparison.as_html(view), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("html").get_attribute("data-theme") == scheme
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(axe)
    found = page.evaluate("axe.run(document).then(result => result.violations)")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    context.close()


def test_the_contents_name_every_section_and_lead_to_it(opened: Callable[..., Opened]) -> None:
    page = opened(retracing()).page
    names = [link.get_attribute("href") for link in page.locator(".contents a").all()]
    assert names == [f"#{section.get_attribute('id')}" for section in page.locator("section").all()]
    page.click(".contents a[href='#limits']")
    until(page, "document.getElementById('limits').getBoundingClientRect().top < innerHeight")
    assert page.evaluate("document.activeElement.id") == "h-limits"


def test_a_search_keeps_the_parts_that_hold_every_word(opened: Callable[..., Opened]) -> None:
    page = opened(GALLERY["several"]()).page
    page.keyboard.press("/")
    page.keyboard.type("unslow itself COST")
    until(page, "document.getElementById('loops').offsetParent === null")
    assert page.locator("#limits").is_visible() and not page.locator("#verdict").is_visible()
    assert page.locator(".contents a:visible").all_inner_texts() == ["Limits"]
    page.fill("#find", "")
    assert page.locator("#verdict").is_visible()


def test_the_report_can_be_downloaded_as_json(opened: Callable[..., Opened]) -> None:
    page = opened(retracing()).page
    with page.expect_download() as started:
        page.click("#download")
    downloaded = json.loads(Path(started.value.path()).read_text(encoding="utf-8"))
    assert downloaded == json.loads(json_report.dumps(view_of(retracing())))


def test_a_cause_leads_to_its_explanation_in_the_page(opened: Callable[..., Opened]) -> None:
    page = opened(retracing()).page
    assert not page.locator("#cause-retracing h4").first.is_visible()
    page.click(".hero a[href='#cause-retracing']")
    assert page.locator("#cause-retracing h4").first.inner_text() == "What happens"
    assert page.locator("#cause-retracing h4").first.is_visible()


def test_zooming_one_chart_moves_the_whole_time_axis(opened: Callable[..., Opened]) -> None:
    page = opened(retracing()).page
    page.locator('[data-chart="time-steps"] .plot').focus()
    page.keyboard.press("+")
    memory = page.locator('[data-chart="time-memory"]')
    steps = page.locator('[data-chart="time-steps"]')
    until(page, "document.querySelector('.lane > span').style.width === '200%'")
    for name in ("data-min", "data-max"):
        assert memory.get_attribute(name) == steps.get_attribute(name)


def test_a_tab_shows_one_process(opened: Callable[..., Opened]) -> None:
    page = opened(workers()).page
    cards = page.locator("#loops .card:visible")
    everything = cards.count()
    page.locator('[role="tab"]').first.focus()
    page.keyboard.press("ArrowRight")
    chosen = page.locator('[role="tab"][aria-selected="true"]')
    assert chosen.inner_text() == "worker 0" and 0 < cards.count() < everything
    assert {card.get_attribute("data-process") for card in cards.all()} == {"0"}


def test_the_source_shows_the_finding_at_its_line(opened: Callable[..., Opened]) -> None:
    diagnosis = retracing()
    where = diagnosis.findings[0].location
    assert where is not None
    row = opened(diagnosis).page.locator("#source tr.here").first
    assert str(where.line) in row.inner_text() and "retracing" in row.inner_text()


HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{7*7}}${1}",
    "<!--<script>",
    "]]>\udcff\ud800\x00\u2028",
    "javascript:alert(1)",
)


def hostile() -> Diagnosis:
    """A run in which every string that a user's program can choose attacks the page."""
    evil = "".join(HOSTILE)
    where = Location(f"{evil}.py", 2, evil, evil)
    holder = Container(file=evil, function=evil, path=evil, element=evil, bytes=2e6)
    facts = [
        *(
            at(
                step,
                Trace(
                    name=evil,
                    place=Place(evil, 3, evil),
                    took=0.1,
                    n=step,
                    args={evil: f"{evil}{step}"},
                ),
            )
            for step in (1, 2, 3)
        ),
        *(at(step, GraphGrew(graph=1, nodes=step)) for step in (1, 2)),
        at(3, Hook(key=evil, hook=evil, callback=evil, module=evil)),
        *(at(step, Containers(found=(holder,))) for step in (1, 2)),
    ]
    sample = Sample((where,), evil, 0, True, 50, 50, 100)
    run = Sketch(
        evil, (0.01,) * 50, facts=facts, samples=(sample,), ticks={"rss": [1e8] * 20}, style=evil
    ).run()
    process = replace(
        run.processes[0],
        host=evil,
        worker=evil,
        how=evil,
        probes={evil: f"lost: {evil}"},
        versions={evil: evil},
    )
    run = replace(
        run,
        command=("python", evil),
        folder=evil,
        ended=evil,
        notes=(evil,),
        cwd=evil,
        processes=(process,),
        loops=tuple(
            replace(loop, location=where, update=where, stack=(where,)) for loop in run.loops
        ),
        sources={where.file: f"{evil}\n{evil}\n{evil}"},
    )
    finding = Finding(
        evil,
        evil,
        where,
        0.3,
        (Evidence(evil, evil, evil),),
        True,
        Forecast(9, 1.0, text=evil),
        advice=evil,
        merged=(evil,),
    )
    fix = Fix(evil, Safety.REVIEW, {where.file: f"+{evil}\n{evil}"}, evil)
    return Diagnosis(
        run,
        (finding, finding, replace(finding, fault=False)),
        {0: fix, 1: Refusal(evil, where)},
        (Unjudged(evil, evil),),
        0.1,
        0.0,
        0.0,
    )


def test_nothing_that_the_user_s_program_says_can_run(opened: Callable[..., Opened]) -> None:
    result = opened(hostile(), proofs={0: replace(proof(), text="".join(HOSTILE))})
    page = result.page
    for button in page.locator("button").all():
        button.click()
    page.locator('[data-chart="trace"] .u-over').hover()
    assert result.problems == []
    assert [url for url in result.asked if not url.startswith(("file:", "data:"))] == []
    assert page.locator("img, iframe, object, embed, base, form").count() == 0
    assert page.locator("script").count() == 4  # two of them are data
    attributes = "[...document.querySelectorAll('*')].flatMap(each => each.getAttributeNames())"
    assert not [name for name in page.evaluate(attributes) if name.startswith("on")]


def test_template_syntax_of_the_user_is_text(opened: Callable[..., Opened]) -> None:
    assert "{{7*7}}${1}" in opened(hostile()).page.locator("#answer").inner_text()


def test_the_policy_of_the_page_allows_only_its_own_two_scripts() -> None:
    page = html.dumps(view_of(retracing()))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "script-src 'unsafe" not in policy[1] and len(re.findall("sha256-", policy[1])) == 2


RECORDINGS = sorted((Path(__file__).parents[2] / "examples" / "recorded").glob("*.zip"))


@pytest.mark.skipif(not RECORDINGS, reason="there are no recordings of the examples: make recorded")
@pytest.mark.parametrize("recording", RECORDINGS[::12], ids=lambda path: path.stem)
def test_the_page_of_a_recorded_example_answers_in_its_first_screen_and_draws(
    recording: Path, opened: Callable[..., Opened], tmp_path: Path
) -> None:
    with zipfile.ZipFile(recording) as archive:
        archive.extractall(tmp_path / "run")
    folder = next((tmp_path / "run").rglob("run.json")).parent
    result = opened(diagnose(load(str(folder))))
    box = result.page.locator("#answer").bounding_box()
    assert box["y"] + box["height"] < 800
    assert colours(result.page, '[data-chart="step"] canvas') > 5
    assert result.problems == []
    assert [url for url in result.asked if not url.startswith(("file:", "data:"))] == []
