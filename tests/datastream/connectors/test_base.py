from __future__ import annotations

from typing import Any

from penstock.datastream import DataStream
from penstock.datastream.connectors.base import StreamTransformer, SupportsPreprocessing
from penstock.datastream.connectors.two_phase_commit import (
    CommitContext,
    Committer,
    SinkWriter,
    TwoPhaseCommitSink,
    WriterContext,
)
from penstock.testing import local_environment

WRITTEN: list[Any] = []


class Doubled(StreamTransformer):
    def apply(self, ds: DataStream) -> DataStream:
        return ds.map(lambda number: number * 2)


class Memory(TwoPhaseCommitSink, SupportsPreprocessing):
    def __init__(self, transformer: StreamTransformer | None) -> None:
        self._transformer = transformer

    def get_transformer(self) -> StreamTransformer | None:
        return self._transformer

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return MemoryWriter()

    def create_committer(self) -> Committer:
        return MemoryCommitter()


class MemoryWriter(SinkWriter):
    def __init__(self) -> None:
        self._values: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._values.append(value)

    def prepare_commit(self) -> list[Any]:
        values, self._values = self._values, []
        return values


class MemoryCommitter(Committer):
    def commit(self, committables: list[Any], context: CommitContext) -> None:
        WRITTEN.extend(committables)


def test_a_sink_may_have_its_stream_turned_into_another() -> None:
    for transformer, expected in ((Doubled(), [2, 4]), (None, [1, 2])):
        WRITTEN.clear()
        env = local_environment()
        env.from_collection([1, 2]).sink_to(Memory(transformer))
        env.execute()
        assert expected == WRITTEN
