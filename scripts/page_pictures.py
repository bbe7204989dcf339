"""Photographs the page of a running job for its docs: `python -m scripts.page_pictures`.

Server, page and browser are real; the job is the made-up one of the page's tests, so that all is to be seen.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

from tests.executors.driver.rest.page import views
from tests.executors.driver.rest.page.browser import Browser
from tests.executors.driver.rest.page.driver import Driver

from penstock.executors.driver.reports.recent_log import RecentLog

_IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    seconds = itertools.count(300)
    driver = Driver(lambda: views.clicks(next(seconds)), RecentLog())
    driver.start()
    browser = Browser()
    try:
        for scheme in ("light", "dark"):
            address = f"{driver.address}?every=100#/jobs/{views.JOB}"
            browser.open(address, height=780, prefers_color_scheme=scheme)
            browser.one(".box", "Interval join")
            browser.driver.save_screenshot(str(_IMAGES / f"page-{scheme}.png"))
    finally:
        browser.quit()
        driver.stop()


if __name__ == "__main__":
    main()
