from __future__ import annotations

import dataclasses
import enum
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest
from tests.inspection.jobs import (
    RULES,
    Rules,
    environment,
    remember,
    remember_until_killed,
    run,
    source,
)

from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.savepoint import write_savepoint
from penstock.checkpoint.storage import open_storage
from penstock.common import Duration, Time, WatermarkStrategy
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import (
    CheckpointNotFoundError,
    DamagedStateError,
    StateClassNotFoundError,
    UnknownOperatorError,
    UnknownStateError,
)
from penstock.inspection import Checkpoint, read_checkpoint, verify_checkpoint
from penstock.runtime.keys.key_groups import key_group

if TYPE_CHECKING:
    from tests.servers.s3_server import S3Server

MAP = "MapTypeInfo<PickledByteArrayTypeInfo, PickledByteArrayTypeInfo>"
RECORDS = [("ann", 1), ("bob", 2), ("ann", 3)]


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table, in an order that is always the same."""
    return sorted(table.to_pylist(), key=lambda row: sorted((k, repr(v)) for k, v in row.items()))


def values(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    """Some columns of the rows of a table, sorted."""
    return sorted(tuple(row[name] for name in names) for row in table.to_pylist())


@pytest.fixture(scope="module")
def locations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where a job with each backend has left its checkpoints: for reading alone."""
    found = {name: str(tmp_path_factory.mktemp(name)) for name in ("hashmap", "rocksdb")}
    for backend, location in found.items():
        remember(location, [RECORDS[:2], RECORDS[2:]], backend=backend)
    return found


@pytest.fixture(params=["hashmap", "rocksdb"])
def checkpoint(request: pytest.FixtureRequest, locations: dict[str, str]) -> Checkpoint:
    return read_checkpoint(locations[request.param])


class TestOperators:
    def test_shows_each_with_its_state(self, checkpoint: Checkpoint) -> None:
        memory = next(row for row in checkpoint.operators().to_pylist() if row["states"])

        assert memory["name"] == "Memory"
        assert memory["uid"] == "memory"
        assert (memory["parallelism"], memory["max_parallelism"]) == (2, 128)
        assert sorted(tuple(state.values()) for state in memory["states"]) == [
            ("list", "list", "ListTypeInfo<PickledByteArrayTypeInfo>", 3),
            ("map", "map", MAP, 3),
            ("seen", "value with time-to-live", "String", 2),
            ("sum", "reducing", "Long", 2),
            ("value", "value", "PickledByteArrayTypeInfo", 2),
        ]
        assert (memory["entries"], memory["timers"]) == (12, 4)
        assert memory["bytes"] > 100

    def test_shows_those_without_state(self, checkpoint: Checkpoint) -> None:
        first = checkpoint.operators().to_pylist()[0]

        assert first["name"] == "Source: records"
        assert first["states"] == []
        assert (first["entries"], first["timers"], first["bytes"]) == (0, 0, 0)

    def test_tells_what_it_is_of(self, checkpoint: Checkpoint) -> None:
        assert (checkpoint.job_name, checkpoint.epoch) == ("job", 1)
        assert repr(checkpoint).startswith("<Checkpoint of 'job' after epoch 1 at /")


class TestState:
    def test_values(self, checkpoint: Checkpoint) -> None:
        table = checkpoint.state("memory", "value")

        assert rows(table) == [
            {"key_group": key_group(key, 128), "key": key, "namespace": None, "value": value}
            for key, value in (("ann", 3), ("bob", 2))
        ]
        assert table.schema.field("value").type == pa.int64()

    def test_what_was_reduced(self, checkpoint: Checkpoint) -> None:
        found = checkpoint.state("memory", "sum")

        assert values(found, "key", "value") == [("ann", 2), ("bob", 1)]

    def test_elements_of_lists(self, checkpoint: Checkpoint) -> None:
        found = checkpoint.state("memory", "list")

        assert values(found, "key", "position", "value") == [
            ("ann", 0, 1),
            ("ann", 1, 3),
            ("bob", 0, 2),
        ]

    def test_entries_of_maps(self, checkpoint: Checkpoint) -> None:
        found = checkpoint.state("memory", "map")

        assert values(found, "key", "map_key", "value") == [
            ("ann", 1, "kept"),
            ("ann", 3, "kept"),
            ("bob", 2, "kept"),
        ]

    def test_when_what_expires_was_written(self, checkpoint: Checkpoint) -> None:
        found = checkpoint.state("memory", "seen")

        assert values(found, "key", "value") == [("ann", "yes"), ("bob", "yes")]
        written = found["written_at"].to_pylist()
        assert all(1_500_000_000_000 < millis < 10_000_000_000_000 for millis in written)

    def test_no_more_rows_than_asked_for(self, checkpoint: Checkpoint) -> None:
        assert checkpoint.state("memory", "list", limit=2).num_rows == 2
        assert checkpoint.state("memory", "list", limit=0).num_rows == 0
        assert checkpoint.timers("memory", limit=1).num_rows == 1

    def test_an_operator_is_known_by_uid_id_and_name(self, checkpoint: Checkpoint) -> None:
        every = checkpoint.operators().to_pylist()
        operator_id = next(row["operator_id"] for row in every if row["states"])

        found = [rows(checkpoint.state(name, "sum")) for name in ("memory", "Memory", operator_id)]

        assert found[0] == found[1] == found[2] != []

    def test_there_is_no_such_state(self, checkpoint: Checkpoint) -> None:
        with pytest.raises(UnknownStateError, match="'memory' has no state 'count'") as raised:
            checkpoint.state("memory", "count")
        assert "'sum'" in str(raised.value.hint)

    def test_there_is_no_such_operator(self, checkpoint: Checkpoint) -> None:
        with pytest.raises(UnknownOperatorError, match="no operator 'memories'") as raised:
            checkpoint.timers("memories")
        assert "'memory'" in str(raised.value.hint)

    def test_timers(self, checkpoint: Checkpoint) -> None:
        found = checkpoint.timers("memory")

        assert values(found, "key", "time_domain", "timestamp") == [
            ("ann", "event time", 1_000),
            ("ann", "processing time", 2**42),
            ("bob", "event time", 1_000),
            ("bob", "processing time", 2**42),
        ]
        assert set(found["key_group"].to_pylist()) == {key_group(k, 128) for k in ("ann", "bob")}


def test_reads_each_epoch_that_is_kept(tmp_path: Path) -> None:
    remember(str(tmp_path), [RECORDS[:2], RECORDS[2:]])

    first = read_checkpoint(str(tmp_path), epoch=0)

    assert values(first.state("memory", "value"), "key", "value") == [("ann", 1), ("bob", 2)]
    assert read_checkpoint(str(tmp_path)).epoch == 1


def test_a_job_that_has_ended_remembers_nothing(tmp_path: Path) -> None:
    remember(str(tmp_path), [RECORDS])

    end = read_checkpoint(str(tmp_path), epoch=1)

    assert sum(end.operators()["entries"].to_pylist()) == 0


def test_the_namespace_is_the_window(tmp_path: Path) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(0))
    env = environment(str(tmp_path))
    stream = source(env, [[("ann", 500), ("ann", 1_200)], []]).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record, _: record[1])
    )
    windows = stream.key_by(lambda record: record[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(1_000))
    )
    run(env, windows.reduce(lambda a, b: b).uid("windows"))
    checkpoint = read_checkpoint(str(tmp_path), epoch=0)
    summary = next(row for row in checkpoint.operators().to_pylist() if row["uid"] == "windows")

    found = checkpoint.state("windows", summary["states"][0]["name"])

    assert {"start": 1_000, "end": 2_000} in found["namespace"].to_pylist()
    assert {"start": 1_000, "end": 2_000} in checkpoint.timers("windows")["namespace"].to_pylist()


def test_broadcast_state_is_shown_once(tmp_path: Path) -> None:
    env = environment(str(tmp_path), parallelism=3)
    rules = source(env, [[("limit", 5), ("least", 1)], []], "rules").broadcast(RULES)
    stream = source(env, [[1, 2, 3], []]).connect(rules).process(Rules()).uid("checked")
    run(env, stream)
    checkpoint = read_checkpoint(str(tmp_path), epoch=0)

    found = checkpoint.state("checked", "rules")

    assert rows(found) == [
        {"map_key": "least", "value": 1},
        {"map_key": "limit", "value": 5},
    ]
    summary = next(row for row in checkpoint.operators().to_pylist() if row["uid"] == "checked")
    (state,) = summary["states"]
    assert (state["name"], state["kind"], state["entries"]) == ("rules", "broadcast map", 2)


def test_another_parallelism_reads_the_same(tmp_path: Path) -> None:
    records = [(f"key {number}", number) for number in range(50)]
    found = []
    for parallelism in (1, 5):
        folder = tmp_path / str(parallelism)
        remember(str(folder), [records], parallelism=parallelism)
        found.append(rows(read_checkpoint(str(folder)).state("memory", "value")))

    assert found[0] == found[1]
    assert len(found[0]) == 50


def test_a_job_that_was_rescaled(tmp_path: Path) -> None:
    early = [[(f"key {number}", number)] for number in range(20)]
    late = [[(f"key {number}", -number) for number in range(20, 40)], [("key 3", -3)]]
    remember_until_killed(str(tmp_path), early, parallelism=2)
    remember_until_killed(str(tmp_path), [*early, *late], parallelism=5)

    checkpoint = read_checkpoint(str(tmp_path))

    expected = {key: value for epoch in [*early, *late] for key, value in epoch}
    assert dict(values(checkpoint.state("memory", "value"), "key", "value")) == expected
    assert checkpoint.state("memory", "value").num_rows == 40
    assert checkpoint.state("memory", "list").num_rows == 41
    assert checkpoint.timers("memory").num_rows == 80


def test_what_has_no_arrow_type_is_shown_as_text(tmp_path: Path) -> None:
    remember(str(tmp_path), [[("ann", 1), ("bob", "two")]])

    table = read_checkpoint(str(tmp_path)).state("memory", "value")

    assert values(table, "key", "value") == [("ann", "1"), ("bob", "'two'")]
    assert table["value_pickled"].type == pa.binary()


class Shop:
    """Classes of a module that is there while the job runs."""

    @dataclasses.dataclass(frozen=True)
    class Order:
        number: int
        price: float = 1.5

    class Item(NamedTuple):
        name: str

    class Size(enum.Enum):
        BIG = 3

    class Basket(list[Any]):
        pass

    class Prices(dict[str, Any]):
        pass


@pytest.fixture
def shop() -> Iterator[ModuleType]:
    module = ModuleType("a_shop")
    for name, member in list(vars(Shop).items()):
        if isinstance(member, type):
            member.__module__ = "a_shop"
            member.__qualname__ = name
            setattr(module, name, member)
    sys.modules["a_shop"] = module
    yield module
    sys.modules.pop("a_shop", None)


def test_classes_that_cannot_be_imported_are_named(tmp_path: Path, shop: ModuleType) -> None:
    kept = [
        ("order", shop.Order(7)),
        ("item", shop.Item("tea")),
        ("size", shop.Size.BIG),
        ("basket", shop.Basket([1, shop.Item("cup")])),
        ("prices", shop.Prices(a=1)),
    ]
    env = environment(str(tmp_path))
    stream = source(env, [kept, []]).key_by(lambda record: record[0])
    run(env, stream.reduce(lambda a, b: b).uid("memory"))
    del sys.modules["a_shop"]

    table = read_checkpoint(str(tmp_path)).state("memory", "reduce")

    found = {row["value"]["f0"]: row["value"]["f1"] for row in table.to_pylist()}
    # Python before 3.11.4 pickles members by their names.
    assert found.pop("size") in ("Size(3)", "Size('BIG')")
    assert found == {
        "order": "Order(number=7, price=1.5)",
        "item": "Item('tea')",
        "basket": "Basket(1, Item('cup'))",
        "prices": "Prices(('a', 1))",
    }


def test_keys_whose_class_cannot_be_imported(tmp_path: Path, shop: ModuleType) -> None:
    orders = [shop.Order(7), shop.Order(8), shop.Order(7)]
    remember(str(tmp_path), [[("", order) for order in orders]], key=lambda record: record[1])
    del sys.modules["a_shop"]

    checkpoint = read_checkpoint(str(tmp_path))

    assert values(checkpoint.state("memory", "sum"), "key", "value") == [
        ("Order(number=7, price=1.5)", 2),
        ("Order(number=8, price=1.5)", 1),
    ]
    assert values(checkpoint.state("memory", "map"), "map_key", "value") == [
        ("Order(number=7, price=1.5)", "kept"),
        ("Order(number=8, price=1.5)", "kept"),
    ]
    assert checkpoint.timers("memory").num_rows == 4


def test_keys_that_cannot_be_told_to_which_subtask_they_belong(
    tmp_path: Path, shop: ModuleType
) -> None:
    epochs = [[(shop.Order(number), number)] for number in range(3)]
    remember_until_killed(str(tmp_path), epochs, parallelism=2)
    remember_until_killed(str(tmp_path), [*epochs, [(shop.Order(0), 7)]], parallelism=3)
    known = values(read_checkpoint(str(tmp_path)).state("memory", "value"), "value")
    del sys.modules["a_shop"]

    with pytest.raises(StateClassNotFoundError, match=r"of the key Order\(number=\d, price=1.5\)"):
        read_checkpoint(str(tmp_path)).state("memory", "value")
    assert known == [(1,), (2,), (7,)]


def test_classes_that_can_be_imported_become_structs(tmp_path: Path, shop: ModuleType) -> None:
    remember(str(tmp_path), [[("a", shop.Order(7)), ("b", shop.Order(8, 2.5))]])

    table = read_checkpoint(str(tmp_path)).state("memory", "value")

    assert table["value"].type == pa.struct([("number", pa.int64()), ("price", pa.float64())])


def test_classes_are_not_imported_where_that_is_not_wanted(
    tmp_path: Path, shop: ModuleType
) -> None:
    remember(str(tmp_path), [[("a", shop.Order(7)), (shop.Order(1), (1, "two"))]])

    table = read_checkpoint(str(tmp_path), import_classes=False).state("memory", "value")

    assert set(values(table, "key", "value")) == {
        ("a", "Order(number=7, price=1.5)"),
        ("Order(number=1, price=1.5)", "(1, 'two')"),
    }


def test_there_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointNotFoundError, match=f"no checkpoint at {tmp_path}"):
        read_checkpoint(str(tmp_path))


def test_there_is_no_such_epoch(tmp_path: Path) -> None:
    remember(str(tmp_path), [RECORDS])

    with pytest.raises(CheckpointNotFoundError, match=r"Epoch 9 is not at .*\[0, 1\]") as raised:
        read_checkpoint(str(tmp_path), epoch=9)
    assert "num-retained" in str(raised.value.hint)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    remember(str(tmp_path), [RECORDS])
    files = [
        Path(folder) / name for folder, _, names in os.walk(tmp_path / "state") for name in names
    ]
    for file in files:
        file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(DamagedStateError, match=f"{files[0]}|{files[-1]}"):
        read_checkpoint(str(tmp_path)).operators()


def test_a_job_that_runs_deletes_what_is_being_read(tmp_path: Path) -> None:
    remember(str(tmp_path), [RECORDS])
    checkpoint = read_checkpoint(str(tmp_path), epoch=0)
    (tmp_path / "epochs" / "00000000").unlink()
    shutil.rmtree(tmp_path / "state")

    with pytest.raises(CheckpointNotFoundError, match=r"Epoch 0 was deleted .* while it was read"):
        checkpoint.operators()


def test_reads_from_an_object_store(s3: tuple[S3Server, str]) -> None:
    _, location = s3
    remember(location, [RECORDS])

    found = read_checkpoint(location).state("memory", "value")

    assert values(found, "key", "value") == [("ann", 3), ("bob", 2)]


def test_reads_a_savepoint_wherever_it_was_moved_to(tmp_path: Path) -> None:
    remember(str(tmp_path / "job"), [RECORDS])
    job, written = (open_storage(str(tmp_path / name)) for name in ("job", "written"))
    record = StoredEpochs(job).get(0)
    assert record is not None
    write_savepoint(job, record, written)
    shutil.rmtree(tmp_path / "job")
    (tmp_path / "written").rename(tmp_path / "moved")

    savepoint = read_checkpoint(str(tmp_path / "moved"))

    assert values(savepoint.state("memory", "value"), "key", "value") == [("ann", 3), ("bob", 2)]
    assert verify_checkpoint(str(tmp_path / "moved")).is_whole
