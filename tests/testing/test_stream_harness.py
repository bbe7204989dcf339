from __future__ import annotations

import pytest

from penstock.datastream import DataStream
from penstock.datastream.window import CountTrigger, GlobalWindows
from penstock.errors import InvalidArgumentError, UserFunctionError
from penstock.testing import DataStreamHarness, local_environment


def numbers() -> DataStream:
    return local_environment().from_collection([1])


def test_the_operator_of_a_stream_is_driven_with_its_keys() -> None:
    windows = numbers().key_by(lambda number: number % 2).window(GlobalWindows.create())
    with DataStreamHarness(windows.trigger(CountTrigger.of(2)).sum()) as harness:
        for number in [1, 2, 3, 4, 5]:
            harness.process_element(number)

        assert harness.extract_output_values() == [4, 6]
        assert {entry.key for entry in harness.keyed_state_entries()} == {0, 1}


def test_an_operator_without_keys_is_driven_too() -> None:
    with DataStreamHarness(numbers().map(lambda number: 2 * number)) as harness:
        harness.process_element(4, timestamp=3)

        assert harness.extract_output_values() == [8]


def test_the_stream_must_be_the_output_of_an_operator() -> None:
    one = numbers()
    for stream in (one.key_by(lambda number: number), one.rebalance(), one):
        with pytest.raises(InvalidArgumentError, match="not the output of one operator"):
            DataStreamHarness(stream)


def test_messages_name_the_stream() -> None:
    def fail(number: int) -> int:
        raise ValueError("no")

    with (
        DataStreamHarness(numbers().map(fail).name("Doubled")) as harness,
        pytest.raises(UserFunctionError, match="Operator 'Doubled' failed"),
    ):
        harness.process_element(1)
