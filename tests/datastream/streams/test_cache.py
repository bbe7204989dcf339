from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.common import Configuration
from penstock.datastream.streams.cache import StreamCache
from penstock.errors import CacheNotKeptWarning
from penstock.graph.transformation import Transformation, TransformationIds

CACHED_AT_THE_END = """
import sys
from penstock.common import Configuration
from penstock.datastream import RuntimeExecutionMode
from penstock.testing import local_environment
env = local_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
env.configure(Configuration().set_string("execution.checkpointing.dir", sys.argv[1]))
numbers = env.from_collection([1]).cache()
print(list(numbers.execute_and_collect()), end="")
"""


def new_cache() -> StreamCache:
    ids = TransformationIds()
    return StreamCache(Transformation(id=ids(), name="Map"), ids)


def test_records_on_other_machines_are_no_cache(tmp_path: Path) -> None:
    cache = new_cache()
    (tmp_path / "epochs").mkdir()
    (tmp_path / "epochs" / "0000000000").write_text(json.dumps([[0, "records/a"]]))
    with pytest.warns(CacheNotKeptWarning, match=r"execution.checkpointing.dir"):
        cache.fill(str(tmp_path))
    assert not cache.is_filled
    assert not tmp_path.exists()


def test_what_a_second_job_computed_meanwhile_is_removed(tmp_path: Path) -> None:
    cache = new_cache()
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        cache.fill(str(tmp_path / name))
    assert cache.is_filled
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    cache.invalidate()
    assert list(tmp_path.iterdir()) == []


def test_each_job_keeps_records_in_a_place_of_its_own(tmp_path: Path) -> None:
    cache = new_cache()
    settings = Configuration().set_string("execution.checkpointing.dir", f"{tmp_path}/")
    sinks = [cache.filling(settings)[0] for _ in range(2)]
    places = {sink.operator.sink.location for sink in sinks}  # type: ignore[attr-defined]
    assert len(places) == 2
    assert all(place.startswith(f"{tmp_path}/cached/") for place in places)
    assert len({sink.id for sink in sinks}) == 2


def test_nothing_is_left_when_the_process_has_ended(tmp_path: Path) -> None:
    place = tmp_path / "dir"
    script = [sys.executable, "-c", CACHED_AT_THE_END, str(place)]
    run = subprocess.run(script, capture_output=True, text=True, timeout=60, check=True)
    assert (run.stdout, run.stderr) == ("[1]", "")
    assert list((place / "cached").iterdir()) == []
