"""Documents for Elasticsearch."""

from __future__ import annotations

from penstock.datastream.connectors.elasticsearch.bulk import FlushBackoffType
from penstock.datastream.connectors.elasticsearch.emitter import ElasticsearchEmitter
from penstock.datastream.connectors.elasticsearch.sink import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchSink,
    ElasticsearchSinkBuilderBase,
)

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
    "FlushBackoffType",
]
