"""Files: where PyFlink has them."""

from __future__ import annotations

from penstock.datastream.connectors.files.compaction import FileCompactor, FileCompactStrategy
from penstock.datastream.connectors.files.file_sink import FileSink
from penstock.datastream.connectors.files.file_source import (
    BulkFormat,
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)
from penstock.datastream.connectors.files.policies import (
    BucketAssigner,
    BucketContext,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    PartFileInfo,
    RollingPolicy,
)
from penstock.datastream.connectors.files.streaming_file_sink import StreamingFileSink

__all__ = [
    "BucketAssigner",
    "BucketContext",
    "BulkFormat",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PartFileInfo",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]
