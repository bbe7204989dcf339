"""The SparkSession that all sides share: penstock's own, on two cores."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.common import Configuration
from penstock.executors.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]


def shared_session(jars: Iterable[Path] = ()) -> SparkSession:
    """The session; with jars that a side needs, if it is not there yet."""
    return session_of(2, jars)


def session_of(cores: int, jars: Iterable[Path] = ()) -> SparkSession:
    """A session that runs so many tasks at once; the one that is there, if there is one."""
    # Workers import the functions of the sides that are written by hand from here.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.getenv("PYTHONPATH")]))
    settings = Configuration().set_string("spark.master", f"local[{cores}]")
    if named := ";".join(jar.as_uri() for jar in jars):
        settings.set_string("pipeline.jars", named)
    return session(None, settings)
