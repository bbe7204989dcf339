"""Writes the savepoints that the client of a running job asks for."""

from __future__ import annotations

import uuid

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.savepoint import check_place, write_savepoint
from penstock.checkpoint.storage import Storage, open_storage
from penstock.common.configuration import options
from penstock.common.configuration.configuration import Configuration
from penstock.errors import InvalidArgumentError, SavepointError
from penstock.executors.driver.epoch_gate import EpochGate

_ID_LENGTH = 6


class Savepoints:
    """Writes the savepoints of a running job.

    Args:
        job_id: The job's id.
        configuration: The job's configuration.
        gate: Knows the last epoch that was published.
    """

    def __init__(self, job_id: str, configuration: Configuration, gate: EpochGate) -> None:
        self._job_id = job_id
        self._directory = configuration.get(options.SAVEPOINT_DIR)
        self._gate = gate

    def place(self, path: str | None, directory: str | None) -> Storage:
        """Return where to write a savepoint.

        Args:
            path: The place itself.
            directory: Without one: a new folder below this. Default: the configured one.

        Raises:
            SavepointError: If nothing says where.
            InvalidArgumentError: If it is no path.
        """
        if not isinstance(directory, str | None):
            raise InvalidArgumentError(
                f"{directory!r} is no folder for savepoints.",
                hint="Give the path of a folder, or a URL, as a string.",
            )
        if path is not None:
            return open_storage(path)
        directory = directory or self._directory
        if not directory:
            raise SavepointError(
                "A savepoint was asked for, and nothing says where to write it.",
                hint="Name a directory, or set execution.checkpointing.savepoint-dir.",
            )
        name = f"savepoint-{self._job_id[:_ID_LENGTH]}-{uuid.uuid4().hex[:12]}"
        return open_storage(f"{directory.rstrip('/')}/{name}")

    def write(self, target: Storage) -> None:
        """Write a savepoint of the last epoch. No epoch may be running.

        Raises:
            SavepointError: If there is nothing to save, or the place is not empty.
        """
        write_savepoint(*self.check(), target, self._gate.open_files)

    def check_before_the_end(self, target: Storage) -> None:
        """Make sure, before a job is ended for it, that a savepoint can be written.

        Raises:
            SavepointError: If there is nothing to save, or the place is not empty or cannot be written.
        """
        source, _ = self.check()
        check_place(target, source)

    def check(self) -> tuple[Storage, EpochRecord]:
        """Return what there is to save.

        Raises:
            SavepointError: If there is nothing.
        """
        record, source = self._gate.last, self._gate.storage
        if record is None or source is None:
            raise SavepointError(
                "The job has nothing to go on from, so there is no savepoint of it.",
                hint="A bounded program runs as one epoch: run it again. Of others a savepoint can be "
                "taken once an epoch is complete.",
            )
        if record.is_last:
            raise SavepointError(
                "The job has read all of its input, so there is no savepoint to go on from.",
                hint="Take a savepoint while it runs. With execution.trigger: available-now a run ends, and the "
                "input does not.",
            )
        return source, record
