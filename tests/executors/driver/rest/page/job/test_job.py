"""How a job's page behaves for those who use no mouse, no large screen, no light, or much of it at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

import pytest
from tests.executors.driver.rest.page import views
from tests.executors.driver.rest.page.browser import Browser
from tests.executors.driver.rest.page.driver import Driver

from penstock.common.plain_text import span_text
from penstock.executors.driver.rest.shared_views import page_view

pytestmark = pytest.mark.browser

FAST: Final = "?every=100"
JOB: Final = f"{FAST}#/jobs/{views.JOB}"
SECTIONS: Final = ("chains", "epochs", "state", "records", "exceptions", "configuration", "log")
TAB, ENTER, ESCAPE = "\ue004", "\ue007", "\ue00c"

FAINT = """
    const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
    const part = (of) => (of / 255 <= 0.04045 ? of / 255 / 12.92 : ((of / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    const behind = (node) => {
        for (let each = node; each; each = each.parentElement) {
            const [r, g, b, a = 1] = rgb(getComputedStyle(each).backgroundColor);
            if (a === 1) return [r, g, b];
        }
        return [255, 255, 255];
    };
    const found = [];
    for (const node of document.querySelectorAll("body *")) {
        const own = [...node.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
        if (!own || !node.checkVisibility() || node.closest(":disabled, .unseen, noscript, .skip")) continue;
        const style = getComputedStyle(node);
        const [one, other] = [rgb(node instanceof SVGElement ? style.fill : style.color), behind(node)].map(light);
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (contrast < 4.5) found.push(`${node.className} ${node.textContent.slice(0, 30)} ${contrast.toFixed(2)}`);
    }
    return found;
"""


def walk(browser: Browser, wanted: str) -> None:
    """Press Tab until something that is called so has the focus, which has to be seen."""
    for _ in range(60):
        browser.press(TAB)
        if browser.focused().startswith(wanted):
            outline = "const it = getComputedStyle(document.activeElement); return it.outlineStyle + it.outlineWidth"
            assert browser.run(outline) == "solid2px"
            return
    raise AssertionError(f"Tab never came to {wanted}")


def test_all_is_done_by_keys(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + FAST + "#/jobs")
    browser.one(".jobs a")
    walk(browser, "clicks per user")
    browser.press(ENTER)
    browser.one(".box")
    walk(browser, "Chain Interval join -> Ask prices")
    browser.press(ENTER)
    browser.one(".chain h2", "Interval join -> Ask prices")
    walk(browser, "Close the details")
    browser.press(ESCAPE)
    browser.until(lambda: not browser.all(".chain h2"), "no details")
    assert browser.focused().startswith("Chain Interval join")
    browser.run("document.querySelector('h1').tabIndex = -1; document.querySelector('h1').focus()")
    walk(browser, "Savepoint")
    browser.press(ENTER)
    browser.one("dialog h2", "Take a savepoint?")
    browser.press(ESCAPE)
    browser.until(lambda: not browser.all("dialog"), "no question")
    assert browser.focused() == "Savepoint"
    walk(browser, "Cancel")
    browser.press(ENTER)
    walk(browser, "Cancel the job")
    browser.press(ENTER)
    browser.until(lambda: driver.job.cancelled, "the end")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out(driver: Driver, browser: Browser, scheme: str) -> None:
    driver.write(40, "an error")
    driver.write(30, "a warning")
    browser.open(driver.address + JOB, prefers_color_scheme=scheme)
    for section in SECTIONS:
        browser.run(f"location.hash = '#/jobs/{views.JOB}/{section}'")
        browser.one(f'.sections a[aria-current][href$="{section}"]')
        browser.one(".place-of-section > *")
        assert browser.run(FAINT) == []
    browser.run(f"location.hash = '#/jobs/{views.JOB}/chains/{views.identity('Interval join')}'")
    browser.one(".chain h2")
    browser.click("button", "Stop")
    browser.one("dialog h2")
    assert browser.run(FAINT) == []
    bright = browser.run("return getComputedStyle(document.documentElement).backgroundColor")
    assert (bright == "rgb(14, 19, 26)") == (scheme == "dark")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_phone_shows_which_section_it_is_at(
    section: str, driver: Driver, browser: Browser
) -> None:
    browser.open(f"{driver.address}{JOB}/{section}", width=360, height=740)
    browser.one(".sections a")
    seen = """
        const at = document.querySelector(".sections [aria-current=page]").getBoundingClientRect();
        return at.left >= 0 && at.right <= innerWidth;
    """
    browser.until(lambda: browser.run(seen), "the name of the section")


def test_a_phone_has_nothing_beside_its_edge(driver: Driver, browser: Browser) -> None:
    driver.write(40, "word " * 100 + "x" * 300)
    browser.open(driver.address + JOB, width=360, height=740)
    wide = "return document.documentElement.scrollWidth"
    for section in (*SECTIONS, f"chains/{views.identity('Interval join')}"):
        browser.run(f"location.hash = '#/jobs/{views.JOB}/{section}'")
        browser.one(f'.sections a[aria-current][href$="{section.partition("/")[0]}"]')
        browser.one(".place-of-section > *")
        assert browser.run(wide) == 360
    browser.run(f"location.hash = '#/jobs/{views.JOB}'")
    box = browser.one(".box").rect
    assert box["width"] > 200
    assert box["x"] + box["width"] < 360
    # The page scrolls, and not the picture in it: the last chain is not cut off.
    tall = (
        "const it = document.querySelector('.picture'); return [it.scrollHeight, it.clientHeight]"
    )
    whole, seen = browser.run(tall)
    assert whole <= seen + 1


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_nothing_moves_for_whom_motion_is_too_much(
    driver: Driver, browser: Browser, motion: str
) -> None:
    browser.open(driver.address + JOB, prefers_reduced_motion=motion)
    browser.one(".box")
    moving = (
        "return document.getAnimations().filter((it) => it.effect.target.matches('.flow')).length"
    )
    assert browser.run(moving) == (0 if motion == "reduce" else 6)


def test_a_page_that_nobody_sees_asks_nothing(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + JOB)
    browser.one(".box")
    hide = """
        Object.defineProperty(document, "hidden", { value: Boolean(arguments[0]), configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    """
    pictures = iter(range(300, 10_000))
    asked: list[int] = []

    def now() -> Any:
        asked.append(next(pictures))
        return views.clicks(asked[-1])

    driver.job.now = now
    browser.until(lambda: len(asked) > 2, "requests")
    browser.run(hide, 1)
    wait = "const done = arguments[0]; setTimeout(done, 400)"
    browser.driver.execute_async_script(wait)
    before = len(asked)
    browser.driver.execute_async_script(wait)
    assert len(asked) == before
    browser.run(hide, 0)
    browser.until(lambda: len(asked) > before + 1, "requests again")


SHOW_OFTEN = """
    const [first, second, times, section, detail] = given;
    const page = it.job("x");
    document.body.append(page.node);
    page.go(section, detail);
    page.show(first, false);
    document.body.offsetHeight;
    const took = [];
    for (let number = 0; number < times; number += 1) {
        const view = number % 2 ? first : second;
        view.at += 1000;
        const last = { ...view.epochs.at(-1), number: number + 1000, started: view.at };
        view.epochs = first.epochs = second.epochs = [...first.epochs.slice(1), last];
        const begun = performance.now();
        page.show(view, false);
        document.body.offsetHeight;
        took.push(performance.now() - begun);
    }
    took.sort((one, other) => one - other);
    return [took[Math.floor(times / 2)], document.querySelectorAll("*").length];
"""


def test_fifty_operators_with_64_subtasks_each_are_shown_in_no_time(
    driver: Driver, browser: Browser, call: Callable[..., Any]
) -> None:
    one, other = (page_view(views.many(second)) for second in (300, 307))
    detail = one["vertices"][4]["vertex_id"]
    median, _ = call("job/job.js", SHOW_OFTEN, one, other, 40, "chains", detail)
    # It takes 14 ms where nothing else runs; a second is what it may not come near.
    assert median < 100


@pytest.mark.parametrize("section", ["chains", "epochs"])
def test_hours_of_pictures_leave_nothing_behind(
    driver: Driver, browser: Browser, call: Callable[..., Any], section: str
) -> None:
    pages = [page_view(views.clicks(second)) for second in (300, 333)]
    _, before = call("job/job.js", SHOW_OFTEN, *pages, 50, section)
    used = heap(browser)
    call("job/job.js", "document.querySelector('.job').remove()")
    _, after = call("job/job.js", SHOW_OFTEN, *pages, 400, section)
    assert after == before
    assert heap(browser) < used + 500_000


def heap(browser: Browser) -> float:
    browser.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    browser.driver.execute_cdp_cmd("Performance.enable", {})
    found = browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(each["value"] for each in found if each["name"] == "JSHeapUsedSize"))


def test_a_job_without_anything_yet_is_shown(driver: Driver, browser: Browser) -> None:
    from penstock.common.job_status import JobStatus
    from penstock.executors.driver.reports.job_view import JobView

    empty = JobView(views.JOB, "young", JobStatus.CREATED, "starting Spark", 1, 0)
    driver.job.now = lambda: empty
    browser.open(driver.address + JOB)
    browser.shows("Starts: starting Spark.")
    for section in SECTIONS:
        browser.run(f"location.hash = '#/jobs/{views.JOB}/{section}'")
        browser.one(f'.sections a[aria-current][href$="{section}"]')
    assert browser.complaints() == []


def test_a_chain_with_many_operators_stays_a_box(driver: Driver, browser: Browser) -> None:
    long = views.make_chain([f"Step {number}" for number in range(50)])
    driver.job.now = lambda: dataclasses.replace(views.clicks(), vertices=(long,))
    browser.open(driver.address + JOB)
    browser.shows("and 39 more")
    browser.click(".box")
    browser.one(".chain td", "Step 49")


WORDS = """
    const found = [...document.querySelectorAll(".how")].map((each) => each.getBoundingClientRect());
    const apart = (one, other) => one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top;
    return [found.length, found.every((one, at) => found.slice(at + 1).every((other) => apart(one, other)))];
"""


def test_the_words_of_edges_lie_on_no_others(driver: Driver, browser: Browser) -> None:
    source = views.make_chain(["Source: clicks"])
    branches = [views.make_chain([f"Branch {number}"], (source, "HASH")) for number in range(8)]
    driver.job.now = lambda: dataclasses.replace(views.clicks(), vertices=(source, *branches))
    browser.open(driver.address + JOB, width=390)
    browser.one(".box")
    assert browser.run(WORDS) == [8, True]


@pytest.mark.parametrize("width", [390, 1440])
def test_names_of_a_usual_length_are_not_cut(driver: Driver, browser: Browser, width: int) -> None:
    chain = views.make_chain(["Timestamps/Watermarks", "Source: second shop", "Sink: Nowhere"])
    driver.job.now = lambda: dataclasses.replace(views.clicks(), vertices=(chain,))
    browser.open(driver.address + JOB, width=width)
    browser.one(".box")
    cut = """
        const isCut = (it) => it.scrollWidth > it.clientWidth || it.scrollHeight > it.clientHeight + 1;
        return [...document.querySelectorAll(".operator .name")].filter(isCut).map((it) => it.textContent);
    """
    assert browser.run(cut) == []


def test_the_usual_names_take_one_line(driver: Driver, browser: Browser) -> None:
    chain = views.make_chain(["Timestamps/Watermarks", "Source: second shop", "Step"])
    operators = tuple(dataclasses.replace(operator, busy=None) for operator in chain.operators)
    chain = dataclasses.replace(chain, operators=operators)
    driver.job.now = lambda: dataclasses.replace(views.clicks(), vertices=(chain,))
    browser.open(driver.address + JOB)
    browser.one(".box")
    heights = (
        "return [...document.querySelectorAll('.operator .name')].map((it) => it.clientHeight)"
    )
    *_, first, second, step = browser.run(heights)
    assert first == second == step


def test_figures_that_do_not_fill_their_rows_leave_no_hole(
    driver: Driver, browser: Browser
) -> None:
    browser.open(driver.address + JOB, width=720)
    browser.one(".tile")
    ground = "return ['.tiles', '.tile'].map((it) => getComputedStyle(document.querySelector(it)).backgroundColor)"
    tiles, tile = browser.run(ground)
    assert tiles == tile


def test_a_name_that_turns_letters_round_turns_no_others(driver: Driver, browser: Browser) -> None:
    driver.job.now = lambda: dataclasses.replace(views.clicks(), name="clicks \u202e<b> \u2067end")
    browser.open(driver.address + JOB)
    assert browser.one("h1").text == "clicks <b> end"


def test_figures_are_those_of_the_sentences(driver: Driver, browser: Browser) -> None:
    job = views.clicks()
    job = dataclasses.replace(
        job, epochs_completed=19_724, watermark=job.at - 3_560, watermark_lag=3_560
    )
    driver.job.now = lambda: job
    browser.open(driver.address + JOB)
    browser.one(".tile", "19,724")
    browser.one(".tile", "3.6 s")
    browser.shows("Event time is 3.6 s behind the clock.")


def test_lengths_of_time_are_said_as_by_the_driver(call: Callable[..., Any]) -> None:
    lengths = [1000, 1049, 1050, 3_560, 9_949, 9_950, 12_300, 59_499, 59_500, 200_000, 3_599_900]
    lengths += [3_600_000, 93_600_000]
    said = call("format.js", "return given[0].map(it.duration)", lengths)
    assert said == [span_text(millis) for millis in lengths]


def test_of_a_failed_epoch_nothing_is_said_that_is_not_known(
    driver: Driver, browser: Browser
) -> None:
    browser.open(driver.address + JOB + "/epochs")
    browser.one(".place-of-section select").send_keys("Those that failed")
    row = browser.one("tbody tr", "failed: KeyError: 'article-77'")
    assert row.text.count("\u2013") == 3
