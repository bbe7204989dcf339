"""Files: where PyFlink has them."""

from __future__ import annotations

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

__all__ = [
    "BucketAssigner",
    "BucketContext",
    "BulkFormat",
    "DefaultRollingPolicy",
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
]
