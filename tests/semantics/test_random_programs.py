"""Random programs give what their models say, wherever their input is cut into epochs and blocks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.semantics.pipelines import Records, Step, cut, inputs, letter, steps
from tests.semantics.running import epochs
from tests.strategies import any_of

from penstock.common import Configuration
from penstock.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.errors import LostBufferError
from penstock.executors.local import LocalRun
from penstock.runtime.epoch import Epoch
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.registry import Tasks
from penstock.testing import local_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
BLOCK_SIZES = st.sampled_from([1, 7, 1024])


def build(
    env: StreamExecutionEnvironment, sources: list[list[Records]], block: int, program: list[Step]
) -> DataStream:
    streams = [epochs(env, *cuts, block_size=block) for cuts in sources]
    for step in program:
        streams.append(step.build(streams))
    return streams[-1]


def expect(sources: list[Records], program: list[Step], *, final: bool) -> Records:
    known = list(sources)
    for step in program:
        known.append(step.expect(known, final=final))
    return known[-1]


@contextmanager
def disturbed(random: Random, *, processes: int, repeats: bool) -> Iterator[None]:
    """Disturb the epochs of the local executor, as a cluster may.

    Args:
        random: Makes the choices.
        processes: How many processes there seem to be, of which any may run a carrier: what one
            remembers may be older than the epoch before.
        repeats: Give up the first attempt of every epoch when it is done, and try again.
    """
    run_epoch, make_carrier = LocalRun.run_epoch, LocalRun._carrier
    tasks: list[Tasks] = []

    def carrier_of_any_process(self: LocalRun, *place: Any) -> Carrier:
        tasks.extend(Tasks(self._layout) for _ in range(processes - len(tasks)))
        self._tasks = random.choice(tasks)
        return make_carrier(self, *place)

    def run_disturbed(self: LocalRun, epoch: Epoch) -> Any:
        buffers = run_epoch(self, epoch)
        if repeats and epoch.attempt == 0:
            raise LostBufferError("The first attempt was given up.")
        return buffers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalRun, "_carrier", carrier_of_any_process)
        patch.setattr(LocalRun, "run_epoch", run_disturbed)
        yield


def in_order(env: StreamExecutionEnvironment, data: st.DataObject, longest: int) -> None:
    """With one subtask per operator, records come in the very order of the model."""
    block = data.draw(BLOCK_SIZES)
    records = data.draw(inputs(block))
    program = data.draw(steps(1, most=longest, parallelism=1, unions=False))
    result = build(env, [data.draw(cut(records))], block, program)

    assert list(result.execute_and_collect()) == expect([records], program, final=False)


def final_values(env: StreamExecutionEnvironment, data: st.DataObject, longest: int) -> None:
    """In BATCH mode a program of any shape and parallelism gives the records of the model."""
    block = data.draw(BLOCK_SIZES)
    sources = [data.draw(inputs(block, most=20)), data.draw(inputs(block, most=20))]
    program = data.draw(steps(2, most=longest))
    cuts = [data.draw(cut(records)) for records in sources]
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    result = build(env, cuts, block, program)

    assert Counter(result.execute_and_collect()) == Counter(expect(sources, program, final=True))


def after(known: tuple[int, Any], new: tuple[int, Any]) -> tuple[int, Any]:
    """Join what a record came after, as a checksum, and the record."""
    return crc32(repr((known, new)).encode()), new[1]


def rolling_values(env: StreamExecutionEnvironment, data: st.DataObject, longest: int) -> None:
    """In STREAMING mode a keyed reduce takes the records of its key one by one, in some order."""
    block = data.draw(BLOCK_SIZES)
    sources = [data.draw(inputs(block, most=2)), data.draw(inputs(block, most=2))]
    program = data.draw(steps(2, most=longest, folds=False))
    cuts = [data.draw(cut(records)) for records in sources]
    one_by_one = build(env, cuts, block, program).map(lambda record: (0, record))
    result = one_by_one.key_by(lambda value: letter(value[1])).reduce(after)

    by_key: dict[str, list[Any]] = defaultdict(list)
    for value in result.execute_and_collect():
        by_key[letter(value[1])].append(value)
    for rolling in by_key.values():
        assert list(accumulate(((0, record) for _, record in rolling), after)) == rolling
    found = [record for rolling in by_key.values() for _, record in rolling]
    assert Counter(found) == Counter(expect(sources, program, final=False))


Law = Callable[[StreamExecutionEnvironment, st.DataObject, int], None]
LAWS = pytest.mark.parametrize("law", [in_order, final_values, rolling_values])


@LAWS
@given(
    any_of(range(1, 6), ["hashmap", "rocksdb"], range(1, 4), [False, True], range(100)), st.data()
)
def test_random_programs(law: Law, where: tuple[Any, ...], data: st.DataObject) -> None:
    parallelism, backend, processes, repeats, seed = where
    env = local_environment(1 if law is in_order else parallelism)
    env.configure(Configuration().set_string("state.backend.type", backend))
    with disturbed(Random(seed), processes=processes, repeats=repeats):
        law(env, data, 8)


@LAWS
@FEW
@given(st.data())
@pytest.mark.spark
def test_random_programs_on_spark(spark: SparkSession, law: Law, data: st.DataObject) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    law(env.set_parallelism(1 if law is in_order else data.draw(st.integers(1, 5))), data, 5)
