"""Where workers find the files that a session was given."""

from __future__ import annotations


def files_folder() -> str:
    """Return the folder of the files, in a worker."""
    # The client of Spark Connect, which the driver may be, has no such thing.
    from pyspark import SparkFiles

    return SparkFiles.getRootDirectory()
