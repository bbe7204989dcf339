from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common.configuration import remarks
from penstock.datastream import MemorySize, SlotSharingGroup
from penstock.errors import InvalidArgumentError
from penstock.testing import local_environment

builder = SlotSharingGroup.builder


def test_a_group_is_a_name_and_what_it_is_to_have() -> None:
    group = (
        builder("g")
        .set_cpu_cores(1)
        .set_task_heap_memory_mb(100)
        .set_task_off_heap_memory_mb(7)
        .set_managed_memory(MemorySize.of_mebi_bytes(8))
        .set_external_resource("gpu", 1.0)
        .build()
    )

    assert (group.get_name(), group.get_cpu_cores()) == ("g", 1.0)
    assert str(group.get_task_heap_memory()) == "100 mb"
    assert str(group.get_task_off_heap_memory()) == "7 mb"
    assert str(group.get_managed_memory()) == "8 mb"
    assert group.get_external_resources() == {"gpu": 1.0}


def test_what_is_not_said_is_nothing_of_a_group_with_resources_and_none_of_others() -> None:
    some = builder("g").set_cpu_cores(0.5).set_task_heap_memory_mb(1).build()
    none = builder("g").build()

    assert some.get_managed_memory() == some.get_task_off_heap_memory() == MemorySize(0)
    assert (none.get_managed_memory(), none.get_task_heap_memory()) == (None, None)
    assert (none.get_task_off_heap_memory(), none.get_cpu_cores()) == (None, None)
    assert some != none == builder("g").build() != builder("h").build()
    assert hash(none) == hash(builder("g").build())


@pytest.mark.parametrize(
    "build",
    [
        lambda: builder("g").set_cpu_cores(1.0).build(),
        lambda: builder("g").set_task_heap_memory_mb(1).build(),
        lambda: builder("g").set_managed_memory_mb(1).build(),
        lambda: builder("g").set_external_resource("gpu", 1.0).build(),
        lambda: builder("g").set_cpu_cores(0.0),
        lambda: builder("g").set_cpu_cores(-1.0),
        lambda: builder("g").set_task_heap_memory_mb(0),
        lambda: builder("g").set_task_heap_memory_mb(-1),
    ],
)
def test_a_group_that_cannot_be_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises(InvalidArgumentError):
        build()


def test_memory_is_given_as_such() -> None:
    text: Any = "512 mb"
    for set_memory in (
        builder("g").set_task_heap_memory,
        builder("g").set_task_off_heap_memory,
        builder("g").set_managed_memory,
    ):
        with pytest.raises(InvalidArgumentError, match="'512 mb', which is no MemorySize"):
            set_memory(text)


def test_operators_of_a_group_run_in_chains_of_their_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(remarks, "_said", set())
    group = builder("g").set_cpu_cores(1.0).set_task_heap_memory_mb(1).build()
    env = local_environment().register_slot_sharing_group(group)
    texts = env.from_collection([1, 2]).map(str).name("text").slot_sharing_group(group)

    assert "chains" in str(texts.explain())
    assert list(texts.execute_and_collect()) == ["1", "2"]
    assert "`spark.executor.cores`" in caplog.text
    with pytest.raises(InvalidArgumentError, match="'g' is no slot sharing group"):
        env.register_slot_sharing_group("g")  # type: ignore[arg-type]
