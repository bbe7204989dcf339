"""What scripts write into the pages is what they would write now."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scripts import configuration_table, first_page, house_map, parity_table
from scripts.generated_part import GeneratedPart

from penstock.common.configuration.flink_keys import flink_keys
from penstock.common.configuration.options import OPTIONS_BY_EVERY_KEY


@pytest.mark.parametrize(
    ("part", "text", "script"),
    [
        (configuration_table.PLACE, configuration_table.tables, "configuration_table"),
        (configuration_table.FLINK_KEYS, configuration_table.flink_tables, "configuration_table"),
        (house_map.PLACE, house_map.table, "house_map"),
        (parity_table.PLACE, parity_table.tables, "parity_table"),
    ],
    ids=["configuration", "flink-keys", "house", "parity"],
)
def test_is_up_to_date(part: GeneratedPart, text: Callable[[], str], script: str) -> None:
    assert part.read() == text(), f"run `python -m scripts.{script}`, and commit the page"


def test_the_pictures_of_the_first_page_are_up_to_date() -> None:
    how = "run `python -m scripts.first_page`, and commit the pictures"
    assert first_page.CHAINS.read_text(encoding="utf-8") == first_page.chains(), how
    assert first_page.SPEED.read_text(encoding="utf-8") == first_page.speed(), how


def test_a_key_that_is_an_option_is_not_listed_among_those_that_change_nothing() -> None:
    names = {name for key in flink_keys().keys for name in (key.key, *key.older)}

    found = sorted(names & OPTIONS_BY_EVERY_KEY.keys())
    assert not found, "take their lines out of src/penstock/common/configuration/flink_keys.txt"
