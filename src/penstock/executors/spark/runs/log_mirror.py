"""Spark's record of offsets on the driver's disk, with a copy where the checkpoints are.

Spark reaches an object store by way of Hadoop's connectors, which PySpark does not bring. So it writes to the
driver's disk, and before an epoch is committed what it has written is copied.
"""

from __future__ import annotations

import os
import shutil
import tempfile

from penstock.checkpoint.storage import LocalStorage, Storage


class LogMirror:
    """Spark's record of offsets on the driver's disk, with a copy where the checkpoints are.

    Args:
        storage: The job's storage.

    Attributes:
        local: Where Spark writes.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._own = tempfile.mkdtemp(prefix="penstock-offsets-")
        # Below it, for what is removed to be made again must not be anybody else's in between.
        self.local = LocalStorage(os.path.join(self._own, "log"))
        self._folder = ""
        self._copied: set[str] = set()

    def fetch(self, folder: str) -> str:
        """Bring a folder of the storage to the disk, and return where Spark finds it."""
        shutil.rmtree(self.local.location, ignore_errors=True)
        self._folder = folder
        self._copied = set(self._storage.names(folder))
        for name in self._copied:
            self.local.write(name, self._storage.chunks(name))
        return self.local.url(folder)

    def send(self) -> None:
        """Copy what Spark has written to the storage, and delete there what it has deleted.

        Spark never changes a file of its logs.
        """
        written = set(self.local.names(self._folder))
        for name in sorted(written - self._copied):
            self._storage.write(name, self.local.chunks(name))
        self._storage.delete(self._copied - written)
        self._copied = written

    def close(self) -> None:
        """Remove what is on the disk."""
        shutil.rmtree(self._own, ignore_errors=True)
