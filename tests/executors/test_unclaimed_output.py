"""What a killed driver had committed and not delivered, when the program's sinks are others then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.executors.driver.test_publishing import OnceSink
from tests.runtime.programs import Journal

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from penstock.datastream import DataStream, MapFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files.policies import RollingPolicy
from penstock.errors import UnclaimedOutputError, UnclaimedStateError, UserFunctionError
from penstock.testing import TestingSource


class Placed(OnceSink):
    """Says where it delivers to."""

    @property
    def place(self) -> str:
        return str(self._folder)


class Other(Placed):
    """Another sink, for all that anybody knows."""


class Refusing(MapFunction):
    """Fails on a record if it is told so."""

    def __init__(self, moments: Journal) -> None:
        self._moments = moments

    def map(self, value: int) -> int:
        if f"no {value}" in self._moments:
            raise ValueError(f"no {value}")
        return value


Build = Callable[[DataStream, Path, Journal], None]


def one(numbers: DataStream, folder: Path, moments: Journal) -> None:
    numbers.sink_to(Placed(folder / "a", moments)).uid("out").name("Letters")


def two(numbers: DataStream, folder: Path, moments: Journal) -> None:
    numbers.sink_to(Placed(folder / "a", moments))
    numbers.sink_to(Placed(folder / "b", moments))


def two_swapped(numbers: DataStream, folder: Path, moments: Journal) -> None:
    numbers.sink_to(Placed(folder / "b", moments))
    numbers.sink_to(Placed(folder / "a", moments))


def one_with_another_uid(numbers: DataStream, folder: Path, moments: Journal) -> None:
    numbers.sink_to(Placed(folder / "a", moments)).uid("other")


def one_that_is_removed(numbers: DataStream, folder: Path, moments: Journal) -> None:
    numbers.print()


def one_of_another_kind(numbers: DataStream, folder: Path, moments: Journal) -> None:
    numbers.sink_to(Other(folder / "a", moments)).uid("out")


def files(numbers: DataStream, folder: Path, moments: Journal) -> None:
    sink = FileSink.for_row_format(str(folder / "files"), Encoder.simple_string_encoder())
    numbers.sink_to(sink.build()).uid("out")


def files_that_stay_open(numbers: DataStream, folder: Path, moments: Journal) -> None:
    sink = FileSink.for_row_format(str(folder / "files"), Encoder.simple_string_encoder())
    sink.with_rolling_policy(RollingPolicy.default_rolling_policy())
    numbers.sink_to(sink.build()).uid("out").name("Letters")


def two_one_of_them_with_a_uid(numbers: DataStream, folder: Path, moments: Journal) -> None:
    numbers.sink_to(Placed(folder / "a", moments)).uid("new")
    numbers.sink_to(Placed(folder / "b", moments))


def files_elsewhere(numbers: DataStream, folder: Path, moments: Journal) -> None:
    sink = FileSink.for_row_format(str(folder / "elsewhere"), Encoder.simple_string_encoder())
    numbers.sink_to(sink.build()).uid("out")


def run(folder: Path, build: Build, moments: Journal | None = None, **settings: Any) -> None:
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string(
        "execution.checkpointing.dir", str(folder / settings.get("job", "job"))
    )
    if "begins_from" in settings:
        path = str(folder / settings["begins_from"])
        configuration.set_string("execution.state-recovery.path", path)
    if settings.get("ignore"):
        key = "execution.state-recovery.ignore-unclaimed-state"
        configuration.set_string(key, "true")
    if "epoch" in settings:
        configuration.set_integer("execution.state-recovery.epoch", settings["epoch"])
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(settings.get("parallelism", 1))
    source = TestingSource([[1, 2], [3], [4]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    moments = Journal() if moments is None else moments
    build(numbers.map(Refusing(moments)), folder, moments)
    env.execute()


def killed(folder: Path, build: Build, moment: str = "before", epoch: int = 1) -> None:
    with pytest.raises(UserFunctionError, match="CrashError"):
        run(folder, build, Journal([(moment, epoch)]))


def found(folder: Path) -> list[int]:
    return sorted(int(number) for path in folder.glob("*") for number in path.read_text().split())


CHANGES = [
    (one, one_with_another_uid, "Letters' .uid 'out'"),
    (one, one_that_is_removed, "Letters' .uid 'out'"),
    (one, one_of_another_kind, "Letters' .uid 'out'"),
    (two, two_swapped, "without a uid"),
    (two, two_one_of_them_with_a_uid, "without a uid"),
]


@pytest.mark.parametrize(("before", "after", "named"), CHANGES)
class TestAnEpochThatIsNotDelivered:
    def test_is_not_dropped(self, tmp_path: Path, before: Build, after: Build, named: str) -> None:
        killed(tmp_path, before)
        with pytest.raises(UnclaimedOutputError, match=rf"Epoch 1 is .*{named}"):
            run(tmp_path, after)

        run(tmp_path, before)
        assert found(tmp_path / "a") == [1, 2, 3, 4]

    def test_is_dropped_if_that_is_asked_for(
        self, tmp_path: Path, before: Build, after: Build, named: str
    ) -> None:
        killed(tmp_path, before)
        run(tmp_path, after, ignore=True)

        assert 3 not in found(tmp_path / "a")

    def test_is_dropped_if_it_was_delivered(
        self, tmp_path: Path, before: Build, after: Build, named: str
    ) -> None:
        with pytest.raises(UserFunctionError, match="no 4"):
            run(tmp_path, before, Journal(["no 4"]))
        run(tmp_path, after)

        assert [number for number in found(tmp_path / "a") if number < 4] == [1, 2, 3]

    def test_is_dropped_by_another_job_if_it_was_delivered(
        self, tmp_path: Path, before: Build, after: Build, named: str
    ) -> None:
        with pytest.raises(UserFunctionError, match="no 4"):
            run(tmp_path, before, Journal(["no 4"]))
        run(tmp_path, after, job="new", begins_from="job")
        (tmp_path / "job" / "published").unlink()
        with pytest.raises(UnclaimedOutputError, match=rf"Epoch 1 is .*{named}"):
            run(tmp_path, after, job="newer", begins_from="job")

        assert [number for number in found(tmp_path / "a") if number < 4] == [1, 2, 3]

    def test_of_the_last_epoch(
        self, tmp_path: Path, before: Build, after: Build, named: str
    ) -> None:
        killed(tmp_path, before, epoch=2)
        with pytest.raises(UnclaimedOutputError, match="Epoch 2 is"):
            run(tmp_path, after)


def test_what_another_sink_prepared_under_the_id_of_a_sink_is_not_given_to_it(
    tmp_path: Path,
) -> None:
    with pytest.raises(UserFunctionError, match="no 4"):
        run(tmp_path, one, Journal(["no 4"]))
    run(tmp_path, files)

    assert found(tmp_path / "a") == [1, 2, 3]
    parts = [path for path in tmp_path.glob("files/[!.]*/*") if path.is_file()]
    assert [path.read_text() for path in parts] == ["4\n"]


def test_records_of_open_files_are_not_dropped_with_the_kind_of_their_sink(tmp_path: Path) -> None:
    with pytest.raises(UserFunctionError, match="no 4"):
        run(tmp_path, files_that_stay_open, Journal(["no 4"]))
    with pytest.raises(UnclaimedStateError, match=r"Letters' .uid 'out'"):
        run(tmp_path, one)

    run(tmp_path, one, ignore=True)
    assert found(tmp_path / "a") == [4]


@pytest.mark.parametrize(
    "after", [one_that_is_removed, one_with_another_uid, one_of_another_kind, files_elsewhere]
)
def test_open_files_are_named_as_such(tmp_path: Path, after: Build) -> None:
    with pytest.raises(UserFunctionError, match="no 4"):
        run(tmp_path, files_that_stay_open, Journal(["no 4"]))
    with pytest.raises(UnclaimedStateError, match="open files of a FileSink") as raised:
        run(tmp_path, after)

    assert f"Letters' (uid 'out'): FileSink {tmp_path / 'files'}" in str(raised.value)
    assert "stop_with_savepoint(True, ...)" in str(raised.value.hint)


def files_of_each_epoch(numbers: DataStream, folder: Path, moments: Journal) -> None:
    sink = FileSink.for_row_format(str(folder / "files"), Encoder.simple_string_encoder())
    sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    numbers.sink_to(sink.build()).uid("out")


class _Lines(BulkWriter):
    def __init__(self, file: Any) -> None:
        self._file = file

    def add_element(self, element: Any) -> None:
        self._file.write(f"{element}\n".encode())

    def finish(self) -> None:
        pass


class Bulk(BulkWriterFactory):
    def create(self, file: Any) -> BulkWriter:
        return _Lines(file)


def bulk_files(numbers: DataStream, folder: Path, moments: Journal) -> None:
    sink = FileSink.for_bulk_format(str(folder / "files"), Bulk())
    numbers.sink_to(sink.build()).uid("out")


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("how", ["killed", "failed"])
@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (files_of_each_epoch, ["1\n2\n3\n4\n"]),
        (bulk_files, ["1\n2\n3\n", "4\n"]),
    ],
)
def test_records_of_open_files_go_on_with_another_policy(
    tmp_path: Path, after: Build, expected: list[str], how: str, parallelism: int
) -> None:
    with pytest.raises(UserFunctionError, match="no 4"):
        run(tmp_path, files_that_stay_open, Journal(["no 4"]))
    if how == "killed":
        (tmp_path / "job" / "published").unlink(missing_ok=True)
    run(tmp_path, after, parallelism=parallelism)
    run(tmp_path, files_that_stay_open)

    parts = [path for path in tmp_path.glob("files/[!.]*/*") if path.is_file()]
    assert sorted(path.read_text() for path in parts) == expected


def test_records_of_open_files_go_on_with_their_sink(tmp_path: Path) -> None:
    with pytest.raises(UserFunctionError, match="no 4"):
        run(tmp_path, files_that_stay_open, Journal(["no 4"]))
    run(tmp_path, files_that_stay_open)

    parts = [path for path in tmp_path.glob("files/[!.]*/*") if path.is_file()]
    assert [path.read_text() for path in parts] == ["1\n2\n3\n4\n"]


def test_is_delivered_by_a_program_whose_functions_fail_by_now(tmp_path: Path) -> None:
    killed(tmp_path, one)
    with pytest.raises(UserFunctionError, match="no 4"):
        run(tmp_path, one, Journal(["no 4"]))
    assert found(tmp_path / "a") == [1, 2, 3]

    run(tmp_path, one_with_another_uid)
    assert found(tmp_path / "a") == [1, 2, 3, 4]


def test_who_goes_back_delivers_the_records_of_open_files_again(tmp_path: Path) -> None:
    with pytest.raises(UserFunctionError, match="no 3"):
        run(tmp_path, files_that_stay_open, Journal(["no 3"]))
    with pytest.raises(UserFunctionError, match="no 4"):
        run(tmp_path, files_of_each_epoch, Journal(["no 4"]))
    run(tmp_path, files_that_stay_open, epoch=0)

    parts = [path for path in tmp_path.glob("files/[!.]*/*") if path.is_file()]
    assert sorted(path.read_text() for path in parts) == ["1\n2\n3\n", "1\n2\n3\n4\n"]
