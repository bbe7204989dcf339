"""Where streams are read from and written to."""

from __future__ import annotations

from penstock.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from penstock.datastream.connectors.hybrid_source import HybridSource, HybridSourceBuilder
from penstock.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from penstock.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaSource,
    Semantic,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.connectors.postgres import PostgresSink
from penstock.datastream.connectors.spark import SparkSink
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink

__all__ = [
    "BucketAssigner",
    "DeliveryGuarantee",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "HybridSource",
    "HybridSourceBuilder",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "KafkaSource",
    "NumberSequenceSource",
    "OutputFileConfig",
    "PostgresSink",
    "RollingPolicy",
    "Semantic",
    "Sink",
    "Source",
    "SparkSink",
    "StreamFormat",
    "StreamingFileSink",
    "TwoPhaseCommitSink",
]
