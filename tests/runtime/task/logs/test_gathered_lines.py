"""Of many lines the first and the last are kept, and the others are counted."""

from __future__ import annotations

import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.task.logs.lines import PLACE, line_of, record_of

from penstock.runtime.task.logs.gathered_lines import GatheredLines
from penstock.runtime.task.logs.log_line import WaitingLine


@given(st.integers(1, 60), st.lists(st.sampled_from(["a", "b"]), max_size=120))
def test_every_line_is_shown_or_counted(most: int, names: list[str]) -> None:
    gathered = GatheredLines(most)
    for number, name in enumerate(names):
        gathered.add(line_of(str(number), name=name))
    texts = [line.attributes["msg"] for line in gathered.all()]
    shown = [int(text) for text in texts if text.isdigit()]
    counted = sum(
        int(found[1]) for text in texts if (found := re.match(r"… and (\d+) more line", text))
    )
    assert len(shown) <= most
    assert len(shown) + counted == len(names)
    first, last = most - most // 10, most // 10
    if len(names) <= first:
        assert texts == [str(number) for number in range(len(names))]
    elif last:
        assert shown[-1] == len(names) - 1
    assert shown == sorted(shown)


def test_those_left_out_have_the_level_of_the_worst() -> None:
    gathered = GatheredLines(1)
    gathered.add(line_of("first"))
    for level in (logging.INFO, logging.ERROR, logging.INFO):
        gathered.add(line_of("more", level=level))
    _, counted = gathered.all()
    assert counted.attributes["msg"] == "… and 3 more lines of the logger 'shop'"
    assert counted.level == logging.ERROR


def test_long_lines_are_fewer() -> None:
    gathered = GatheredLines(10, most_characters=100)
    for _ in range(10):
        gathered.add(line_of("x" * 60))
    assert [line.attributes["msg"][:5] for line in gathered.all()] == [
        "xxxxx",
        "xxxxx",
        "… and",
        "xxxxx",
    ]


def test_of_a_flood_only_what_is_shown_is_formatted() -> None:
    formatted: list[str] = []

    class Record(logging.LogRecord):
        def getMessage(self) -> str:  # noqa: N802 - it is logging's name
            formatted.append(super().getMessage())
            return formatted[-1]

    gathered = GatheredLines(20)
    for number in range(1_000):
        record = Record("shop", logging.INFO, "shop.py", 3, "line %d", (number,), None)
        assert WaitingLine.can_wait(record)
        gathered.add(WaitingLine(record, PLACE))
    made = gathered.all()
    assert len(made) == 21
    assert [line.attributes["args"] for line in made[-2:]] == [(998,), (999,)]
    assert str(made[-1]).endswith("INFO shop: [clean (2/4), epoch 7] line 999")
    assert len(formatted) <= 21


@pytest.mark.parametrize(
    "record",
    [
        record_of("%s", [1]),
        record_of(ValueError("x")),
        record_of("x" * 2_000),
        record_of("%s", "x" * 2_000),
        record_of("x", user="me"),
        record_of("x", exc_info=(ValueError, ValueError(), None)),
    ],
    ids=["object", "no text", "long", "long argument", "extra", "exception"],
)
def test_what_may_change_or_is_long_is_made_at_once(record: logging.LogRecord) -> None:
    assert not WaitingLine.can_wait(record)


@given(st.lists(st.integers(0, 30), max_size=60))
def test_the_order_of_times_is_that_of_the_lines(names: list[int]) -> None:
    gathered = GatheredLines(10)
    for number, name in enumerate(names):
        line = line_of(str(number), name=f"logger{name % 2}")
        line.attributes["created"] = float(number)
        gathered.add(line)
    times = [line.created for line in gathered.all()]
    assert times == sorted(times)
