"""A PyFlink program finds modules, names, parameters and defaults where it expects them."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from penstock.datastream import DataStream, DataStreamSink, KeyedStream, StreamExecutionEnvironment
from penstock.datastream.data_stream import CloseableIterator

MODULES = {
    "penstock.datastream": [
        "StreamExecutionEnvironment",
        "DataStream",
        "KeyedStream",
        "DataStreamSink",
        "MapFunction",
        "FlatMapFunction",
        "ReduceFunction",
        "FilterFunction",
        "ProcessFunction",
        "KeyedProcessFunction",
        "RuntimeContext",
        "RuntimeExecutionMode",
        "KeySelector",
        "Partitioner",
        "SinkFunction",
        "OutputTag",
    ],
    "penstock.datastream.data_stream": [
        "CloseableIterator",
        "DataStream",
        "KeyedStream",
        "DataStreamSink",
    ],
    "penstock.datastream.stream_execution_environment": ["StreamExecutionEnvironment"],
    "penstock.datastream.functions": ["Function", "MapFunction", "RuntimeContext", "SinkFunction"],
    "penstock.datastream.output_tag": ["OutputTag"],
    "penstock.datastream.execution_mode": ["RuntimeExecutionMode"],
    "penstock.datastream.connectors": ["Sink", "Source"],
    "penstock.datastream.connectors.base": ["Sink", "Source"],
    "penstock.datastream.connectors.number_seq": ["NumberSequenceSource"],
    "penstock.common.job_client": ["JobClient"],
    "penstock.common.completable_future": ["CompletableFuture"],
}

SIGNATURES: dict[type, str] = {
    DataStream: "get_name() name(name) uid(uid) set_uid_hash(uid_hash) set_parallelism(parallelism) "
    "set_max_parallelism(max_parallelism) get_type() get_execution_environment() "
    "get_execution_config() force_non_parallel() set_buffer_timeout(timeout_millis) "
    "start_new_chain() disable_chaining() slot_sharing_group(slot_sharing_group) "
    "set_description(description) map(func,output_type=None) flat_map(func,output_type=None) "
    "key_by(key_selector,key_type=None) filter(func) union(*streams) shuffle() "
    "project(*field_indexes) rescale() rebalance() forward() broadcast() "
    "process(func,output_type=None) partition_custom(partitioner,key_selector) "
    "add_sink(sink_func) sink_to(sink) execute_and_collect(job_execution_name=None,limit=None) "
    "print(sink_identifier=None) get_side_output(output_tag)",
    KeyedStream: "reduce(func) sum(position_to_sum=0) min(position_to_min=0) max(position_to_max=0) "
    "min_by(position_to_min_by=0) max_by(position_to_max_by=0) "
    "key_by(key_selector,key_type=None) process(func,output_type=None)",
    DataStreamSink: "name(name) uid(uid) set_uid_hash(uid_hash) set_parallelism(parallelism) "
    "set_description(description) disable_chaining() slot_sharing_group(slot_sharing_group)",
    CloseableIterator: "next() close()",
    StreamExecutionEnvironment: "get_config() set_parallelism(parallelism) "
    "set_max_parallelism(max_parallelism) get_parallelism() get_max_parallelism() "
    "set_runtime_mode(execution_mode) set_buffer_timeout(timeout_millis) get_buffer_timeout() "
    "disable_operator_chaining() is_chaining_enabled() "
    "is_chaining_of_operators_with_different_max_parallelism_enabled() configure(configuration) "
    "add_python_file(file_path) execute(job_name=None) "
    "execute_async(job_name='Flink Streaming Job') get_execution_plan() "
    "from_source(source,watermark_strategy,source_name,type_info=None) "
    "from_collection(collection,type_info=None) close()",
}


@pytest.mark.parametrize("module", MODULES)
def test_names_are_where_pyflink_has_them(module: str) -> None:
    found = importlib.import_module(module)
    for name in MODULES[module]:
        assert hasattr(found, name)
        assert name in found.__all__


def signatures() -> list[Any]:
    return [
        pytest.param(kind, text, id=f"{kind.__name__}.{text}")
        for kind, texts in SIGNATURES.items()
        for text in texts.split(") ")
    ]


@pytest.mark.parametrize(("kind", "text"), signatures())
def test_parameters_and_defaults_are_pyflinks(kind: type, text: str) -> None:
    name, _, parameters = text.rstrip(")").partition("(")
    found = []
    for parameter in [*inspect.signature(getattr(kind, name)).parameters.values()][1:]:
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = parameter.default
        found.append(
            star + parameter.name + ("" if default is parameter.empty else f"={default!r}")
        )
    assert ",".join(found) == parameters


def test_the_environment_is_got_as_in_pyflink() -> None:
    parameters = inspect.signature(StreamExecutionEnvironment.get_execution_environment).parameters
    assert [*parameters] == ["configuration", "spark"]
    assert parameters["configuration"].default is None
    assert parameters["spark"].kind is inspect.Parameter.KEYWORD_ONLY
