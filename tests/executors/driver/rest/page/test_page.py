from __future__ import annotations

import dataclasses
import logging
from typing import Any

import pytest
from tests.executors.driver.rest.page import views
from tests.executors.driver.rest.page.browser import Browser
from tests.executors.driver.rest.page.driver import SAVEPOINT, Driver, MovingJob

from penstock.errors import SavepointError
from penstock.executors.driver.rest.exchange import Answer
from penstock.executors.driver.rest.shared_views import SharedViews

pytestmark = pytest.mark.browser

FAST = "?every=100"
JOB = f"{FAST}#/jobs/{views.JOB}"
JOINED = views.identity("Interval join")


def test_a_job_is_opened_from_the_list(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + FAST + "#/jobs")
    browser.click(".jobs a", "clicks per user")
    assert browser.one("h1").text == "clicks per user"
    browser.one(".status", "RUNNING")
    assert len(browser.all(".box")) == 6
    assert browser.driver.title == "clicks per user · penstock"
    assert browser.complaints() == []


def test_the_only_job_is_shown_at_once_and_the_list_on_demand(
    driver: Driver, browser: Browser
) -> None:
    browser.open(driver.address + FAST)
    browser.one("h1", "clicks per user")
    browser.click(".brand")
    browser.one(".jobs a", "clicks per user")


def test_says_what_the_job_does_how_far_it_is_behind_and_why(
    driver: Driver, browser: Browser
) -> None:
    browser.open(driver.address + JOB)
    browser.shows("records/s from clicks and orders, through 12 operators in 6 chains")
    browser.shows("3 min 12 s behind the clock")
    browser.shows("orders holds the watermark back")
    browser.shows("Interval join -> Ask prices is at its limit: it is busy 98% of the time")
    browser.shows("1,204 records dropped as late, 3 records failed and passed over")


def test_a_chain_is_opened_and_closed(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + JOB)
    browser.click(f'[data-vertex="{JOINED}"] .box')
    browser.one(".chain h2", "Interval join -> Ask prices")
    assert len(browser.all('.chain [aria-label="Subtasks of the chain"] tbody tr')) == 4
    assert browser.focused() == "Interval join -> Ask prices"
    browser.press("\ue00c")  # Escape
    browser.until(lambda: not browser.all(".chain h2"), "no details")
    assert browser.focused().startswith("Chain Interval join -> Ask prices, 4 subtasks")


def test_figures_move_and_elements_stay(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + JOB)
    browser.one(".box")
    browser.run("window.before = document.querySelector('.box'); window.before.focus()")
    seen = browser.one(".phase").text
    browser.until(lambda: browser.one(".phase").text != seen, "another time")
    assert browser.run("return window.before === document.activeElement")


def test_every_section_shows_its_part(driver: Driver, browser: Browser) -> None:
    driver.write(logging.INFO, "begun")
    browser.open(driver.address + JOB)
    shown = {
        "Epochs": "failed: KeyError: 'article-77'",
        "State": "s3://bank/checkpoints/clicks",
        "Records": "its window ended 12 s before the watermark",
        "Exceptions": "price = prices[click.article]",
        "Configuration": "state.backend.type",
        "Log": "begun",
        "Chains": "Ask prices",
    }
    for section, text in shown.items():
        browser.click(".sections a", section)
        browser.shows(text)
    assert browser.complaints() == []


def test_an_epoch_that_failed_is_found_among_the_others(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + JOB + "/epochs")
    rows = '[aria-label="Epochs, the last first"] tbody tr'
    browser.until(lambda: len(browser.all(rows)) == 100, "all")
    for kind, words in (("failed", "failed: KeyError"), ("saved", "savepoint")):
        browser.click("select[name=kind]")
        browser.click(f"option[value={kind}]")
        browser.until(lambda: len(browser.all(rows)) < 3, "fewer")
        assert all(words in row.text for row in browser.all(rows))
    assert "5 more failed, the last one 2" in browser.text()


def test_without_a_watermark_it_is_said_whose_is_missing(driver: Driver, browser: Browser) -> None:
    driver.job.now = lambda: dataclasses.replace(
        views.clicks(), watermark=None, watermark_lag=None, holding_back=("Source: orders (2/4)",)
    )
    browser.open(driver.address + JOB)
    browser.one(".tile", "none yet: orders (2/4) has sent none")


def test_busy_and_back_pressured_shares_are_said_in_words(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + JOB)
    box = browser.one(f'[data-vertex="{views.identity("Source: clicks")}"]')
    assert "busy 35% · back-pressured 45%" in box.text
    assert box.text.split("\n")[:3] == ["Operator", "records/s", "lag"]


def test_a_driver_that_ends_before_it_tells_of_a_savepoint_is_said(
    driver: Driver, browser: Browser
) -> None:
    driver.job.may_write.clear()
    browser.open(driver.address + JOB)
    browser.click("button", "Stop")
    browser.click("dialog button", "Stop the job")
    browser.one(".notice", "Stopping with a savepoint")
    driver.stop()
    browser.shows("No answer: the driver is gone")
    browser.shows("A savepoint that was written is in s3://bank/savepoints.")
    driver.job.may_write.set()


def test_configuration_is_filtered(driver: Driver, browser: Browser) -> None:
    browser.open(f"{driver.address}{JOB}/configuration")
    browser.one("input[name=filter]").send_keys("ROCKS")
    browser.shows("1 of 6 settings")
    assert [each.text for each in browser.all("td.key")] == ["state.backend.type"]


def test_the_log_is_filtered_by_level_and_by_text(driver: Driver, browser: Browser) -> None:
    levels = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
    for number in range(40):
        driver.write(levels[number % 4], f"line {number + 1}")
    browser.open(f"{driver.address}{JOB}/log")
    browser.shows("40 of 40 lines")
    browser.one("select[name=level]").send_keys("WARN")
    browser.shows("20 of 40 lines")
    browser.one("input[name=text]").send_keys("line 4")
    browser.shows("2 of 40 lines")
    driver.write(logging.ERROR, "line 41 is new")
    browser.shows("line 41 is new")
    assert "Ask prices (3) epoch 7" in browser.one(".lines").text


def test_a_savepoint_is_asked_for(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + JOB)
    browser.click("button", "Savepoint")
    browser.one("dialog input[name=directory]").send_keys("s3://bank/before")
    browser.click("dialog button", "Take a savepoint")
    browser.shows("Savepoint written: s3://bank/before/savepoint-1")
    asked = {"directory": "s3://bank/before", "stops": False, "ends_event_time": False}
    assert driver.job.savepoints == [asked]


def test_a_savepoint_needs_a_directory_where_none_is_configured(
    driver: Driver, browser: Browser
) -> None:
    driver.job.now = lambda: dataclasses.replace(views.clicks(), configuration={})
    browser.open(driver.address + JOB)
    browser.click("button", "Stop")
    browser.click("dialog button", "Stop the job")
    assert browser.run("return document.querySelector('dialog input:invalid').name") == "directory"
    assert browser.all("dialog")
    assert driver.job.savepoints == []


def test_a_savepoint_that_failed_says_why(driver: Driver, browser: Browser) -> None:
    driver.job.failure = SavepointError("There is no room.")
    browser.open(driver.address + JOB)
    browser.click("button", "Savepoint")
    browser.click("dialog button", "Take a savepoint")
    browser.shows("The savepoint failed: There is no room.")


@pytest.mark.parametrize("drain", [False, True])
def test_the_job_is_stopped(driver: Driver, browser: Browser, drain: bool) -> None:
    browser.open(driver.address + JOB)
    browser.click("button", "Stop")
    if drain:
        browser.click("dialog input[name=drain]")
    browser.click("dialog button", "Stop the job")
    browser.shows(f"Stopped, with a savepoint: {SAVEPOINT}")
    asked = {"directory": None, "stops": True, "ends_event_time": drain}
    assert driver.job.savepoints == [asked]


def test_the_job_is_cancelled_only_if_that_is_meant(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + JOB)
    browser.click("button", "Cancel")
    assert browser.focused() == "Let it run"
    browser.click("dialog button", "Let it run")
    browser.until(lambda: not browser.all("dialog"), "no question")
    assert not driver.job.cancelled
    browser.click("button", "Cancel")
    browser.click("dialog button", "Cancel the job")
    browser.shows("clicks per user is being cancelled")
    assert driver.job.cancelled


def test_a_script_in_a_record_is_shown_as_text(driver: Driver, browser: Browser) -> None:
    driver.job.now = views.attacked
    driver.write(logging.ERROR, views.ATTACK)
    browser.open(driver.address + FAST + "#/jobs")
    browser.click(".jobs a")
    for section in ("epochs", "state", "records", "exceptions", "configuration", "log", "chains"):
        browser.run(f"location.hash = '#/jobs/{views.JOB}/{section}'")
        browser.one(f'.sections a[aria-current][href$="{section}"]')
        browser.shows("<script>document.title='taken'</script>")
        assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
    assert browser.driver.title == f"{views.ATTACK} · penstock"
    assert browser.run("return document.querySelector('a[href^=javascript]')") is None
    assert browser.complaints() == []


def test_a_token_is_asked_for_and_kept(driver: Driver, browser: Browser) -> None:
    driver.stop()
    driver.token = "river"
    driver.start()
    browser.open(driver.address + JOB)
    for attempt in ("lake", "river"):
        browser.one("dialog.token input").send_keys(attempt)
        browser.click("dialog button", "Go on")
        if attempt == "lake":
            browser.shows("It refused that one.")
    browser.shows("orders holds the watermark back")
    browser.driver.refresh()
    browser.shows("orders holds the watermark back")
    assert browser.all("dialog") == []


def test_says_that_the_driver_is_gone_and_returns_with_it(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + JOB)
    browser.shows("orders holds the watermark back")
    driver.stop()
    browser.shows("The driver has not answered since")
    assert "orders holds the watermark back" in browser.text()
    assert "grayscale" in browser.run(
        "return getComputedStyle(document.querySelector('main')).filter"
    )
    assert not browser.one("button", "Savepoint").is_enabled()
    driver.start()
    browser.one(".pulse.live")
    assert browser.one("button", "Savepoint").is_enabled()
    assert browser.run("return document.getElementById('gone').hidden")


def test_a_driver_that_was_started_anew_has_other_jobs(driver: Driver, browser: Browser) -> None:
    browser.open(driver.address + JOB)
    browser.one(".box")
    driver.job = MovingJob(
        lambda: dataclasses.replace(views.clicks(), job_id="b2" * 16, name="another")
    )
    browser.click("#gone a", "See the jobs that it has")
    browser.one(".jobs a", "another")
    browser.until(lambda: not browser.all("body.gone"), "colours")


def test_what_the_browser_has_already_is_not_sent_again(
    driver: Driver, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []
    answer = SharedViews.answer

    def noted(views: SharedViews, *arguments: Any) -> Answer:
        answers.append(answer(views, *arguments))
        return answers[-1]

    monkeypatch.setattr(SharedViews, "answer", noted)
    shown = views.clicks(300)
    monkeypatch.setattr(driver.job, "now", lambda: shown)
    browser.open(driver.address + JOB)
    browser.until(lambda: [one.status for one in answers[:3]] == [200, 304, 304], "304 twice")
    browser.shows("12 operators in 6 chains")
    assert browser.complaints() == []
