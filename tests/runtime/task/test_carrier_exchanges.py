from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.diamond import NUMBERS, diamond
from tests.runtime.programs import ProgramBuilder, last_epoch, run_epoch, tasks_for
from tests.strategies import any_of

from penstock.errors import InconsistentEpochError, LostBufferError
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.runtime.exchange.buffer import Buffer, channel_number, edge_of_channel
from penstock.runtime.exchange.partitioners import GlobalPartitioner, RebalancePartitioner
from penstock.runtime.operators.sink import PrintOperator
from penstock.runtime.program import DRIVER, Program

pytestmark = pytest.mark.usefixtures("_no_time_passes")

# Three parallelisms, and the cores.
WIDTHS = any_of(*[range(1, 5)] * 4)


@pytest.mark.parametrize("receiver", ["subtask", "driver"])
@pytest.mark.parametrize("kind", ["lost", "repeated"])
@settings(max_examples=25)
@given(
    WIDTHS,
    any_of(range(1, 9), range(4)),
    st.integers(0, 999),
)
def test_whatever_an_exchange_loses_or_repeats_is_noticed(
    receiver: str,
    kind: str,
    widths: tuple[int, int, int, int],
    size_and_level: tuple[int, int],
    which: int,
) -> None:
    *parallelism, cores = widths
    program = diamond(*parallelism)
    size, level = size_and_level
    # Behind the last level there is only the driver.
    level %= 4 if receiver == "driver" else 3

    def tamper(behind: int, buffers: list[Buffer]) -> list[Buffer]:
        if behind != level:
            return buffers
        own = [buffer for buffer in buffers if (buffer.vertex == DRIVER) == (receiver == "driver")]
        place = buffers.index(own[which % len(own)])
        if kind == "lost":
            return buffers[:place] + buffers[place + 1 :]
        return [*buffers, buffers[place]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.runtime.exchange.record_size.BUFFER_SIZE", size)
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
@given(WIDTHS, st.integers(0, 3), st.integers(0, (1 << 16) - 1))
def test_an_epoch_in_which_attempts_were_mixed_is_noticed(
    make: Callable[..., Program],
    widths: tuple[int, int, int, int],
    level: int,
    runs: int,
) -> None:
    """The tasks of a level run twice, and each task of the next reads one of both runs.

    Each bit of `runs` is the run that a carrier reads of a sender; there are at most four of either.
    """
    *parallelism, cores = widths
    program = make(*parallelism)
    level %= program.levels - 1
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
            assert len(choices) < 16
            choices[sender, buffer.carrier] = runs >> len(choices) & 1
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
