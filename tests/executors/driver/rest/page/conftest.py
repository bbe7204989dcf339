from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.executors.driver.rest.page import views
from tests.executors.driver.rest.page.browser import Browser, need
from tests.executors.driver.rest.page.driver import Driver

from penstock.executors.driver.reports.recent_log import RecentLog
from penstock.executors.driver.rest import routes


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
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """A driver with one job, of which each picture is a second later."""
    log = RecentLog()
    monkeypatch.setattr(routes, "RECENT_LOG", log)
    seconds = itertools.count(300)
    driver = Driver(lambda: views.clicks(next(seconds)), log)
    driver.start()
    yield driver
    driver.stop()


@pytest.fixture
def call(driver: Driver, browser: Browser) -> Callable[..., Any]:
    """Calls code with the modules of the page at hand, and returns what it returns."""
    browser.open(driver.address + "?every=3600000#/jobs")

    def called(module: str, code: str, *arguments: Any) -> Any:
        script = f"""
            const done = arguments[arguments.length - 1];
            import(new URL("{module}", document.baseURI))
                .then((it) => (async (...given) => {{ {code} }})(...arguments))
                .then((found) => done([found ?? null]), (error) => done(error.stack));
        """
        found = browser.driver.execute_async_script(script, *arguments)
        assert isinstance(found, list), found
        return found[0]

    return called
