"""What begins and ends a program is the same on both executors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect
from tests.semantics.test_functions import Diary, diaries

from penstock.common import WatermarkStrategy
from penstock.datastream.aggregates import Count
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import UserFunctionError

LINES = ["grün", "", " two  words\t", "last"]


def test_text_files(new_environment: NewEnvironment, tmp_path: Path) -> None:
    (tmp_path / "unix.txt").write_bytes("\n".join(LINES).encode())
    (tmp_path / "latin").write_bytes("\r\n".join([*LINES, ""]).encode("latin-1"))
    (tmp_path / "wide").write_bytes("\n".join(LINES).encode("utf-16"))
    (tmp_path / "empty").write_bytes(b"")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("1\n2\n")
    (folder / "b").write_text("3")
    (folder / "_hidden").write_text("no")
    (folder / ".hidden").write_text("no")
    env = new_environment(3)

    found = collect(
        {
            "unix": env.read_text_file(tmp_path / "unix.txt"),
            "latin": env.read_text_file(str(tmp_path / "latin"), "latin-1"),
            "wide": env.read_text_file(tmp_path / "wide", "UTF-16"),
            "empty": env.read_text_file(f"file://{tmp_path / 'empty'}"),
            "folder": env.read_text_file(folder),
        }
    )

    assert {name: Counter(lines) for name, lines in found.items()} == {
        "unix": Counter(LINES),
        "latin": Counter(LINES),
        "wide": Counter(LINES),
        "folder": Counter("123"),
    }


def test_number_sequences(new_environment: NewEnvironment) -> None:
    env = new_environment(3)

    def numbers(first: int, last: int) -> NumberSequenceSource:
        return NumberSequenceSource(first, last)

    none = WatermarkStrategy.no_watermarks()
    found = collect(
        {
            "many": env.from_source(numbers(-5, 5000), none, "many"),
            "one": env.from_source(numbers(7, 7), none, "one"),
            "none": env.from_source(numbers(8, 7), none, "none"),
        }
    )

    assert {name: sorted(values) for name, values in found.items()} == {
        "many": list(range(-5, 5001)),
        "one": [7],
    }


def test_print(new_environment: NewEnvironment, capfd: pytest.CaptureFixture[str]) -> None:
    env = new_environment(2)
    numbers = env.from_collection(range(4))
    numbers.print("n").set_parallelism(1)
    numbers.rebalance().map(str).print()

    env.execute()

    printed = capfd.readouterr().out.splitlines()
    assert [line for line in printed if line.startswith("n")] == ["n> 0", "n> 1", "n> 2", "n> 3"]
    assert sorted(line for line in printed if not line.startswith("n")) == [
        "1> 0", "1> 2", "2> 1", "2> 3",
    ]  # fmt: skip


def test_functions_of_a_job_that_fails_are_closed(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    class Failing(Diary):
        def invoke(self, value: int) -> None:
            super().invoke(1 // value)

    env = new_environment()
    env.from_collection([1, 0]).add_sink(Failing(tmp_path))

    with pytest.raises(UserFunctionError):
        env.execute()

    assert diaries(tmp_path) == [["open", "1", "close"]]


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("charset", ["UTF-8", "latin-1"])
def test_nothing_is_late_in_a_folder_whose_files_are_in_another_order(
    new_environment: NewEnvironment, tmp_path: Path, charset: str, parallelism: int
) -> None:
    hours = [[*range(hour * 20_000, hour * 20_000 + 20_000)] for hour in range(4)]
    for hour, times in enumerate(hours):
        (tmp_path / f"{'bdca'[hour]}.txt").write_text("\n".join(map(str, times)))
    env = new_environment(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda time, _: time)
    read = env.read_text_file(str(tmp_path), charset).map(int)
    keyed = read.assign_timestamps_and_watermarks(strategy).key_by(lambda time: time % 3)
    counts = keyed.window(TumblingEventTimeWindows.of(20_000)).aggregate(Count())

    assert sum(counts.execute_and_collect()) == sum(map(len, hours))
