from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import ProcessFunction
from penstock.datastream.connectors.base import Source
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import InvalidArgumentError
from penstock.graph.source_descriptions import FrameSource
from penstock.testing import TestingSource, local_environment


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int | None) -> int:
        return value


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_event_time_goes_on_from_source_to_source(parallelism: int, mode: str) -> None:
    source = (
        HybridSource.builder(NumberSequenceSource(1, 12))
        .add_source(TestingSource([[13, 14], [], [15]]))
        .add_source(NumberSequenceSource(16, 21))
        .build()
    )
    env = local_environment(parallelism)
    env._configuration.set_string("execution.runtime-mode", mode)
    numbers = env.from_source(source, TIMES, "numbers").key_by(lambda number: 0)
    sums = numbers.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).sum()

    assert list(sums.execute_and_collect()) == [45, 145, 41]


def test_the_switch_takes_place_once_from_start_to_start(tmp_path: Path) -> None:
    text = StreamFormat.text_line_format()
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    (old / "a").write_text("1\n2\n")
    found: list[list[str]] = []
    for number in range(4):
        files = FileSource.for_record_stream_format(text, new)
        source = HybridSource.builder(FileSource.for_record_stream_format(text, old).build())
        source.add_source(files.monitor_continuously(Duration.of_days(1)).build())
        env = local_environment(2)
        env.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / "job"))
        env._configuration.set_string("execution.epoch.available-now", "true")
        env._configuration.set_string("execution.epoch.end-of-input", "false")
        lines = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "lines")
        found.append(sorted(lines.uid("lines").execute_and_collect()))
        (old / f"late {number}").write_text("never\n")
        (new / f"{number}").write_text(f"{number + 3}\n")

    assert found == [["1", "2"], ["3"], ["4"], ["5"]]


def test_its_type_is_that_of_all_its_sources() -> None:
    numbers = NumberSequenceSource(1, 1)
    assert HybridSource.builder(numbers).build().produced_type == Types.LONG()
    both = HybridSource.builder(numbers).add_source(TestingSource([[1]])).build()
    assert both.produced_type is None


class Streaming(Source):
    is_bounded = False

    def description(self) -> Any:
        return FrameSource(None)


@pytest.mark.parametrize("source", ["numbers", ProcessFunction, Streaming()])
def test_what_cannot_be_read_in_turn_is_refused(source: Any) -> None:
    for build in (HybridSource.builder, HybridSource.builder(TestingSource([[1]])).add_source):
        with pytest.raises(InvalidArgumentError, match="A HybridSource was given"):
            build(source)


def test_what_does_not_end_is_the_last() -> None:
    text = StreamFormat.text_line_format()
    endless = FileSource.for_record_stream_format(text, "/in").monitor_continuously(
        Duration.of_seconds(1)
    )
    builder = HybridSource.builder(endless.build())
    with pytest.raises(InvalidArgumentError, match="which does not end"):
        builder.add_source(NumberSequenceSource(1, 2))
