"""What keeps the records of a cached stream from one execution of an environment to the next."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import uuid
import warnings
from collections.abc import Iterable
from typing import Final

from penstock.checkpoint.storage import LocalStorage, open_storage
from penstock.common.configuration import Configuration
from penstock.common.configuration.options import CHECKPOINT_DIR
from penstock.common.epoch_listener import EpochCompleted, EpochListener, JobEnded
from penstock.common.job_status import JobStatus
from penstock.datastream.connectors.cached_records import (
    CachedFile,
    CachedRecords,
    CacheSink,
    are_there,
    committed_files,
)
from penstock.errors import CacheNotKeptWarning
from penstock.graph.stream_graph import all_steps
from penstock.graph.transformation import (
    CacheTransformation,
    OperatorTransformation,
    Transformation,
    TransformationIds,
)
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.private_folder import private_folder

_NAME: Final = "Cache"
_KEPT: Final[set[tuple[int, str]]] = set()
"""Where there are records still, and the process that keeps them."""


class StreamCache:
    """The records of a stream, once a job that computes them has finished.

    Args:
        computed: What computes them.
        new_id: Numbers transformations.

    Attributes:
        transformation: What readers of the stream have as their input.
    """

    def __init__(self, computed: Transformation, new_id: TransformationIds) -> None:
        self._new_id = new_id
        # Inputs have lower numbers than what reads them.
        self._source_id = new_id()
        self.transformation = CacheTransformation(
            id=new_id(),
            name=_NAME,
            inputs=(computed,),
            computed=computed,
            cache=self,
            parallelism=computed.parallelism,
            output_type=computed.output_type,
        )
        self._location: str | None = None
        self._files: list[CachedFile] = []

    def look(self) -> None:
        """Forget the records if they are gone, as temporary files may be."""
        if self._location is not None and not are_there(self._location, self._files):
            self.invalidate()

    @property
    def is_filled(self) -> bool:
        """Whether the records are kept."""
        return self._location is not None

    def filling(self, configuration: Configuration) -> tuple[OperatorTransformation, EpochListener]:
        """Return the end of a program that keeps the records, and what is to hear of its job."""
        location = _new_location(configuration)
        sink = OperatorTransformation(
            id=self._new_id(),
            name=f"Sink: {_NAME}",
            inputs=(self.transformation,),
            operator=CacheSink(location).create_operator(),
            is_sink=True,
            uid=f"{_NAME} {self.transformation.id}",
            parallelism=self.transformation.parallelism,
        )
        return sink, _Filling(self, location)

    def fill(self, location: str) -> None:
        """Take what a job has kept, unless another did so before."""
        files = committed_files(location)
        if self.is_filled or not are_there(location, files):
            if not self.is_filled:
                warnings.warn(
                    CacheNotKeptWarning(
                        "The records of a cached stream are on other machines, and will be computed again. Set "
                        "execution.checkpointing.dir to what the driver and all workers reach."
                    ),
                    stacklevel=2,
                )
            remove(location)
            return
        self._location, self._files = location, files
        _KEPT.add((os.getpid(), location))
        computed = self.transformation.computed
        self.transformation.inputs = (
            OperatorTransformation(
                id=self._source_id,
                name=f"Source: {_NAME}",
                operator=SourceOperator(records := CachedRecords(location, files)),
                source=records,
                parallelism=computed.parallelism,
                output_type=computed.output_type,
                is_internal=True,
            ),
        )

    def invalidate(self) -> None:
        """Forget the records: they are computed again when they are needed."""
        location, self._location, self._files = self._location, None, []
        self.transformation.inputs = (self.transformation.computed,)
        if location is not None:
            _KEPT.discard((os.getpid(), location))
            remove(location)


class _Filling(EpochListener):
    """Fills a cache when its job has finished, if that has computed all from the beginning."""

    def __init__(self, cache: StreamCache, location: str) -> None:
        self._cache, self._location = cache, location
        self._first: int | None = None

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        if self._first is None:
            self._first = event.epoch

    def on_job_ended(self, event: JobEnded) -> None:
        if event.status is JobStatus.FINISHED and self._first == 0:
            self._cache.fill(self._location)
        else:
            remove(self._location)


def caches_behind(sinks: Iterable[Transformation]) -> list[StreamCache]:
    """Return the caches from which sinks get their records, or on the way to them."""
    return [step.cache for step in all_steps(sinks) if isinstance(step, CacheTransformation)]


def _new_location(configuration: Configuration) -> str:
    """Return a place that all workers reach, if the configuration names one."""
    place = configuration.get(CHECKPOINT_DIR)
    name = uuid.uuid4().hex
    if place:
        return f"{place.rstrip('/')}/cached/{name}"
    return os.path.join(private_folder(), f"cached-{name}")


def remove(location: str) -> None:
    """Delete what is kept at a location."""
    storage = open_storage(location)
    if isinstance(storage, LocalStorage):
        shutil.rmtree(storage.location, ignore_errors=True)
    else:
        storage.delete(storage.names())


@atexit.register
def _remove_all() -> None:
    # A process that was forked off inherits what is to be done at the end of its parent.
    for _, location in filter(lambda kept: kept[0] == os.getpid(), _KEPT):
        with contextlib.suppress(Exception):
            remove(location)
