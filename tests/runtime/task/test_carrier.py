from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.diamond import NUMBERS, cores, diamond, parallelisms
from tests.runtime.programs import (
    Journal,
    ProgramBuilder,
    last_epoch,
    messages,
    run_epoch,
    tasks_for,
)

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.runtime.columnar.aggregated_rows import AggregatedSourceOperator
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.sink import PrintOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.program import DRIVER, Program
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.subtask import Subtask

pytestmark = pytest.mark.usefixtures("_no_time_passes")


class TestAnEpoch:
    @settings(max_examples=25)
    @given(parallelisms, cores)
    def test_runs_every_subtask_once_and_loses_no_record(
        self, parallelism: tuple[int, int, int], cores: int
    ) -> None:
        program = diamond(*parallelism)
        outcome = EpochOutcome.of(
            program, run_epoch(tasks_for(program, cores), last_epoch(program))
        )

        assert outcome.calls == sum(vertex.parallelism for vertex in program.vertices)
        counts = {
            report.name: (report.records_in, report.records_out)
            for report in outcome.operators.values()
        }
        assert counts == {
            "Op0.0": (20, 20),
            "Op1.0": (20, 20),
            "Op2.0": (40, 40),
            "Op3.0": (40, 0),
            "Op4.0": (20, 0),
        }
        broadcast = [line for line in outcome.printed if line.startswith("all> ")]
        assert Counter(broadcast) == Counter(f"all> {-number}" for number in NUMBERS)

    @settings(max_examples=25)
    @given(parallelisms, cores)
    def test_gives_the_same_in_the_same_order_on_any_number_of_cores(
        self, parallelism: tuple[int, int, int], cores: int
    ) -> None:
        program = diamond(*parallelism)
        one, other = (
            EpochOutcome.of(program, run_epoch(tasks_for(program, count), last_epoch(program)))
            for count in (1, cores)
        )

        assert one.printed == other.printed

    def test_comes_after_another_in_the_same_tasks(self) -> None:
        program = diamond(2, 2, 2)
        tasks = tasks_for(program)
        printed = [
            EpochOutcome.of(program, run_epoch(tasks, epoch)).printed
            for epoch in (Epoch("job", 0), last_epoch(program, number=1))
        ]

        assert [len(lines) for lines in printed] == [60, 60]


class TestControl:
    """What has to be done on level 0 even where a source has no partition."""

    @settings(max_examples=25)
    @given(st.integers(1, 9), st.integers(1, 5))
    def test_reads_every_subtask_of_a_native_source_once(
        self, parallelism: int, shares: int
    ) -> None:
        builder = ProgramBuilder()
        builder.source([NUMBERS], parallelism=parallelism)
        program = builder.build()
        tasks = tasks_for(program, 4)
        senders: list[int] = []
        for share in range(shares):
            carrier = Carrier(tasks.layout, last_epoch(program), 0, share, "a", tasks)
            buffers = [*carrier.control(share, shares), *carrier.finish()]
            senders += [message.sender for message in messages(buffers)]

        assert sorted(senders) == list(range(parallelism))

    def test_skips_sources_that_have_ended(self) -> None:
        builder = ProgramBuilder()
        for _ in range(2):
            builder.source([NUMBERS])
        program = builder.build()
        epoch = Epoch("job", 1, finished=frozenset({0}))

        told = messages(run_epoch(tasks_for(program), epoch))

        assert [(message.kind, message.vertex) for message in told] == [("report", 1)]

    @pytest.mark.parametrize(("share", "senders"), [(0, [5]), (1, [])])
    def test_runs_the_chain_of_a_source_that_spark_reads_once(
        self, share: int, senders: list[int]
    ) -> None:
        program = spark_program()
        tasks = tasks_for(program)
        carrier = Carrier(tasks.layout, last_epoch(program), 0, 5, "a", tasks)

        buffers = [*carrier.control(share, 2), *carrier.finish()]

        told = messages(buffer for buffer in buffers if buffer.vertex == DRIVER)
        assert [message.sender for message in told] == senders
        assert [buffer.subtask for buffer in buffers if buffer.vertex == 1] == [0, 1] * len(senders)

    def test_runs_every_subtask_that_spark_sends_rows_to(self) -> None:
        builder = ProgramBuilder()
        head = AggregatedSourceOperator(WatermarkStrategy.no_watermarks(), 0, "at")
        builder.vertex(head, parallelism=5)
        program = builder.build()
        tasks = tasks_for(program)
        carrier = Carrier(tasks.layout, last_epoch(program), 0, 1, "a", tasks)
        rows = pa.array([{"group_key": "tea", "time_in_pane": 7, "record_count": 4}])

        begun = list(carrier.control(1, 2))
        fed = list(carrier.feed(program.vertices[0], ColumnBlock(rows), subtask=3))
        told = messages([*begun, *fed, *carrier.finish()])

        counts = {message.sender: message.content.metrics[0][0] for message in told}
        assert counts == {1: 0, 3: 4}


def spark_program() -> Program:
    builder = ProgramBuilder()
    source = builder.vertex(SourceOperator(), is_shared=True)
    builder.vertex(PrintOperator(), inputs=[(source, RebalancePartitioner())], parallelism=2)
    return builder.build()


def test_takes_the_rows_that_spark_read_and_the_control_row_in_one_epoch() -> None:
    program = spark_program()
    tasks = tasks_for(program)
    source = program.vertices[0]
    carrier = Carrier(tasks.layout, last_epoch(program), 0, 1, "a", tasks)
    sent = [
        *carrier.feed(source, Block([1, 2])),
        *carrier.control(0, 1),
        *carrier.feed(source, Block([3])),
        *carrier.finish(),
        *carrier.finish(),
    ]
    received = sorted((buffer for buffer in sent), key=lambda buffer: buffer.order)
    sink = Carrier(tasks.layout, last_epoch(program), 1, 0, "b", tasks)

    outcome = EpochOutcome.of(program, sink.run(received))

    assert sorted(outcome.printed) == ["1> 1", "1> 3", "2> 2"]
    assert outcome.calls == 3


class TestRelays:
    def test_pass_on_what_is_for_others(self) -> None:
        program = diamond(2, 4, 3)
        tasks = tasks_for(program, 2)
        carrier = Carrier(tasks.layout, Epoch("job"), 1, 0, "a", tasks)
        passing = [
            Buffer(0, vertex, subtask, 1, 7, 9, 3, b"payload")
            for vertex in (DRIVER, 2, 3)
            for subtask in range(3)
        ]

        passed = list(carrier.run(passing))

        layout = tasks.layout
        assert [buffer[1:] for buffer in passed] == [buffer[1:] for buffer in passing]
        assert [buffer.carrier for buffer in passed] == [
            *[layout.driver_carrier(1, subtask) for subtask in range(3)],
            *[
                layout.next_carrier(1, program.vertices[vertex], subtask)
                for vertex in (2, 3)
                for subtask in range(3)
            ],
        ]

    def test_end_a_subtask_before_the_next_begins(self) -> None:
        journal = Journal()
        builder = ProgramBuilder()
        source = builder.source([NUMBERS])
        builder.vertex(Steps(journal), inputs=[(source, RebalancePartitioner())], parallelism=4)
        program = builder.build()

        run_epoch(tasks_for(program, 1), last_epoch(program))

        assert journal == [(step, subtask) for subtask in range(4) for step in ("begin", "end")]


class Steps(StreamOperator):
    """Writes down when the epochs of its subtasks begin and end."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def begin_epoch(self, epoch: Epoch) -> None:
        self._journal.append(("begin", self.context.subtask))

    def process_block(self, block: Block) -> None:
        pass

    def flush(self) -> None:
        self._journal.append(("end", self.context.subtask))


def test_knows_its_program() -> None:
    program = spark_program()
    tasks = tasks_for(program)

    assert Carrier(tasks.layout, Epoch("job"), 0, 0, "a", tasks).program is program
    assert isinstance(tasks.get(program.vertices[0], 0, Epoch("job")), Subtask)
