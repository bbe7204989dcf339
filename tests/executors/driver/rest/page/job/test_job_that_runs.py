"""The page of jobs that really run: in this process, and in one that ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.executors.driver.rest.page.browser import Browser
from tests.executors.scripted import Script, ScriptedSource

from penstock.common import Configuration, JobStatus, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import JobCancelledError
from penstock.executors.driver.rest.serving import SERVING
from penstock.testing import local_environment

pytestmark = pytest.mark.browser

SECONDS = 60
ROOT = Path(__file__).parents[6]


@pytest.fixture
def env(tmp_path: Path) -> Iterator[StreamExecutionEnvironment]:
    SERVING.close()
    env = local_environment(2)
    settings = {
        "rest.port": "0",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "1 h",
        "bank.password": "river",
    }
    env.configure(Configuration.from_dict(settings))
    yield env
    SERVING.close()


def numbers(env: StreamExecutionEnvironment, name: str) -> DataStream:
    """Return the numbers from 1 to 3, after which more may come."""
    source = ScriptedSource(name, Script([[1, 2, 3]], ends=False))
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def page_of(job_id: object) -> str:
    assert SERVING.address is not None
    return f"{SERVING.address}/?every=100#/jobs/{job_id}"


def savepoint_by_button(browser: Browser, button: str, action: str, folder: Path) -> Path:
    """Click, say where to, and return the place that the page tells."""
    browser.click("button", button)
    browser.one("dialog input[name=directory]").send_keys(str(folder))
    browser.click("dialog button", action)
    return Path(browser.one(".notice.good", str(folder)).text.split(": ")[1].split("\n")[0])


def walk_through(browser: Browser, location: Path) -> None:
    """Click through the sections, each of which shows its part of the job."""
    browser.click(".sections a", "Epochs")
    browser.one('[aria-label="Epochs, the last first"] tbody td', "0")
    browser.click(".sections a", "State")
    browser.one(".facts dd", str(location))
    browser.click(".sections a", "Records")
    browser.one("h3", "Late records:")
    browser.click(".sections a", "Exceptions")
    browser.shows("None so far.")
    browser.click(".sections a", "Configuration")
    browser.one("td.key", "execution.checkpointing.dir")
    browser.click(".sections a", "Log")
    browser.one(".log")
    browser.click(".sections a", "Chains")


def test_a_job_is_looked_at_saved_and_stopped(
    env: StreamExecutionEnvironment,
    browser: Browser,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    totals = numbers(env, request.node.name).key_by(lambda number: 0).sum().name("Total")
    totals.add_sink(lambda total: None).name("Nowhere")
    job = env.execute_async("totals")
    browser.open(page_of(job.get_job_id()))

    browser.one("h1", "totals")
    browser.one(".tile", "3 in all")
    browser.one(".box", "Total")
    walk_through(browser, tmp_path / "checkpoints")
    browser.click(".sections a", "Configuration")
    assert "river" not in browser.text()

    saved = savepoint_by_button(browser, "Savepoint", "Take a savepoint", tmp_path / "first")
    assert any(saved.rglob("*"))
    browser.click(".sections a", "State")
    browser.one('[aria-label="Savepoints"] td', str(saved))
    browser.one(".status", "RUNNING")

    stopped = savepoint_by_button(browser, "Stop", "Stop the job", tmp_path / "last")
    browser.one(".status", "FINISHED")
    browser.one(".phase", "stopped")
    browser.shows(f"It can go on from its savepoint: {stopped}")
    browser.one(".tile", "Records/s\n0")
    assert any(stopped.rglob("*"))
    job.get_job_execution_result().result()
    assert not browser.one("button", "Savepoint").is_enabled()
    assert browser.complaints() == []


def test_a_job_that_fails_shows_why_and_that_it_does_nothing(
    env: StreamExecutionEnvironment, browser: Browser, request: pytest.FixtureRequest
) -> None:
    def odd(number: int) -> int:
        if number == 3:
            raise ValueError(f"odd {number}")
        return number

    numbers(env, request.node.name).map(odd).name("Odd").add_sink(lambda number: None)
    job = env.execute_async("odd numbers")
    browser.open(page_of(job.get_job_id()))
    browser.one(".status", "RESTARTING")
    browser.one(".tile", "Records/s\n0")
    browser.shows("Epoch 0 failed in Odd: ValueError: odd 3.")
    browser.one(".tile", "1 more failed, the last one 0")
    browser.click(".sentences .bad a")
    browser.one(".exceptions pre", "raise ValueError")
    browser.one(".exceptions .record", "3")
    browser.click(".sections a", "Epochs")
    browser.one("select[name=kind]")
    browser.run(
        "const it = document.querySelector('select[name=kind]'); it.value = 'failed';"
        "it.dispatchEvent(new Event('change'))"
    )
    assert len(browser.all('[aria-label="Epochs, the last first"] tbody tr')) == 1
    browser.click("button", "Cancel")
    browser.click("dialog button", "Cancel the job")
    browser.one(".status", "CANCELED")
    with pytest.raises(JobCancelledError):
        job.get_job_execution_result().result()
    assert job.get_job_status().result() is JobStatus.CANCELED


def test_the_end_of_a_program_is_no_failure_of_its_driver(browser: Browser, tmp_path: Path) -> None:
    module = "tests.executors.driver.rest.watched_program"
    program = subprocess.Popen([sys.executable, "-m", module, "end", str(tmp_path)], cwd=ROOT)
    try:
        address = tmp_path / "address"
        browser.until(address.exists, "an address")
        browser.open(address.read_text() + "/?every=100")
        # It is the only job, so its page is the first.
        browser.one("h1", "watched")
        browser.one(".status", "RUNNING")
        (tmp_path / "end").touch()
        browser.one(".status", "FINISHED")
        browser.shows("Finished after")
        browser.shows("The job has ended, and the program that ran it does not answer any more.")
        browser.one("#pulse", "ended")
        assert not browser.all("body.gone")
        assert program.wait(SECONDS) == 0
    finally:
        program.kill()
        program.wait()
