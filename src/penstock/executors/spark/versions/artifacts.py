"""Brings files to the workers of a session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.executors.spark.versions import classic
from penstock.executors.spark.versions.features import Feature, has


def add_code(spark: SparkSession, path: str) -> None:
    """Let workers import what is in a file."""
    if has(Feature.ARTIFACTS):
        spark.addArtifacts(path, pyfile=True)
    else:
        classic.add_code(spark, path)


def add_file(spark: SparkSession, path: str) -> None:
    """Bring a file to the folder of the workers' files."""
    if has(Feature.ARTIFACTS):
        spark.addArtifacts(path, file=True)
    else:
        classic.add_file(spark, path)


def add_archive(spark: SparkSession, path: str) -> None:
    """Have an archive unpacked in the folder of the workers' files, below the name behind its `#`."""
    if has(Feature.ARTIFACTS):
        spark.addArtifacts(path, archive=True)
    else:
        classic.add_archive(spark, path)
