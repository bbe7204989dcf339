from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from tests.executors.driver.rest.page import views
from tests.executors.driver.rest.page.browser import Browser, need
from tests.executors.driver.rest.page.fake_driver import FakeDriver


@pytest.fixture(scope="session")
def running_browser() -> Iterator[Browser]:
    need()
    browser = Browser()
    yield browser
    browser.quit()


@pytest.fixture
def browser(running_browser: Browser) -> Iterator[Browser]:
    """The browser, which forgets what the test before left in it."""
    yield running_browser
    running_browser.driver.get("about:blank")


@pytest.fixture
def driver() -> Iterator[FakeDriver]:
    """A driver with one job, of which each picture is a second later."""
    driver = FakeDriver()
    seconds = itertools.count(300)
    driver.views[views.JOB] = lambda: views.clicks(next(seconds))
    driver.start()
    yield driver
    driver.stop()
