from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runtime.programs import Journal

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import LostOutputError, UserFunctionError
from penstock.executors.driver.publishing import PublishedSink, Publisher
from penstock.runtime.sinks import (
    CommitContext,
    Committer,
    SinkWriter,
    WriterContext,
    committable_to_plain,
)
from penstock.testing import TestingSource


class Recording(Committer):
    """Writes down what it is asked to do."""

    def __init__(self, log: list[Any], error: Exception | None = None) -> None:
        self._log = log
        self._error = error

    def open(self) -> None:
        self._log.append("open")

    def commit(self, committables: list[Any], context: CommitContext) -> None:
        if self._error is not None:
            raise self._error
        self._log.append((context.epoch, context.lineage, committables))

    def clean_up(self, context: CommitContext) -> None:
        self._log.append(("clean up", context.epoch))

    def close(self) -> None:
        self._log.append("close")


def record_of(number: int, *prepared: tuple[str, Any], **content: Any) -> EpochRecord:
    plain = [(sink, committable_to_plain(committable)) for sink, committable in prepared]
    return EpochRecord(number, lineage="line", prepared=plain, **content)


class TestPublisher:
    def test_gives_each_committer_what_is_its_own(self) -> None:
        one: list[Any] = []
        other: list[Any] = []
        publisher = Publisher(
            {
                "a": PublishedSink("A", Recording(one)),
                "b": PublishedSink("B", Recording(other)),
            }
        )
        publisher.open()
        publisher(record_of(0, ("a", 1), ("b", {2: "two"}), ("a", 3), ("gone", 4)))
        publisher(record_of(1, ("b", None)))
        publisher.close()

        assert one == ["open", (0, "line", [1, 3]), ("clean up", 0), ("clean up", 1), "close"]
        assert other == [
            "open",
            (0, "line", [{2: "two"}]),
            ("clean up", 0),
            (1, "line", [None]),
            ("clean up", 1),
            "close",
        ]

    def test_closes_what_it_has_opened(self) -> None:
        log: list[Any] = []
        publisher = Publisher({"a": PublishedSink("A", Recording(log, ValueError("no")))})
        with pytest.raises(UserFunctionError), publisher.opened():
            publisher(record_of(0, ("a", 1)))
        assert log == ["open", "close"]

    def test_commits_what_another_history_computed_under_its_name(self) -> None:
        log: list[Any] = []
        publisher = Publisher({"a": PublishedSink("A", Recording(log))})
        publisher(record_of(4, ("a", 1), is_fork=True, origin="before"))

        assert log[0] == (4, "before", [1])

    def test_names_the_sink_and_the_epoch_of_a_users_failure(self) -> None:
        publisher = Publisher({"a": PublishedSink("A", Recording([], ValueError("no")))})

        with pytest.raises(UserFunctionError, match="'A' failed on committing epoch 7") as caught:
            publisher(record_of(7, ("a", 1)))
        assert "ValueError: no" in str(caught.value)

    def test_closes_all_also_if_one_cannot_be_closed(self) -> None:
        class Stuck(Recording):
            def close(self) -> None:
                super().close()
                raise LostOutputError("stuck")

        one: list[Any] = []
        other: list[Any] = []
        publisher = Publisher(
            {"a": PublishedSink("A", Stuck(one)), "b": PublishedSink("B", Stuck(other))}
        )
        with pytest.raises(LostOutputError, match="stuck"):
            publisher.close()
        assert one == other == ["close"]


class Staging(SinkWriter):
    """Stages the records of an epoch as one text."""

    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._values: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._values.append(value)

    def prepare_commit(self) -> list[str]:
        values, self._values = self._values, []
        text = " ".join(map(str, values))
        return [self._context.stage(text.encode())] if values else []


class CrashError(Exception):
    """The driver dies."""


class Once(Committer):
    """Writes one file for each epoch; dies at the moments that are left in `moments`."""

    def __init__(self, folder: Path, moments: Journal) -> None:
        self._folder = folder
        self._moments = moments

    def commit(self, committables: list[str], context: CommitContext) -> None:
        self._pass("before", context)
        texts = sorted(context.read(name).decode() for name in committables)
        self._folder.mkdir(exist_ok=True)
        for number, text in enumerate(texts):
            name = f"{context.lineage}-{context.sink_id}-{context.epoch}-{number}"
            (self._folder / name).write_text(text)
            self._pass("within", context)
        self._pass("after", context)

    def _pass(self, moment: str, context: CommitContext) -> None:
        if (moment, context.epoch) in self._moments:
            self._moments.remove((moment, context.epoch))
            raise CrashError


class OnceSink(TwoPhaseCommitSink):
    def __init__(self, folder: Path, moments: Journal) -> None:
        self._folder = folder
        self._moments = moments

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return Staging(context)

    def create_committer(self) -> Committer:
        return Once(self._folder, self._moments)


def run(folder: Path, moments: Journal, parallelism: int = 1, back_to: int | None = None) -> None:
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string("execution.checkpointing.dir", str(folder / "job"))
    if back_to is not None:
        configuration.set_string("execution.state-recovery.epoch", str(back_to))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    source = TestingSource([[1, 2], [3], [], [4, 5, 6]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").rebalance()
    numbers.sink_to(OnceSink(folder / "plain", moments)).uid("plain")
    numbers.map(lambda number: -number).sink_to(OnceSink(folder / "minus", moments)).uid("minus")
    env.execute()


def found(folder: Path) -> list[int]:
    return sorted(int(one) for path in folder.iterdir() for one in path.read_text().split())


class TestExactlyOnce:
    def test_without_mishaps(self, tmp_path: Path) -> None:
        run(tmp_path, Journal(), parallelism=3)

        assert found(tmp_path / "plain") == [1, 2, 3, 4, 5, 6]
        assert found(tmp_path / "minus") == [-6, -5, -4, -3, -2, -1]

    @pytest.mark.parametrize("epoch", [0, 1, 3])
    @pytest.mark.parametrize("moment", ["before", "within", "after"])
    def test_whenever_the_driver_dies(self, tmp_path: Path, moment: str, epoch: int) -> None:
        moments = Journal([(moment, epoch)] * 3)
        for _ in range(3):
            with pytest.raises(UserFunctionError, match="CrashError"):
                run(tmp_path, moments)
        run(tmp_path, moments)

        assert found(tmp_path / "plain") == [1, 2, 3, 4, 5, 6]
        assert found(tmp_path / "minus") == [-6, -5, -4, -3, -2, -1]

    def test_of_what_comes_after_the_epoch_that_a_job_goes_back_to(self, tmp_path: Path) -> None:
        run(tmp_path, Journal())
        run(tmp_path, Journal(), back_to=1)

        assert found(tmp_path / "plain") == [1, 2, 3, 4, 4, 5, 5, 6, 6]
