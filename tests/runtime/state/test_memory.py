from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.runtime.state import memory as state_memory
from penstock.runtime.state.memory import StateMemory, default_limit

GIGABYTE = 1 << 30


class State:
    """A state that notes that it was let go of."""

    def __init__(self) -> None:
        self.is_in_use = False
        self.is_held = True

    def let_go(self) -> None:
        self.is_held = False


def held(states: list[State]) -> list[int]:
    return [number for number, state in enumerate(states) if state.is_held]


class TestStateMemory:
    def test_lets_go_of_what_was_longest_not_used(self) -> None:
        memory, states = StateMemory(), [State() for _ in range(5)]
        for state in states[:4]:
            memory.note(state, 10, 40)
        memory.note(states[0], 10, 40)
        memory.note(states[4], 15, 40)

        assert held(states) == [0, 3, 4]
        assert memory.held == 35

    def test_never_lets_go_of_what_is_in_use(self) -> None:
        memory, states = StateMemory(), [State() for _ in range(3)]
        states[0].is_in_use = states[2].is_in_use = True
        for state in states:
            memory.note(state, 100, 50)

        assert held(states) == [0, 2]
        assert memory.held == 200

    def test_counts_what_a_state_takes_now(self) -> None:
        memory, state = StateMemory(), State()
        state.is_in_use = True
        for size in (10, 300, 20):
            memory.note(state, size, 1000)

        assert memory.held == 20
        memory.forget(state)
        memory.forget(state)
        assert memory.held == 0


class TestDefaultLimit:
    @pytest.fixture(autouse=True)
    def _machine(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        pages = {"SC_PAGE_SIZE": 1 << 12, "SC_PHYS_PAGES": 16 * GIGABYTE >> 12}
        monkeypatch.setattr("os.sysconf", pages.__getitem__)
        monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
        infinity = resource.RLIM_INFINITY
        monkeypatch.setattr("resource.getrlimit", lambda _: (infinity, infinity))
        self.container = tmp_path / "memory.max"
        monkeypatch.setattr(state_memory, "_CONTAINER", ("/not/there", str(self.container)))
        default_limit.cache_clear()

    @pytest.fixture(autouse=True)
    def _forget(self) -> Iterator[None]:
        yield
        default_limit.cache_clear()

    def test_is_a_part_of_the_machines_memory_for_each_core(self) -> None:
        assert default_limit() == 2 * GIGABYTE

    @pytest.mark.parametrize(("text", "limit"), [("max", 2 << 30), (f"{4 << 30}\n", 1 << 29)])
    def test_is_less_in_a_container(self, text: str, limit: int) -> None:
        self.container.write_text(text)

        assert default_limit() == limit

    def test_is_less_in_a_limited_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("resource.getrlimit", lambda _: (GIGABYTE, GIGABYTE))

        assert default_limit() == GIGABYTE // 2
