"""A driver whose checkpoints are in an object store, in a process of its own: `python -m ... URL FOLDER`.

Spark's workers take the store's address and credentials from the environment in which its JVM began.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.executors.spark.runs.test_recovery import Died, Job, counted, dying

from penstock.checkpoint.leftovers import is_engine_folder_of
from penstock.common import Configuration
from penstock.executors.spark.session import session


def main(location: str, folder: str) -> None:
    """Die in the second epoch, and go on with another parallelism."""
    job = Job(session(None, Configuration().set_string("spark.master", "local[2]")), Path(folder))
    job.location = location
    frame = job.frame("a", files=3)
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, 1, commits=False)
        with pytest.raises(Died):
            job.run(frame)
    assert job.found == counted(0, 1)
    assert job.run(frame, parallelism=3) == counted(1, 2)
    # The first driver might still live, and write over what this one has planned.
    for record in job.committed().values():
        assert is_engine_folder_of(record.engine["folder"], record.generation)
    print("went on")


if __name__ == "__main__":
    main(*sys.argv[1:])
