"""Photographs the page of a running job for its docs: `python -m scripts.page_pictures`.

The job is that of `examples/watched_shop.py`, on Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.executors.driver.rest.page.browser import Browser
from tests.executors.driver.rest.page.shop import running_shop

_IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
_SECONDS: Final = 120.0


def main() -> None:
    with TemporaryDirectory() as folder, running_shop(Path(folder)) as (address, _):
        browser = Browser()
        try:
            browser.open(f"{address}/?every=500")
            # Until then it has forgotten how it began.
            browser.shows("up 1 min", _SECONDS)
            browser.shows("Lost so far", _SECONDS)
            for scheme in ("light", "dark"):
                browser.open(f"{address}/?every=500", height=780, prefers_color_scheme=scheme)
                browser.one(".box .operator", "Rate the user")
                # Its sparkline needs a few figures.
                browser.until(_drawn(browser), "a line")
                browser.driver.save_screenshot(str(_IMAGES / f"page-{scheme}.png"))
        finally:
            browser.quit()


def _drawn(browser: Browser) -> Callable[[], bool]:
    points = (
        "return document.querySelector('.spark polyline').getAttribute('points').split(' ').length"
    )
    return lambda: browser.run(points) > 8


if __name__ == "__main__":
    main()
