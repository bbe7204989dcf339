"""Where a function finds the files that were registered for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import CachedFileNotFoundError
from penstock.runtime.job_files.job_files import JobFiles
from penstock.runtime.job_files.workplace import path_of


@dataclass(frozen=True)
class DistributedCache:
    """Where a function finds the files that were registered for it.

    PyFlink registers files, and has no way for a function to find them; the names are those of Flink in Java.

    Attributes:
        files: What the job brings along.
    """

    files: JobFiles = field(default_factory=JobFiles)

    def get_file(self, name: str) -> str:
        """Return the path of a file or folder on the machine that the function runs on.

        Args:
            name: The name that it was registered under.

        Raises:
            CachedFileNotFoundError: If there is none of that name.

        Example:
            >>> import tempfile
            >>> from pathlib import Path
            >>> from penstock.datastream import MapFunction
            >>> from penstock.testing import local_environment
            >>> class Price(MapFunction):
            ...     def open(self, runtime_context):
            ...         file = runtime_context.get_distributed_cache().get_file("prices")
            ...         self.prices = dict(line.split("=") for line in Path(file).read_text().split())
            ...
            ...     def map(self, value):
            ...         return self.prices[value]
            >>> prices = Path(tempfile.mkdtemp(), "prices.txt")
            >>> _ = prices.write_text("tea=3 jam=5")
            >>> env = local_environment()
            >>> env.register_cached_file(str(prices), "prices")
            >>> list(env.from_collection(["jam", "tea"]).map(Price()).execute_and_collect())
            ['5', '3']
        """
        for cached in self.files.cached:
            if cached.name == name:
                return path_of(self.files, cached)
        known = ", ".join(repr(cached.name) for cached in self.files.cached) or "none"
        raise CachedFileNotFoundError(
            f"No file is registered as {name!r}; there is {known}.",
            hint=f"Call env.register_cached_file(path, {name!r}) before the job is executed.",
        )
