from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from collections.abc import Iterator

import pytest
from tests.runtime.programs import Journal, ProgramBuilder, tasks_for

from penstock.errors import UserFunctionError
from penstock.runtime import job_pickle
from penstock.runtime.context import RuntimeContext
from penstock.runtime.epoch import Epoch
from penstock.runtime.job_pickle import dump_code, job_classes
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import Program
from penstock.runtime.task import registry
from penstock.runtime.task.registry import forget, tasks_of
from penstock.runtime.task.subtask import Subtask

EPOCH = Epoch("job")


@pytest.fixture(autouse=True)
def _no_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_RUNS", OrderedDict())
    # A worker has the classes of its job from then on; this process goes on with other tests.
    with job_classes({}, {}):
        yield


class Function:
    """Writes down when it is opened and closed."""

    def __init__(self, journal: Journal, fails: bool = False) -> None:
        self._journal = journal
        self._fails = fails

    def open(self, context: RuntimeContext) -> None:
        self._journal.append(f"open {context.get_task_name_with_subtasks()}")

    def map(self, value: int) -> int:
        return value

    def close(self) -> None:
        self._journal.append("close")
        if self._fails:
            raise OSError("close failed")


def program(*functions: Function) -> Program:
    builder = ProgramBuilder()
    for function in functions:
        builder.source([[1]], MapOperator(function), parallelism=2)
    return builder.build()


class TestTasks:
    def test_live_until_they_are_discarded(self) -> None:
        journal = Journal()
        tasks = tasks_for(program(Function(journal)))
        [vertex] = tasks.layout.program.vertices
        one = tasks.get(vertex, 0, EPOCH)

        assert tasks.get(vertex, 0, EPOCH) is one
        assert tasks.get(vertex, 1, EPOCH) is not one
        tasks.discard(0, 0)
        tasks.discard(0, 7)
        assert tasks.get(vertex, 0, EPOCH) is not one
        assert journal == ["open Op0.1 (1/2)", "open Op0.1 (2/2)", "open Op0.1 (1/2)"]

    def test_are_closed_together(self) -> None:
        journal = Journal()
        tasks = tasks_for(program(Function(journal), Function(journal)))
        for vertex in tasks.layout.program.vertices:
            tasks.get(vertex, 0, EPOCH)
        journal.clear()

        tasks.close()
        tasks.close()

        assert journal == ["close", "close"]

    def test_are_all_closed_even_if_one_cannot_be(self) -> None:
        journal = Journal()
        tasks = tasks_for(program(Function(journal, fails=True), Function(journal)))
        for vertex in tasks.layout.program.vertices:
            tasks.get(vertex, 0, EPOCH)
        journal.clear()

        with pytest.raises(UserFunctionError, match="close failed"):
            tasks.close()

        assert journal == ["close", "close"]

    def test_are_closed_from_time_to_time_where_their_state_is_too_old(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        journal = Journal()
        tasks = tasks_for(program(Function(journal, fails=True)))
        [vertex] = tasks.layout.program.vertices
        old, new = (tasks.get(vertex, sender, EPOCH) for sender in range(2))
        monkeypatch.setattr(Subtask, "can_run", lambda *_: False)
        new.last_epoch = 16

        tasks.drop_stale(Epoch("job", 15))
        assert "close" not in journal
        tasks.drop_stale(Epoch("job", 16))
        tasks.drop_stale(Epoch("job", 17))

        assert journal.count("close") == 1
        assert old not in tasks._subtasks.values()
        assert new in tasks._subtasks.values()

    def test_share_the_prototype_of_a_head(self) -> None:
        tasks = tasks_for(program(Function(Journal())))
        [vertex] = tasks.layout.program.vertices

        assert tasks.head_prototype(vertex) is tasks.head_prototype(vertex)
        assert tasks.head_prototype(vertex) is not tasks.get(vertex, 0, EPOCH).chain.operators[0]


class TestRuns:
    def test_are_loaded_once_in_a_process(self) -> None:
        content = pickle.dumps(program(Function(Journal())))
        tasks = tasks_of("a", content, 4)

        assert tasks_of("a", b"not looked at", 4) is tasks
        assert tasks_of("b", content, 4) is not tasks
        assert tasks.layout.cores == 4

    def test_are_closed_when_they_are_forgotten(self) -> None:
        journal = Journal()
        tasks = tasks_of("a", pickle.dumps(program(Function(journal))), 2)
        tasks.get(tasks.layout.program.vertices[0], 0, EPOCH)

        forget("b")
        assert "close" not in journal
        forget("a")
        forget("a")

        assert journal == ["open Op0.1 (1/2)", "close"]

    def test_make_room_for_new_ones_if_they_have_nothing_open(self) -> None:
        journal = Journal()
        content = pickle.dumps(program(Function(journal)))
        oldest = tasks_of("job 0", content, 2)
        oldest.get(oldest.layout.program.vertices[0], 0, EPOCH)
        others = [tasks_of(f"job {number}", content, 2) for number in range(1, 40)]

        assert journal == ["open Op0.1 (1/2)"]
        assert tasks_of("job 0", b"not looked at", 2) is oldest
        assert tasks_of("job 39", b"not looked at", 2) is others[-1]
        assert len(registry._RUNS) <= 16

    def test_all_stay_that_have_something_open(self) -> None:
        journal = Journal()
        content = pickle.dumps(program(Function(journal)))
        for _ in range(3):
            for number in range(40):
                tasks = tasks_of(f"job {number}", content, 2)
                tasks.get(tasks.layout.program.vertices[0], 0, EPOCH)

        assert journal == ["open Op0.1 (1/2)"] * 40

    def test_are_closed_after_a_long_time_without_use_if_there_are_many(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = 0.0
        monkeypatch.setattr("penstock.runtime.task.registry.time.monotonic", lambda: now)
        content = pickle.dumps(program(Function(journal := Journal())))
        for number in range(20):
            now += 1
            tasks = tasks_of(f"job {number}", content, 2)
            tasks.get(tasks.layout.program.vertices[0], 0, EPOCH)
        now = 605.5
        tasks_of("job 3", content, 2)
        tasks_of("new", content, 2)

        # Jobs 0, 1, 2 and 4 were last used ten minutes ago.
        assert journal.count("close") == 4
        assert "job 3" in registry._RUNS
        assert "job 5" in registry._RUNS

    def test_that_have_ended_are_closed_by_the_tasks_of_others(self) -> None:
        journal = Journal()
        content = pickle.dumps(program(Function(journal, fails=True)))
        for name in ("a", "b"):
            tasks = tasks_of(name, content, 2)
            tasks.get(tasks.layout.program.vertices[0], 0, EPOCH)

        tasks_of("c", content, 2, ended=("a", "unknown", "c"))

        assert journal == ["open Op0.1 (1/2)"] * 2 + ["close"]
        assert list(registry._RUNS) == ["b", "c"]


class TestMainClasses:
    @pytest.fixture
    def name(self) -> Iterator[str]:
        name = "ClassOfTheScript"
        yield name
        vars(sys.modules["__main__"]).pop(name, None)

    def test_come_with_the_program(self, name: str) -> None:
        made = type(name, (), {"__module__": "__main__"})
        builder = ProgramBuilder(main_classes=dump_code({name: made}))
        builder.source([[1]])

        tasks_of("a", pickle.dumps(builder.build()), 2)

        assert hasattr(sys.modules["__main__"], name)

    def test_are_those_of_the_job_that_has_a_task(self, name: str) -> None:
        def made(answer: int) -> bytes:
            kind = type(name, (), {"__module__": "__main__", "answer": answer})
            builder = ProgramBuilder(main_classes=dump_code({name: kind}))
            builder.source([[1]])
            return pickle.dumps(builder.build())

        programs = {"a": made(1), "b": made(2)}
        for job_id, answer in [("a", 1), ("b", 2), ("a", 1), ("b", 2)]:
            tasks_of(job_id, programs[job_id], 2)
            assert getattr(sys.modules["__main__"], name).answer == answer

    def test_may_be_none(self) -> None:
        before = dict(vars(sys.modules["__main__"]))
        job_pickle.install({}, {})

        assert vars(sys.modules["__main__"]) == before
