"""Names of PyFlink that are not here, and what does their work: an import of one says so.

`from penstock.datastream.connectors.pulsar import PulsarSource` ends in a `NotInPenstockError`. What asks without
importing, such as `hasattr(penstock, "table")`, finds nothing, as anywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Final

from penstock.errors import NotInPenstockError

_KAFKA: Final = (
    'Read it with a KafkaSource: `source = KafkaSource.builder().set_bootstrap_servers("host:9092").set_topics("topic")'
    ".set_value_only_deserializer(SimpleStringSchema()).build()` and `env.from_source(source, "
    'WatermarkStrategy.no_watermarks(), "topic")`. `KafkaSink` writes it.'
)
_PULSAR: Final = (
    'Read it with Spark: `env.from_data_frame(spark.readStream.format("pulsar").option("service.url", '
    '"pulsar://host:6650").option("topic", "topic").load())`, and write it: `stream.sink_to(SparkSink("pulsar", '
    'schema="value string", options={"service.url": "pulsar://host:6650", "topic": "topic"}))`.'
)
_KINESIS: Final = (
    'Read it with Spark: `env.from_data_frame(spark.readStream.format("aws-kinesis").option("kinesis.region", '
    '"eu-central-1").option("kinesis.streamName", "name").load())`, and write it: '
    '`stream.sink_to(SparkSink("aws-kinesis", schema="data string, partitionKey string", '
    'options={"kinesis.region": "eu-central-1", "kinesis.streamName": "name"}))`.'
)
_CASSANDRA: Final = (
    'Write it with Spark: `stream.sink_to(SparkSink("org.apache.spark.sql.cassandra", schema="word string, '
    'count long", options={"keyspace": "name", "table": "counts"}))`.'
)
_RABBITMQ: Final = (
    "Spark has no format for it. Write it with its own client, in a class derived from `SinkFunction`: "
    "`stream.add_sink(Publish())`. To read it, make it a data source of Spark's in Python "
    '(`pyspark.sql.datasource`): `env.from_data_frame(spark.readStream.format("rabbitmq").load())`.'
)
_STORAGE: Final = (
    "It wraps a class of Java. Folders and object stores need none: "
    '`env.get_checkpoint_config().set_checkpoint_storage_dir("s3://bucket/folder")`.'
)
_WATERMARKS: Final = (
    "It wraps a class of Java. Derive one from `WatermarkGenerator`, in Python: "
    "`WatermarkStrategy.for_generator(MyGenerator)`."
)


def _of(place: str, names: str, instead: str) -> dict[str, str]:
    return {f"{place}.{name}": instead for name in names.split()}


_CONNECTORS: Final = "datastream.connectors"
_FORMATS: Final = {
    f"{kind}Row{way}Schema": kind.lower()
    for kind in ("Avro", "Csv", "Json")
    for way in ("Serialization", "Deserialization")
}
INSTEAD: Final = {
    "table": 'Spark has SQL and DataFrames: go on from them by `env.from_data_frame(spark.sql("SELECT ..."))`, and '
    'over to them by `stream.to_data_frame("word string, count long")`. In place of the `DataTypes` of a format there '
    'are `Types`: `Types.ROW_NAMED(["id"], [Types.LONG()])`.',
    **_of(_CONNECTORS, "dynamic_kafka DynamicKafkaSource DynamicKafkaSourceBuilder", _KAFKA),
    **_of(_CONNECTORS, "KafkaMetadataService", _KAFKA),
    **_of(
        _CONNECTORS,
        "KafkaRecordDeserializationSchema KafkaStreamSetSubscriber KafkaStreamSubscriber",
        _KAFKA,
    ),
    **_of(_CONNECTORS, "StreamPatternSubscriber SingleClusterTopicMetadataService", _KAFKA),
    **_of(_CONNECTORS, "pulsar PulsarSource PulsarSourceBuilder StartCursor StopCursor", _PULSAR),
    **_of(_CONNECTORS, "rabbitmq RMQSource RMQSink RMQConnectionConfig", _RABBITMQ),
    **_of(_CONNECTORS, "kinesis", _KINESIS),
    **_of(_CONNECTORS, "cassandra", _CASSANDRA),
    **_of(
        "datastream", "CustomCheckpointStorage checkpoint_storage.CustomCheckpointStorage", _STORAGE
    ),
    **_of("common", "AssignerWithPeriodicWatermarksWrapper", _WATERMARKS),
    **_of("common.watermark_strategy", "AssignerWithPeriodicWatermarksWrapper", _WATERMARKS),
    **{
        f"common.{name}": f"It is in a module: `from penstock.datastream.formats.{module} import {name}`."
        for name, module in _FORMATS.items()
    },
}
"""What does the work of a module, or of a name in one, by its place in PyFlink; all there is below it is meant too."""


class _Finder:
    """Python asks it for a module, or for a name of a package, that nothing else has found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        instead = INSTEAD.get(fullname.removeprefix("penstock."))
        if instead is not None:
            raise NotInPenstockError(
                f"PyFlink's {fullname.replace('penstock', 'pyflink', 1)} is not in penstock.",
                hint=instead,
            )


def tell_of_them() -> None:
    """Have imports of what is not here end in an error that says what does its work."""
    sys.meta_path.append(_Finder())
