from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Encoder, Types
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    OutputFileConfig,
    RollingPolicy,
    StreamingFileSink,
)
from penstock.datastream.formats.csv import CsvBulkWriters, CsvSchema
from penstock.errors import InvalidArgumentError
from penstock.testing import local_environment

STRINGS = Encoder.simple_string_encoder()
LINES = CsvBulkWriters.for_schema(CsvSchema.builder().add_number_column("n", Types.INT()).build())


@pytest.mark.parametrize("is_bulk", [False, True])
@pytest.mark.parametrize("end", ["add_sink", "sink_to"])
def test_each_record_is_in_a_file(tmp_path: Path, end: str, is_bulk: bool) -> None:
    base = str(tmp_path)
    builder: Any = (
        StreamingFileSink.for_bulk_format(base, LINES)
        if is_bulk
        else StreamingFileSink.for_row_format(base, STRINGS)
    )
    sink = (
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .with_output_file_config(OutputFileConfig("numbers", ".txt"))
        .with_bucket_check_interval(1_000)
        .build()
    )
    env = local_environment()
    getattr(env.from_collection([1, 2, 3]), end)(sink)
    env.execute()
    [file] = tmp_path.glob("numbers-*.txt")
    assert file.read_text() == "1\n2\n3\n"


def test_a_mistake_is_named_at_once(tmp_path: Path) -> None:
    base = str(tmp_path)
    with pytest.raises(InvalidArgumentError, match="is no Encoder"):
        StreamingFileSink.for_row_format(base, LINES)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="is no BulkWriterFactory"):
        StreamingFileSink.for_bulk_format(base, STRINGS)  # type: ignore[arg-type]
    bulk = StreamingFileSink.for_bulk_format(base, LINES)
    with pytest.raises(InvalidArgumentError, match="is no OnCheckpointRollingPolicy"):
        bulk.with_rolling_policy(RollingPolicy.default_rolling_policy())  # type: ignore[arg-type]
