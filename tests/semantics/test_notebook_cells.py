"""A cell of a notebook that defines a class again, while a job runs that was started with the one before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.semantics.running import run_script

SCRIPT = """
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    MapStateDescriptor,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.testing import TestingSource

CELL = '''
@dataclass
class Event:
    key: str
    n: int
    version = {version}
'''


def run_cell(version):
    exec(CELL.format(version=version), vars(sys.modules["__main__"]))


run_cell(1)


class Make(MapFunction):
    def map(self, n):
        return self.made(n)

    def made(self, n):
        return Event("a", n)


class Last(KeyedProcessFunction):
    def open(self, context):
        self.last = context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))
        descriptor = MapStateDescriptor("all", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        self.all = context.get_map_state(descriptor)

    def process_element(self, event, ctx):
        last = self.last.value()
        assert last is None or type(last) is type(event), (type(last), type(event))
        assert all(type(found) is type(event) for found in self.all.values())
        self.last.update(event)
        self.all.put(event.n, event)
        yield event


def add(one, other):
    assert type(one) is type(other) is Event, (type(one), type(other))
    one.n += other.n
    return one


def sums(numbers):
    events = numbers.map(Make()).rebalance().map(lambda event: event)
    return events.key_by(lambda event: event.key).process(Last()).key_by(lambda e: e.key).reduce(add)


def environment(target, backend, folder):
    settings = Configuration().set_string("execution.target", target)
    settings.set_string("state.backend.type", backend)
    settings.set_string("execution.checkpointing.dir", folder)
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.delay", "1 ms")
    return StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)


def told(event, first):
    return [event.version, event.n, type(event) is first]


failures = []


def interrupt(n):
    main = sys.modules["__main__"]
    if n == 3:
        main.run_cell(2)
    if n == 5 and not main.failures:
        main.failures.append(n)
        raise ValueError("once")
    return n


def in_this_process(backend, folder):
    run_cell(1)
    first = Event
    source = TestingSource([[n] for n in range(1, 7)])
    env = environment("local", backend, folder)
    made = Make.map
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").set_parallelism(1)
    found = [told(e, first) for e in sums(numbers.map(interrupt)).execute_and_collect()]
    assert Event is not first and Event.version == 2
    assert Make.map is made and type(Make().map(1)) is Event
    others = environment("local", backend, folder + "/other").from_collection([7])
    return found + [told(e, Event) for e in sums(others).execute_and_collect()]


def on_spark(backend, folder):
    from pyspark.sql import SparkSession

    run_cell(1)
    spark = SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.log.level", "ERROR").getOrCreate()
    first, found = Event, []
    files = Path(folder) / "numbers"
    files.mkdir()

    def put(n):
        new = Path(folder) / f"{n}.json"
        new.write_text(json.dumps({"n": n}))
        new.rename(files / new.name)

    put(1)
    rows = spark.readStream.schema("n int").json(str(files))
    env = environment("spark", backend, folder + "/checkpoint")
    with sums(env.from_data_frame(rows).map(lambda row: row.n)).execute_and_collect() as results:
        found.append(told(next(results), first))
        run_cell(2)
        second = Event
        env = environment("spark", backend, folder + "/other")
        others = [told(e, second) for e in sums(env.from_collection([7])).execute_and_collect()]
        put(2)
        found.append(told(next(results), first))
    spark.stop()
    return found + others


if __name__ == "__main__":
    run = {"local": in_this_process, "spark": on_spark}[sys.argv[1]]
    print(json.dumps(run(*sys.argv[2:])))
"""


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_job_in_this_process_goes_on_with_its_class(backend: str, tmp_path: Path) -> None:
    found = json.loads(run_script(tmp_path, SCRIPT, "local", backend, str(tmp_path / "checkpoint")))
    assert found == [[1, n, True] for n in (1, 3, 6, 10, 15, 21)] + [[2, 7, True]]


@pytest.mark.spark
def test_jobs_on_spark_go_on_with_their_classes(tmp_path: Path) -> None:
    found = json.loads(run_script(tmp_path, SCRIPT, "spark", "hashmap", str(tmp_path)))
    assert found == [[1, 1, True], [1, 3, True], [2, 7, True]]
