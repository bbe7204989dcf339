from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import (
    Journal,
    ProgramBuilder,
    last_epoch,
    messages,
    run_epoch,
    tasks_for,
)

from penstock.errors import (
    InconsistentEpochError,
    JobFailedError,
    LostBufferError,
    PenstockError,
    UserFunctionError,
)
from penstock.runtime.buffer import ABORT, Buffer, channel_number, edge_of_channel
from penstock.runtime.carrier import Carrier
from penstock.runtime.context import RuntimeContext
from penstock.runtime.elements import MIN_TIMESTAMP, Block
from penstock.runtime.epoch import Epoch
from penstock.runtime.epoch_outcome import EpochOutcome
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.map import MapOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import PrintOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.partitioners import (
    BroadcastPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
)
from penstock.runtime.program import DRIVER, Program
from penstock.runtime.source import EpochSource
from penstock.runtime.subtask import Subtask

NUMBERS = list(range(20))


def negated(value: int) -> int:
    return -value


def remainder(value: int) -> int:
    return value % 7


def diamond(*parallelism: int, function: Callable[[Any], Any] = negated) -> Program:
    """Numbers reach the sum twice: over a chain between, and straight from the source."""
    builder = ProgramBuilder()
    source = builder.source([NUMBERS, NUMBERS], parallelism=parallelism[0])
    middle = builder.vertex(
        MapOperator(function),
        inputs=[(source, RebalancePartitioner())],
        parallelism=parallelism[1],
    )
    summed = builder.vertex(
        ReduceOperator(lambda one, other: one + other),
        inputs=[
            (middle, KeyGroupStreamPartitioner(remainder)),
            (source, KeyGroupStreamPartitioner(remainder)),
        ],
        parallelism=parallelism[2],
    )
    builder.vertex(
        PrintOperator(), inputs=[(summed, ForwardPartitioner())], parallelism=parallelism[2]
    )
    builder.vertex(PrintOperator("all"), inputs=[(middle, BroadcastPartitioner())])
    return builder.build()


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine would cut blocks, and so buffers, in another way on every run."""
    clock = SimpleNamespace(perf_counter=lambda: 0.0)
    monkeypatch.setattr("penstock.runtime.subtask.time", clock)


parallelisms = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
cores = st.integers(1, 4)


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


def spark_program() -> Program:
    builder = ProgramBuilder()
    source = builder.vertex(SourceOperator())
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


class Function:
    """A function that may fail, and writes down what is done with it."""

    def __init__(self, journal: Journal, failing: int | None = None) -> None:
        self._journal = journal
        self._failing = failing

    def open(self, context: RuntimeContext) -> None:
        self._journal.append("open")

    def map(self, value: int) -> int:
        self._journal.append(value)
        if value == self._failing:
            raise ZeroDivisionError(f"at {value}")
        return value

    def close(self) -> None:
        self._journal.append("close")


def three_levels(*functions: Any, parallelism: int = 2) -> Program:
    """A source, and on each level one of the functions, with a print in the last chain."""
    builder = ProgramBuilder()
    level = builder.source([NUMBERS], MapOperator(functions[0]), parallelism=parallelism)
    for place, function in enumerate(functions[1:]):
        operators: list[StreamOperator] = [MapOperator(function)]
        if place == len(functions) - 2:
            operators.append(PrintOperator())
        level = builder.vertex(
            *operators, inputs=[(level, RebalancePartitioner())], parallelism=parallelism
        )
    return builder.build()


class TestErrors:
    @pytest.mark.parametrize("failing", [0, 1, 2])
    @pytest.mark.parametrize("cores", [1, 2])
    def test_skip_what_is_left_to_do_on_later_levels(self, failing: int, cores: int) -> None:
        journals = [Journal() for _ in range(3)]
        program = three_levels(
            *[
                Function(journal, 3 if level == failing else None)
                for level, journal in enumerate(journals)
            ]
        )

        sent = run_epoch(tasks_for(program, cores), last_epoch(program))

        with pytest.raises(UserFunctionError, match="ZeroDivisionError: at 3") as raised:
            EpochOutcome.of(program, sent)
        assert raised.value.operator == f"Op{failing}.{int(failing == 0)}"
        assert raised.value.record == "3"
        assert raised.value.__cause__ is None
        for level, journal in enumerate(journals):
            assert bool(journal) == (level <= failing)
        assert sum(message.kind == "error" for message in messages(sent)) == 1

    def test_are_told_to_every_carrier_of_the_next_level_once(self) -> None:
        program = three_levels(
            Function(Journal(), 3), Function(Journal()), Function(Journal()), parallelism=3
        )
        tasks = tasks_for(program, 3)
        carrier = Carrier(tasks.layout, last_epoch(program), 0, 0, "a", tasks)
        sent = [*carrier.control(0, 1), *carrier.finish()]

        aborts = [buffer for buffer in sent if buffer.vertex == ABORT]
        assert [buffer.carrier for buffer in aborts] == [0, 1, 2]
        assert aborts[0].order < min(buffer.order for buffer in sent if buffer.vertex != ABORT)

    def test_are_passed_on_level_by_level(self) -> None:
        program = three_levels(Function(Journal()), Function(Journal()), Function(Journal()))
        tasks = tasks_for(program, 2)
        told = Buffer(0, DRIVER, 1, 1, MIN_TIMESTAMP, 0, 0, b"message")
        mine = Buffer(0, 1, 0, 1, MIN_TIMESTAMP, 0, 0, b"not looked at")
        aborts = [Buffer(0, ABORT, 0, 0, MIN_TIMESTAMP, 0, number, b"") for number in range(2)]

        def passed(level: int, *buffers: Buffer) -> list[tuple[int, int]]:
            carrier = Carrier(tasks.layout, last_epoch(program), level, 1, "a", tasks)
            return [(buffer.vertex, buffer.carrier) for buffer in carrier.run(buffers)]

        assert passed(1, *aborts, told, mine) == [(ABORT, 0), (ABORT, 1), (DRIVER, 1)]
        assert passed(2, *aborts, told) == [(DRIVER, 0)]

    def test_of_penstock_itself_come_with_a_traceback_and_the_task(self) -> None:
        class Broken(StreamOperator):
            def process_block(self, block: Block) -> None:
                raise AssertionError("never")

        builder = ProgramBuilder()
        builder.source([NUMBERS], Broken())
        program = builder.build()

        with pytest.raises(JobFailedError) as raised:
            EpochOutcome.of(program, run_epoch(tasks_for(program), last_epoch(program)))

        assert raised.value.message.startswith("Traceback (most recent call last):\n")
        assert "AssertionError: never" in raised.value.message
        assert raised.value.message.endswith("Task 'Op0.0 -> Op0.1' failed.")
        assert "report it" in str(raised.value.hint)

    @pytest.mark.parametrize("place", ["before", "after a block"])
    def test_of_reading_a_source_end_the_epoch(self, place: str) -> None:
        class Unreadable(EpochSource):
            def read(self, epoch: int, subtask: int, parallelism: int) -> Any:
                if place == "after a block":
                    yield Block([1])
                raise PenstockError("The file is gone.")

        journal = Journal()
        builder = ProgramBuilder()
        source = builder.vertex(SourceOperator(Unreadable([])))
        builder.vertex(MapOperator(Function(journal)), inputs=[(source, RebalancePartitioner())])
        program = builder.build()

        with pytest.raises(PenstockError, match="The file is gone"):
            EpochOutcome.of(program, run_epoch(tasks_for(program), last_epoch(program)))
        assert not journal

    @pytest.mark.parametrize("step", ["open", "close"])
    def test_of_opening_and_closing_end_the_epoch(self, step: str) -> None:
        function = Function(Journal())

        class Failing(Function):
            pass

        def fail(*arguments: Any) -> None:
            raise OSError(f"{step} failed")

        setattr(Failing, step, fail)
        program = three_levels(function, Failing(Journal()), function)

        with pytest.raises(UserFunctionError, match=f"OSError: {step} failed"):
            EpochOutcome.of(program, run_epoch(tasks_for(program), last_epoch(program)))

    def test_leave_no_subtask_behind_that_failed(self) -> None:
        class FailsOnce(Function):
            def map(self, value: int) -> int:
                result = super().map(value)
                if self._journal.count(3) == 1 and value == 3:
                    raise OSError("once")
                return result

        journal = Journal()
        program = three_levels(FailsOnce(journal), negated, parallelism=1)
        tasks = tasks_for(program)
        with pytest.raises(UserFunctionError):
            EpochOutcome.of(program, run_epoch(tasks, Epoch("job")))
        outcome = EpochOutcome.of(program, run_epoch(tasks, last_epoch(program, attempt=1)))

        assert outcome.printed == [str(-number) for number in NUMBERS]
        assert journal.count("open") == 2

    def test_close_the_functions_of_the_subtask_that_failed(self) -> None:
        journal = Journal()
        program = three_levels(Function(journal, 3), negated, parallelism=1)
        tasks = tasks_for(program)
        with pytest.raises(UserFunctionError):
            EpochOutcome.of(program, run_epoch(tasks, last_epoch(program)))
        tasks.close()

        assert journal == ["open", 0, 1, 2, 3, "close"]


@pytest.mark.parametrize("receiver", ["subtask", "driver"])
@pytest.mark.parametrize("kind", ["lost", "repeated"])
@settings(max_examples=25)
@given(parallelism=parallelisms, cores=cores, size=st.integers(1, 8), data=st.data())
def test_whatever_an_exchange_loses_or_repeats_is_noticed(
    receiver: str,
    kind: str,
    parallelism: tuple[int, int, int],
    cores: int,
    size: int,
    data: st.DataObject,
) -> None:
    program = diamond(*parallelism)
    # Behind the last level there is only the driver.
    level = data.draw(st.integers(0, 3 if receiver == "driver" else 2), label="level")

    def tamper(behind: int, buffers: list[Buffer]) -> list[Buffer]:
        if behind != level:
            return buffers
        own = [buffer for buffer in buffers if (buffer.vertex == DRIVER) == (receiver == "driver")]
        place = buffers.index(data.draw(st.sampled_from(own)))
        if kind == "lost":
            return buffers[:place] + buffers[place + 1 :]
        return [*buffers, buffers[place]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.runtime.record_writer.BUFFER_SIZE", size)
        sent = run_epoch(tasks_for(program, cores), last_epoch(program), tamper=tamper)
    with pytest.raises(LostBufferError):
        EpochOutcome.of(program, sent)


def apart(*parallelism: int) -> Program:
    """Two sources, of which one feeds narrow chains that run on some of the carriers only."""
    builder = ProgramBuilder()
    one, other = (builder.source([NUMBERS], parallelism=parallelism[place]) for place in range(2))
    for sender, width in ((one, 1), (one, 1), (other, parallelism[2])):
        builder.vertex(
            PrintOperator(), inputs=[(sender, RebalancePartitioner())], parallelism=width
        )
    return builder.build()


def sender_of(buffer: Buffer, program: Program) -> tuple[int, int]:
    """Return vertex and subtask of the sender of a buffer."""
    if buffer.vertex == DRIVER:
        return buffer.channel, buffer.subtask
    number = edge_of_channel(buffer.channel)
    [edge] = [edge for edge in program.vertices[buffer.vertex].inputs if edge.index == number]
    return edge.source, buffer.channel - channel_number(number, 0)


@pytest.mark.parametrize("make", [diamond, apart])
@settings(max_examples=50)
@given(parallelism=parallelisms, cores=cores, data=st.data())
def test_an_epoch_in_which_attempts_were_mixed_is_noticed(
    make: Callable[..., Program],
    parallelism: tuple[int, int, int],
    cores: int,
    data: st.DataObject,
) -> None:
    """The tasks of a level run twice, and each task of the next reads one of both runs."""
    program = make(*parallelism)
    level = data.draw(st.integers(0, program.levels - 2), label="level")
    tasks, tasks_elsewhere = tasks_for(program, cores), tasks_for(program, cores)
    first: list[list[Buffer]] = []
    choices: dict[tuple[int, int], int] = {}
    read: dict[tuple[int, int], set[int]] = defaultdict(set)

    def keep(behind: int, buffers: list[Buffer]) -> list[Buffer]:
        first.append(buffers)
        return buffers

    def mix(behind: int, buffers: list[Buffer]) -> list[Buffer]:
        if behind != level:
            return buffers
        runs = enumerate((first[level], buffers))
        return [buffer for run, sent in runs for buffer in sent if is_read(buffer, run)]

    def is_read(buffer: Buffer, run: int) -> bool:
        """Whether the task that a buffer is sent to reads this run of the sender's carrier."""
        vertex, subtask = sender_of(buffer, program)
        if program.vertices[vertex].level < level:
            # What is only passing by is the same in both runs.
            return run == 0
        sender = subtask % tasks.layout.carriers(0)
        if level > 0:
            sender = tasks.layout.carrier_of(program.vertices[vertex], subtask)
        if (sender, buffer.carrier) not in choices:
            choices[sender, buffer.carrier] = data.draw(
                st.integers(0, 1), label=f"run that carrier {buffer.carrier} reads of {sender}"
            )
        if choices[sender, buffer.carrier] != run:
            return False
        read[vertex, subtask].add(run)
        return True

    def again(running: int, number: int) -> str:
        return f"{running}.{number}" + " again" * (running == level)

    told = run_epoch(tasks, last_epoch(program), tamper=keep)
    mixed = run_epoch(tasks_elsewhere, last_epoch(program), attempts=again, tamper=mix)

    if all(len(runs) == 1 for runs in read.values()):
        assert EpochOutcome.of(program, mixed).printed == EpochOutcome.of(program, told).printed
    else:
        with pytest.raises(InconsistentEpochError):
            EpochOutcome.of(program, mixed)


def test_a_global_exchange_leaves_other_subtasks_without_records_but_not_without_an_end() -> None:
    builder = ProgramBuilder()
    source = builder.source([NUMBERS], parallelism=2)
    builder.vertex(PrintOperator(), inputs=[(source, GlobalPartitioner())], parallelism=3)
    program = builder.build()
    outcome = EpochOutcome.of(program, run_epoch(tasks_for(program), last_epoch(program)))

    assert outcome.printed == [f"1> {number}" for number in NUMBERS]
    assert outcome.calls == 5


def test_knows_its_program() -> None:
    program = spark_program()
    tasks = tasks_for(program)

    assert Carrier(tasks.layout, Epoch("job"), 0, 0, "a", tasks).program is program
    assert isinstance(tasks.get(program.vertices[0], 0, Epoch("job")), Subtask)
