"""What a classic session of Spark 3.5 has only in its Spark context, and that of Spark 4 and of Spark Connect in itself."""

from __future__ import annotations

from pyspark.sql import SparkSession


def add_code(spark: SparkSession, path: str) -> None:
    """Let workers import what is in a file."""
    spark.sparkContext.addPyFile(path)


def add_file(spark: SparkSession, path: str) -> None:
    """Bring a file to the folder of the workers' files."""
    spark.sparkContext.addFile(path)


def add_archive(spark: SparkSession, path: str) -> None:
    """Have an archive unpacked in the folder of the workers' files, below the name behind its `#`."""
    spark.sparkContext.addArchive(path)


def tag_thread(spark: SparkSession, tag: str) -> None:
    """Give a tag to all that the calling thread has Spark do from now on."""
    spark.sparkContext.addJobTag(tag)


def interrupt_tagged(spark: SparkSession, tag: str) -> None:
    """Interrupt what has a tag."""
    spark.sparkContext.cancelJobsWithTag(tag)
