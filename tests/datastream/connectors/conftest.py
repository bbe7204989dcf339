from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.datastream.connectors.sink_job import NewJob, SinkJob

from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink


@pytest.fixture
def new_job(tmp_path: Path) -> Iterator[NewJob]:
    """Makes jobs of a sink, which are closed in the end."""
    with ExitStack() as jobs:

        def make(sink: TwoPhaseCommitSink, **options: Any) -> SinkJob:
            job = SinkJob(sink, tmp_path / "job", **options)
            jobs.callback(job.close)
            return job

        yield make
