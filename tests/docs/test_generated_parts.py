"""What scripts write into the pages is what they would write now."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scripts import configuration_table, house_map, parity_table
from scripts.generated_part import GeneratedPart


@pytest.mark.parametrize(
    ("part", "text", "script"),
    [
        (configuration_table.PLACE, configuration_table.tables, "configuration_table"),
        (house_map.PLACE, house_map.table, "house_map"),
        (parity_table.PLACE, parity_table.tables, "parity_table"),
    ],
    ids=["configuration", "house", "parity"],
)
def test_is_up_to_date(part: GeneratedPart, text: Callable[[], str], script: str) -> None:
    assert part.read() == text(), f"run `python -m scripts.{script}`, and commit the page"
