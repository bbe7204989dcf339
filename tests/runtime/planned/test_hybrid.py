from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.executors.scripted import Script, ScriptedSource

from penstock.datastream.connectors.file_system import StreamFormat
from penstock.errors import CheckpointMismatchError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.files import FilesSource
from penstock.runtime.planned.hybrid import OwnEpochs, SourceAfterSource
from penstock.runtime.planned.planned_source import PlannedSource
from penstock.runtime.source import NativeSource, NumberRangeSource


def planned(source: PlannedSource, state: Any = None) -> tuple[list[int], Any, bool]:
    """Return the records of the next plan, its state as a checkpoint keeps it, and whether it is over."""
    plan = source.planner().plan(state, 2)
    blocks = [block for piece in plan.pieces for block in source.read(piece.content)]
    values = [value for block in blocks if isinstance(block, Block) for value in block.values]
    return values, json.loads(json.dumps(plan.state)), plan.is_over


def scripted(name: str, *epochs: list[list[int]], ends: bool = True) -> ScriptedSource:
    return ScriptedSource(name, Script(*epochs, ends=ends))


def test_each_source_begins_when_the_one_before_has_ended() -> None:
    source = SourceAfterSource(
        [
            scripted("1", [[1], [2]], [[3]]),
            scripted("2"),
            NumberRangeSource(4, 6),
            scripted("3", [[7]], ends=False),
        ]
    )

    found: list[Any] = []
    state = None
    for _ in range(5):
        records, state, is_over = planned(source, state)
        found.append(records)

    assert (found, is_over) == ([[1, 2], [3], [4, 5, 6], [7], []], False)
    assert (source.is_bounded, source.has_epochs) == (False, True)


def test_it_ends_with_the_last_source() -> None:
    source = SourceAfterSource([NumberRangeSource(1, 2), NumberRangeSource(3, 3)])

    first = planned(source)
    second = planned(source, first[1])

    assert (first[0], first[2]) == ([1, 2], False)
    assert (second[0], second[2]) == ([3], True)
    assert source.is_bounded


def test_sources_that_were_read_have_to_stay() -> None:
    state = planned(SourceAfterSource([NumberRangeSource(1, 1), NumberRangeSource(2, 2)]))[1]

    first = NumberRangeSource(1, 1)
    others: list[list[PlannedSource | NativeSource]] = [[first], [first, scripted("other", [[1]])]]
    for sources in others:
        with pytest.raises(CheckpointMismatchError, match="its source number 2"):
            planned(SourceAfterSource(sources), state)


def test_its_planners_are_closed() -> None:
    scripts = [Script([[1]]), Script([[2]])]
    names = ["first", "second"]
    source = SourceAfterSource(list(map(ScriptedSource, names, scripts)))
    planner = source.planner()
    plan = planner.plan(None, 1)
    assert not plan.is_over
    planner.plan(plan.state, 1)
    planner.close()

    assert [script.is_closed for script in scripts] == [True, True]


def test_a_source_that_has_ended_hears_how_far_it_was_read_and_is_closed() -> None:
    scripts = [Script([[1]], [[2]]), Script(), Script([[3]], ends=False)]
    source = SourceAfterSource(list(map(ScriptedSource, ("first", "none", "last"), scripts)))
    planner = source.planner()
    state = None
    for _ in range(3):
        plan = planner.plan(state, 1)
        assert not scripts[0].is_closed or plan.pieces[0].content == (2, [3])
        state = plan.state
        planner.committed(state)

    assert [script.committed for script in scripts] == [
        [{"epochs": 1}, {"epochs": 2}],
        [None],
        [{"epochs": 1}],
    ]
    assert [script.is_closed for script in scripts] == [True, True, False]


def test_a_source_with_epochs_of_its_own_gives_each_once() -> None:
    source = OwnEpochs(NumberRangeSource(1, 5))

    assert planned(source) == ([1, 2, 3, 4, 5], 1, True)


def test_each_source_hears_that_only_what_is_there_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    files = FilesSource(StreamFormat.text_line_format(), [str(tmp_path)], 1)
    planner = SourceAfterSource([NumberRangeSource(1, 2), files]).planner()
    planner.only_present()
    first = planner.plan(None, 1)
    second = planner.plan(first.state, 1)
    (tmp_path / "b").write_text("b")

    assert len(second.pieces) == 1
    assert planner.plan(second.state, 1).pieces == ()
