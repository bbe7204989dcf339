"""A job whose checkpoint location is in an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.inspection.jobs import environment, source

from penstock.checkpoint.storage import open_storage
from penstock.errors import UserFunctionError
from penstock.inspection import read_checkpoint, verify_checkpoint

if TYPE_CHECKING:
    from tests.servers.s3_server import S3Server

EPOCHS = [["a", "b"], ["a"], ["a", "b"], ["b"], []]


def count(location: str, *, backend: str, parallelism: int = 2, dies_at: str = "") -> list[Any]:
    """Count words, dying at the second record of a word; return what was counted."""

    def number(total: tuple[str, int], _: Any) -> tuple[str, int]:
        if total[0] == dies_at:
            raise ConnectionError("killed")
        return total[0], total[1] + 1

    env = environment(location, backend=backend, parallelism=parallelism)
    counts = source(env, EPOCHS).map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
    return sorted(counts.reduce(number).uid("counts").execute_and_collect())


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_job_started_again_goes_on(s3: tuple[S3Server, str], backend: str) -> None:
    _, location = s3
    with pytest.raises(UserFunctionError, match="killed"):
        count(location, backend=backend, dies_at="b")
    assert read_checkpoint(location).epoch == 1

    # The first start got as far as the third word.
    assert count(location, backend=backend) == [("a", 3), ("b", 2), ("b", 3)]

    assert verify_checkpoint(location).is_whole
    assert all(name.split("/")[0] != "prepared" for name in open_storage(location).names())


def test_answers_that_are_lost_on_the_way_change_nothing(s3: tuple[S3Server, str]) -> None:
    server, location = s3
    server.lost_answers = 3

    counts = count(location, backend="hashmap")

    assert server.lost_answers == 0
    assert counts == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("b", 3)]
