"""Jobs in this process go on from what the version before committed."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.executors.old_checkpoints import OLD, build, item_and_shop, shop_and_item
from tests.executors.rescaling import new_environment, run

from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import LocalStorage
from penstock.errors import KeyFieldOrderError


@pytest.fixture(params=["hashmap", "rocksdb"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def location(tmp_path: Path) -> Path:
    """Where both of the checkpoints are copied to."""
    return Path(shutil.copytree(OLD, tmp_path / "old"))


def itself(record: Any) -> Any:
    return record


def results(
    key: Any,
    on_record: Any = itself,
    parallelism: int = 2,
    location: Path | None = None,
    backend: str = "hashmap",
    **settings: str,
) -> Counter[str]:
    if location is not None:
        settings |= {"execution__state_recovery__renamed_from": "old"}
    environment = new_environment(parallelism, location, backend, **settings)
    return Counter(map(repr, run(environment, build(environment, key, on_record))))


def until_the_third_epoch(record: Any) -> Any:
    if record[1] >= 300:
        raise RuntimeError("the end of this run")
    return record


@pytest.fixture(scope="module")
def at_once() -> Counter[str]:
    """The results of a job that is not stopped."""
    return results(item_and_shop)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """The results up to the epoch that the checkpoints are of."""
    return results(item_and_shop, until_the_third_epoch, 2, tmp_path_factory.mktemp("first"))


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("moves", [True, False])
def test_state_timers_and_windows_go_on(
    moves: bool,
    parallelism: int,
    backend: str,
    location: Path,
    tmp_path: Path,
    before: Counter[str],
    at_once: Counter[str],
) -> None:
    place = location / "stopped"
    settings: dict[str, Any] = {}
    if moves:
        settings = {"execution__state_recovery__path": str(place)}
        place = tmp_path / "new"

    found = results(item_and_shop, itself, parallelism, place, backend, **settings)

    assert before
    assert before + found == at_once


def test_keys_that_are_others_now_are_refused(backend: str, location: Path) -> None:
    place = location / "stopped"
    epochs = StoredEpochs(LocalStorage(str(place)))
    before = epochs.numbers()

    with pytest.raises(KeyFieldOrderError, match=r"\(shop, item\), .* the order \(item, shop\)"):
        results(shop_and_item, itself, 2, place, backend)

    assert epochs.numbers() == before


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_job_that_was_drained_reads_on(
    parallelism: int, backend: str, location: Path, at_once: Counter[str]
) -> None:
    found = results(item_and_shop, itself, parallelism, location / "drained", backend)

    counts = {text for text in at_once if text.startswith("((")}
    late = {text for text in counts if int(text.split(", ")[1].rstrip(")")) >= 300}
    assert late
    assert late <= set(found)
    assert not counts - late & set(found)
