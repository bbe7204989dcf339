from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import pytest
from benchmarks.nexmark.answers import Record, wanted
from benchmarks.nexmark.events import Nexmark
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark_queries import EVENTS, QUICK, Scale, Sides, _whole, check, modes_of

CHECKED = 4_000


class Answers:
    """Sides that all give what SQL finds, but for one."""

    def __init__(self, wrong: str = "") -> None:
        self._wrong = wrong

    def penstock_gives(self, query: str, nexmark: Nexmark) -> Iterable[Record]:
        return self._give("penstock", query, nexmark)

    def flink_gives(self, mode: str, query: str, nexmark: Nexmark) -> Iterable[Record]:
        return self._give(mode, query, nexmark)

    def _give(self, side: str, query: str, nexmark: Nexmark) -> Iterable[Record]:
        *results, last = wanted(query, nexmark)
        return results if side == self._wrong else [last, *results]


def sides(**arguments: Any) -> Sides:
    return cast("Sides", Answers(**arguments))


def test_right_results_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("q2", sides(), CHECKED) == ["thread", "process"]
    assert "penstock, PyFlink in thread mode, PyFlink in process mode" in capsys.readouterr().out


def test_other_results_of_penstock_end_the_run() -> None:
    with pytest.raises(SystemExit, match=r"of penstock for q2: 0 that .* 1 are miss"):
        check("q2", sides(wrong="penstock"), CHECKED)


def test_a_mode_with_other_results_is_named_and_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert check("q2", sides(wrong="process"), CHECKED) == ["thread"]
    assert "Wrong results of PyFlink in process mode" in capsys.readouterr().out


def test_a_query_without_a_peer_ends_the_run() -> None:
    with pytest.raises(SystemExit, match="no peer for q13"):
        check("q13", sides(wrong="process"), CHECKED)


def test_every_query_has_its_numbers_of_events() -> None:
    assert list(EVENTS) == list(QUERIES)
    for scale in (Scale(), QUICK):
        Nexmark(scale.checked)
        for both in EVENTS.values():
            for events in both:
                Nexmark(_whole(scale.share * events))


def test_a_number_of_events_is_rounded_up() -> None:
    assert [_whole(events) for events in (1, 2_000, 2_001.5)] == [2_000, 2_000, 4_000]


def test_asynchronous_calls_are_for_process_mode_alone() -> None:
    assert {query for query in QUERIES if modes_of(query) != ["thread", "process"]} == {"q13"}
    assert modes_of("q13") == ["process"]
