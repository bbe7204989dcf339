"""The page of a job on Spark: an example, which runs as a program of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.executors.driver.rest.page.browser import Browser
from tests.executors.driver.rest.page.job.test_job_that_runs import (
    SECONDS,
    savepoint_by_button,
    walk_through,
)
from tests.executors.driver.rest.page.shop import running_shop

pytestmark = [pytest.mark.browser, pytest.mark.spark]

FLOWS = "return document.getAnimations().filter((it) => it.effect.target.matches('.flow')).length"


def test_a_job_on_spark_moves_and_is_stopped(browser: Browser, tmp_path: Path) -> None:
    with running_shop(tmp_path) as (address, program):
        browser.open(f"{address}/?every=500")
        browser.shows("records/s from clicks and orders", SECONDS)
        browser.one(".box .operator", "Count per user")
        browser.until(lambda: browser.run(FLOWS) >= 2, "what flows")
        browser.until(lambda: "busy 0%" not in browser.one(".box", "Rate the user").text, "work")
        assert re.search(r"busy \d+%", browser.one(".box", "Rate the user").text)
        walk_through(browser, tmp_path / "checkpoints")
        saved = savepoint_by_button(browser, "Savepoint", "Take a savepoint", tmp_path / "first")
        assert any(saved.rglob("*"))
        stopped = savepoint_by_button(browser, "Stop", "Stop the job", tmp_path / "last")
        browser.shows(f"It can go on from its savepoint: {stopped}")
        assert any(stopped.rglob("*"))
        assert program.wait(SECONDS) == 0
