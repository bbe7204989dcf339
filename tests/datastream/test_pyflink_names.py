"""A PyFlink program finds modules, names, parameters and defaults where it expects them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from enum import Enum, EnumMeta
from typing import Any

import pytest

from penstock.common.job_client import JobClient
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.restart_strategy import RestartStrategies
from penstock.common.serialization import Encoder
from penstock.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    AllWindowedStream,
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    CheckpointConfig,
    CheckpointingMode,
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    DataStreamSink,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    TimeDomain,
    WindowedStream,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files.policies import (
    BucketAssigner,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from penstock.datastream.data_stream import CloseableIterator
from penstock.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    AppendingState,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    MergingState,
    OperatorStateStore,
    ReadOnlyBroadcastState,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    StateTtlConfig,
    ValueState,
    ValueStateDescriptor,
)
from penstock.datastream.timerservice import TimerService

Cleanup = StateTtlConfig.CleanupStrategies

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
        "AggregateFunction",
        "TimerService",
        "TimeDomain",
        "StateBackend",
        "HashMapStateBackend",
        "EmbeddedRocksDBStateBackend",
        "ValueState",
        "ValueStateDescriptor",
        "StateTtlConfig",
    ],
    "penstock.datastream.async_data_stream": ["AsyncDataStream"],
    "penstock.datastream.async_retry_strategies": [
        "RetryPredicate",
        "NoRetryStrategy",
        "FixedDelayRetryStrategy",
        "ExponentialBackoffDelayRetryStrategy",
    ],
    "penstock.datastream.async_retry_predicates": [
        "empty_result_predicate",
        "has_exception_predicate",
        "exception_type_predicate",
    ],
    "penstock.datastream.data_stream": [
        "CloseableIterator",
        "DataStream",
        "KeyedStream",
        "ConnectedStreams",
        "DataStreamSink",
        "BroadcastStream",
        "BroadcastConnectedStream",
        "WindowedStream",
    ],
    "penstock.datastream.stream_execution_environment": ["StreamExecutionEnvironment"],
    "penstock.datastream.functions": [
        "AggregateFunction",
        "AllWindowFunction",
        "ProcessAllWindowFunction",
        "ProcessWindowFunction",
        "WindowFunction",
        "BaseBroadcastProcessFunction",
        "BroadcastProcessFunction",
        "CoFlatMapFunction",
        "CoMapFunction",
        "CoProcessFunction",
        "KeyedBroadcastProcessFunction",
        "KeyedCoProcessFunction",
        "AsyncFunction",
        "AsyncRetryPredicate",
        "AsyncRetryStrategy",
        "Function",
        "KeyedProcessFunction",
        "MapFunction",
        "ProcessFunction",
        "RuntimeContext",
        "SinkFunction",
        "TimerService",
    ],
    "penstock.datastream.state": [
        "AggregatingState",
        "AggregatingStateDescriptor",
        "BroadcastState",
        "ListState",
        "ListStateDescriptor",
        "MapState",
        "MapStateDescriptor",
        "OperatorStateStore",
        "ReadOnlyBroadcastState",
        "ReducingState",
        "ReducingStateDescriptor",
        "StateTtlConfig",
        "ValueState",
        "ValueStateDescriptor",
    ],
    "penstock.datastream.state_backend": [
        "CustomStateBackend",
        "EmbeddedRocksDBStateBackend",
        "HashMapStateBackend",
        "PredefinedOptions",
        "StateBackend",
    ],
    "penstock.datastream.time_domain": ["TimeDomain"],
    "penstock.datastream.timerservice": ["TimerService"],
    "penstock.common": ["TimestampAssigner", "WatermarkStrategy"],
    "penstock.common.watermark_strategy": ["TimestampAssigner", "WatermarkStrategy"],
    "penstock.datastream.output_tag": ["OutputTag"],
    "penstock.datastream.execution_mode": ["RuntimeExecutionMode"],
    "penstock.datastream.connectors": ["Sink", "Source"],
    "penstock.datastream.connectors.base": ["Sink", "Source"],
    "penstock.datastream.connectors.file_system": [
        "BucketAssigner",
        "DefaultRollingPolicy",
        "FileSink",
        "OnCheckpointRollingPolicy",
        "OutputFileConfig",
        "RollingPolicy",
    ],
    "penstock.datastream.formats.parquet": ["ParquetBulkWriters"],
    "penstock.datastream.formats.avro": ["AvroSchema", "GenericRecordAvroTypeInfo"],
    "penstock.datastream.formats.csv": ["CsvSchema", "CsvSchemaBuilder"],
    "penstock.datastream.formats.json": [
        "JsonRowDeserializationSchema",
        "JsonRowSerializationSchema",
    ],
    "penstock.common.serialization": [
        "BulkWriterFactory",
        "ByteArraySchema",
        "DeserializationSchema",
        "Encoder",
        "RowDataBulkWriterFactory",
        "RowFieldExtractorSchema",
        "SerializationSchema",
        "SimpleStringSchema",
    ],
    "penstock.datastream.connectors.jdbc": [
        "JdbcConnectionOptions",
        "JdbcExecutionOptions",
        "JdbcSink",
    ],
    "penstock.datastream.connectors.number_seq": ["NumberSequenceSource"],
    "penstock.common.job_client": ["JobClient"],
    "penstock.common.restart_strategy": ["RestartStrategies", "RestartStrategyConfiguration"],
    "penstock.datastream.checkpoint_config": ["CheckpointConfig"],
    "penstock.datastream.checkpointing_mode": ["CheckpointingMode"],
    "penstock.datastream.externalized_checkpoint_retention": ["ExternalizedCheckpointRetention"],
    "penstock.datastream.checkpoint_storage": [
        "CheckpointStorage",
        "FileSystemCheckpointStorage",
        "JobManagerCheckpointStorage",
    ],
    "penstock.common.completable_future": ["CompletableFuture"],
}

FILE_SINK_BUILDER = (
    "with_bucket_check_interval(interval) with_bucket_assigner(bucket_assigner) "
    "with_rolling_policy(rolling_policy) with_output_file_config(output_file_config) build()"
)

WINDOWED = (
    "get_execution_environment() get_input_type() trigger(trigger) allowed_lateness(time_ms) "
    "side_output_late_data(output_tag) "
    "reduce(reduce_function,window_function=None,output_type=None) "
    "aggregate(aggregate_function,window_function=None,accumulator_type=None,output_type=None) "
    "apply(window_function,output_type=None) process(process_window_function,output_type=None)"
)

SIGNATURES: dict[type, str] = {
    FileSink.RowFormatBuilder: FILE_SINK_BUILDER,
    FileSink.BulkFormatBuilder: FILE_SINK_BUILDER,
    JdbcConnectionOptions: "get_db_url() get_driver_name() get_user_name() get_password()",
    JdbcConnectionOptions.JdbcConnectionOptionsBuilder: "with_url(url) "
    "with_driver_name(driver_name) with_user_name(user_name) with_password(password) build()",
    JdbcExecutionOptions: "get_batch_interval_ms() get_batch_size() get_max_retries()",
    JdbcExecutionOptions.Builder: "with_batch_size(size) with_batch_interval_ms(interval_ms) "
    "with_max_retries(max_retries) build()",
    OutputFileConfig: "__init__(part_prefix,part_suffix) get_part_prefix() get_part_suffix()",
    OutputFileConfig.OutputFileConfigBuilder: "with_part_prefix(prefix) with_part_suffix(suffix) build()",
    DataStream: "get_name() name(name) uid(uid) set_uid_hash(uid_hash) set_parallelism(parallelism) "
    "set_max_parallelism(max_parallelism) get_type() get_execution_environment() "
    "get_execution_config() force_non_parallel() set_buffer_timeout(timeout_millis) "
    "start_new_chain() disable_chaining() slot_sharing_group(slot_sharing_group) "
    "set_description(description) map(func,output_type=None) flat_map(func,output_type=None) "
    "key_by(key_selector,key_type=None) filter(func) union(*streams) shuffle() "
    "window_all(window_assigner) "
    "project(*field_indexes) rescale() rebalance() forward() "
    "broadcast(broadcast_state_descriptor=None,*other_broadcast_state_descriptors) connect(ds) "
    "process(func,output_type=None) "
    "assign_timestamps_and_watermarks(watermark_strategy) partition_custom(partitioner,key_selector) "
    "add_sink(sink_func) sink_to(sink) execute_and_collect(job_execution_name=None,limit=None) "
    "print(sink_identifier=None) get_side_output(output_tag)",
    KeyedStream: "window(window_assigner) count_window(size,slide=0) reduce(func) sum(position_to_sum=0) min(position_to_min=0) max(position_to_max=0) "
    "min_by(position_to_min_by=0) max_by(position_to_max_by=0) "
    "key_by(key_selector,key_type=None) process(func,output_type=None)",
    WindowedStream: "__init__(keyed_stream,window_assigner) " + WINDOWED,
    AllWindowedStream: "__init__(data_stream,window_assigner) " + WINDOWED,
    WindowFunction: "apply(key,window,inputs)",
    AllWindowFunction: "apply(window,inputs)",
    ProcessWindowFunction: "process(key,context,elements) clear(context)",
    ProcessWindowFunction.Context: "window() current_processing_time() current_watermark() "
    "window_state() global_state()",
    ProcessAllWindowFunction: "process(context,elements) clear(context)",
    ProcessAllWindowFunction.Context: "window() window_state() global_state()",
    DataStreamSink: "name(name) uid(uid) set_uid_hash(uid_hash) set_parallelism(parallelism) "
    "set_description(description) disable_chaining() slot_sharing_group(slot_sharing_group)",
    CloseableIterator: "next() close()",
    StreamExecutionEnvironment: "get_config() set_parallelism(parallelism) "
    "set_max_parallelism(max_parallelism) get_parallelism() get_max_parallelism() "
    "set_runtime_mode(execution_mode) set_buffer_timeout(timeout_millis) get_buffer_timeout() "
    "disable_operator_chaining() is_chaining_enabled() "
    "is_chaining_of_operators_with_different_max_parallelism_enabled() configure(configuration) "
    "add_python_file(file_path) set_python_requirements(requirements_file_path,requirements_cache_dir=None) "
    "add_python_archive(archive_path,target_dir=None) set_python_executable(python_exec) "
    "register_cached_file(file_path,name,executable=False) execute(job_name=None) "
    "execute_async(job_name='Flink Streaming Job') get_execution_plan() "
    "from_source(source,watermark_strategy,source_name,type_info=None) "
    "from_collection(collection,type_info=None) close() "
    "get_checkpoint_config() enable_checkpointing(interval,mode=None) get_checkpoint_interval() "
    "get_checkpointing_mode() get_checkpointing_consistency_mode() "
    "enable_changelog_state_backend(enabled) is_changelog_state_backend_enabled() "
    "set_default_savepoint_directory(directory) get_default_savepoint_directory() "
    "is_unaligned_checkpoints_enabled() is_force_unaligned_checkpoints()",
    CheckpointConfig: "is_checkpointing_enabled() get_checkpointing_mode() "
    "set_checkpointing_mode(checkpointing_mode) get_checkpoint_interval() "
    "set_checkpoint_interval(checkpoint_interval) get_checkpoint_timeout() "
    "set_checkpoint_timeout(checkpoint_timeout) get_min_pause_between_checkpoints() "
    "set_min_pause_between_checkpoints(min_pause_between_checkpoints) "
    "get_max_concurrent_checkpoints() set_max_concurrent_checkpoints(max_concurrent_checkpoints) "
    "is_fail_on_checkpointing_errors() "
    "set_fail_on_checkpointing_errors(fail_on_checkpointing_errors) "
    "get_tolerable_checkpoint_failure_number() "
    "set_tolerable_checkpoint_failure_number(tolerable_checkpoint_failure_number) "
    "set_externalized_checkpoint_retention(retention_mode) is_externalized_checkpoints_enabled() "
    "get_externalized_checkpoint_retention() is_unaligned_checkpoints_enabled() "
    "enable_unaligned_checkpoints(enabled=True) disable_unaligned_checkpoints() "
    "set_aligned_checkpoint_timeout(alignment_timeout) get_aligned_checkpoint_timeout() "
    "set_alignment_timeout(alignment_timeout) get_alignment_timeout() "
    "set_force_unaligned_checkpoints(force_unaligned_checkpoints=True) "
    "is_force_unaligned_checkpoints()",
    FileSystemCheckpointStorage: "__init__(checkpoint_path=None,file_state_size_threshold=None,"
    "write_buffer_size=-1) get_checkpoint_path() get_savepoint_path() "
    "get_min_file_size_threshold() get_write_buffer_size()",
    JobManagerCheckpointStorage: "__init__(checkpoint_path=None,max_state_size=None) "
    "get_checkpoint_path() get_max_state_size() get_savepoint_path()",
    JobClient: "get_job_id() get_job_status() cancel() "
    "stop_with_savepoint(advance_to_end_of_event_time,savepoint_directory=None) "
    "trigger_savepoint(savepoint_directory=None) get_accumulators() get_job_execution_result()",
    JobExecutionResult: "get_job_id() get_net_runtime() get_accumulator_result(accumulator_name) "
    "get_all_accumulator_results()",
    AggregateFunction: "create_accumulator() add(value,accumulator) get_result(accumulator) "
    "merge(acc_a,acc_b)",
    ProcessFunction: "process_element(value,ctx)",
    AsyncFunction: "open(runtime_context) close() async_invoke(value) timeout(value)",
    AsyncRetryPredicate: "result_predicate() exception_predicate()",
    AsyncRetryStrategy: "can_retry(current_attempts) get_backoff_time_millis(current_attempts) "
    "get_retry_predicate()",
    ProcessFunction.Context: "timer_service() timestamp()",
    ConnectedStreams: "__init__(stream1,stream2) key_by(key_selector1,key_selector2,key_type=None) "
    "map(func,output_type=None) flat_map(func,output_type=None) process(func,output_type=None)",
    BroadcastStream: "__init__(input_stream,broadcast_state_descriptors)",
    BroadcastConnectedStream: "__init__(non_broadcast_stream,broadcast_stream,"
    "broadcast_state_descriptors) process(func,output_type=None)",
    CoMapFunction: "map1(value) map2(value)",
    CoFlatMapFunction: "flat_map1(value) flat_map2(value)",
    CoProcessFunction: "process_element1(value,ctx) process_element2(value,ctx)",
    CoProcessFunction.Context: "timer_service() timestamp()",
    KeyedCoProcessFunction: "process_element1(value,ctx) process_element2(value,ctx) "
    "on_timer(timestamp,ctx)",
    KeyedCoProcessFunction.Context: "get_current_key() timer_service() timestamp()",
    KeyedCoProcessFunction.OnTimerContext: "get_current_key() timer_service() timestamp() "
    "time_domain()",
    BroadcastProcessFunction: "process_element(value,ctx) process_broadcast_element(value,ctx)",
    BroadcastProcessFunction.Context: "timestamp() current_processing_time() current_watermark() "
    "get_broadcast_state(state_descriptor)",
    BroadcastProcessFunction.ReadOnlyContext: "timestamp() current_processing_time() "
    "current_watermark() get_broadcast_state(state_descriptor)",
    KeyedBroadcastProcessFunction: "process_element(value,ctx) process_broadcast_element(value,ctx) "
    "on_timer(timestamp,ctx)",
    KeyedBroadcastProcessFunction.Context: "get_broadcast_state(state_descriptor)",
    KeyedBroadcastProcessFunction.ReadOnlyContext: "get_broadcast_state(state_descriptor) "
    "timer_service() get_current_key()",
    KeyedBroadcastProcessFunction.OnTimerContext: "get_broadcast_state(state_descriptor) "
    "timer_service() get_current_key() time_domain()",
    KeyedProcessFunction: "process_element(value,ctx) on_timer(timestamp,ctx)",
    KeyedProcessFunction.Context: "get_current_key() timer_service() timestamp()",
    KeyedProcessFunction.OnTimerContext: "get_current_key() timer_service() timestamp() "
    "time_domain()",
    RuntimeContext: "get_state(state_descriptor) get_list_state(state_descriptor) "
    "get_map_state(state_descriptor) get_reducing_state(state_descriptor) "
    "get_aggregating_state(state_descriptor) get_task_name() get_number_of_parallel_subtasks() "
    "get_max_number_of_parallel_subtasks() get_index_of_this_subtask() get_attempt_number() "
    "get_task_name_with_subtasks() get_job_parameter(key,default_value) get_metrics_group()",
    TimerService: "current_processing_time() current_watermark() "
    "register_processing_time_timer(timestamp) register_event_time_timer(timestamp) "
    "delete_processing_time_timer(timestamp) delete_event_time_timer(timestamp)",
    State: "clear()",
    ValueState: "value() update(value)",
    AppendingState: "get() add(value)",
    MergingState: "get() add(value) clear()",
    ReducingState: "get() add(value) clear()",
    AggregatingState: "get() add(value) clear()",
    ListState: "get() add(value) update(values) add_all(values) clear()",
    MapState: "get(key) put(key,value) put_all(dict_value) remove(key) contains(key) items() keys() "
    "values() is_empty() clear()",
    ReadOnlyBroadcastState: "get(key) contains(key) items() keys() values() is_empty() clear()",
    BroadcastState: "get(key) put(key,value) put_all(dict_value) remove(key) contains(key) items() "
    "keys() values() is_empty() clear()",
    OperatorStateStore: "get_broadcast_state(state_descriptor)",
    StateDescriptor: "__init__(name,type_info) get_name() enable_time_to_live(ttl_config)",
    ValueStateDescriptor: "__init__(name,value_type_info)",
    ListStateDescriptor: "__init__(name,elem_type_info)",
    MapStateDescriptor: "__init__(name,key_type_info,value_type_info)",
    ReducingStateDescriptor: "__init__(name,reduce_function,type_info) get_reduce_function()",
    AggregatingStateDescriptor: "__init__(name,agg_function,state_type_info) get_agg_function()",
    StateTtlConfig: "__init__(update_type,state_visibility,ttl_time_characteristic,ttl,"
    "cleanup_strategies) get_update_type() get_state_visibility() get_ttl() "
    "get_ttl_time_characteristic() is_enabled() get_cleanup_strategies()",
    StateTtlConfig.Builder: "__init__(ttl) set_update_type(update_type) "
    "update_ttl_on_create_and_write() update_ttl_on_read_and_write() "
    "set_state_visibility(state_visibility) return_expired_if_not_cleaned_up() "
    "never_return_expired() set_ttl_time_characteristic(ttl_time_characteristic) "
    "use_processing_time() cleanup_full_snapshot() "
    "cleanup_incrementally(cleanup_size,run_cleanup_for_every_record) "
    "cleanup_in_rocksdb_compact_filter(query_time_after_num_entries,periodic_compaction_time=None) "
    "disable_cleanup_in_background() set_ttl(ttl) build()",
    Cleanup: "__init__(strategies,is_cleanup_in_background) is_cleanup_in_background() "
    "in_full_snapshot() get_incremental_cleanup_strategy() "
    "get_rocksdb_compact_filter_cleanup_strategy()",
    Cleanup.IncrementalCleanupStrategy: "__init__(cleanup_size,run_cleanup_for_every_record) "
    "get_cleanup_size() run_cleanup_for_every_record()",
    Cleanup.RocksdbCompactFilterCleanupStrategy: "__init__(query_time_after_num_entries,"
    "periodic_compaction_time=None) get_query_time_after_num_entries() "
    "get_periodic_compaction_time()",
    WatermarkStrategy: "with_timestamp_assigner(timestamp_assigner) with_idleness(idle_timeout) "
    "with_watermark_alignment(watermark_group,max_allowed_watermark_drift,update_interval=None)",
    TimestampAssigner: "extract_timestamp(value,record_timestamp)",
}

STATIC: dict[type, str] = {
    Encoder: "simple_string_encoder(charset_name='UTF-8')",
    FileSink: "for_row_format(base_path,encoder) for_bulk_format(base_path,writer_factory)",
    JdbcSink: "sink(sql,type_info,jdbc_connection_options,jdbc_execution_options=None)",
    JdbcExecutionOptions: "defaults() builder()",
    BucketAssigner: "base_path_bucket_assigner() "
    "date_time_bucket_assigner(format_str='yyyy-MM-dd--HH',timezone_id=None)",
    RollingPolicy: "default_rolling_policy(part_size=134217728,rollover_interval=60000,"
    "inactivity_interval=60000) on_checkpoint_rolling_policy()",
    OutputFileConfig: "builder()",
    RestartStrategies: "no_restart() fall_back_restart() "
    "fixed_delay_restart(restart_attempts,delay_between_attempts) "
    "failure_rate_restart(failure_rate,failure_interval,delay_interval)",
    AsyncRetryStrategy: "no_restart() "
    "fixed_delay(max_attempts,backoff_time_millis,result_predicate,exception_predicate)",
    StateTtlConfig: "new_builder(ttl)",
    WatermarkStrategy: "for_monotonous_timestamps() "
    "for_bounded_out_of_orderness(max_out_of_orderness) no_watermarks()",
}

CONSTANTS: dict[type[Enum], str] = {
    CheckpointingMode: "EXACTLY_ONCE AT_LEAST_ONCE",
    ExternalizedCheckpointRetention: "DELETE_ON_CANCELLATION RETAIN_ON_CANCELLATION "
    "NO_EXTERNALIZED_CHECKPOINTS",
    TimeDomain: "EVENT_TIME PROCESSING_TIME",
    StateTtlConfig.UpdateType: "Disabled OnCreateAndWrite OnReadAndWrite",
    StateTtlConfig.StateVisibility: "ReturnExpiredIfNotCleanedUp NeverReturnExpired",
    StateTtlConfig.TtlTimeCharacteristic: "ProcessingTime",
    Cleanup.Strategies: "FULL_STATE_SCAN_SNAPSHOT INCREMENTAL_CLEANUP ROCKSDB_COMPACTION_FILTER",
}


@pytest.mark.parametrize("module", MODULES)
def test_names_are_where_pyflink_has_them(module: str) -> None:
    found = importlib.import_module(module)
    for name in MODULES[module]:
        assert hasattr(found, name)
        assert name in found.__all__


def signatures(of: dict[type, str]) -> list[Any]:
    return [
        pytest.param(kind, text, id=f"{kind.__qualname__}.{text}")
        for kind, texts in of.items()
        for text in texts.split(") ")
    ]


def parameters_of(function: Any) -> list[str]:
    """Return the parameters with their defaults, without those that are added here: by keyword only."""
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            continue
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = parameter.default
        found.append(
            star + parameter.name + ("" if default is parameter.empty else f"={default!r}")
        )
    return found


@pytest.mark.parametrize(("kind", "text"), signatures(SIGNATURES))
def test_parameters_and_defaults_are_pyflinks(kind: type, text: str) -> None:
    name, _, parameters = text.rstrip(")").partition("(")
    assert ",".join(parameters_of(getattr(kind, name))[1:]) == parameters


def described() -> Iterator[Any]:
    """Yield functions of PyFlink's names with parameters that PyFlink's lack, and what describes them."""
    for module, names in MODULES.items():
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            functions = [thing, *vars(thing).values()] if isinstance(thing, type) else [thing]
            for function in functions:
                plain = function.__func__ if isinstance(function, staticmethod) else function
                # Classes describe what makes them.
                is_named = not getattr(plain, "__name__", "_").startswith("_")
                if (
                    is_named
                    and not isinstance(plain, EnumMeta)
                    and (added := added_parameters(plain))
                ):
                    yield pytest.param(plain, added, id=f"{name}.{plain.__name__}")


def added_parameters(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]


@pytest.mark.parametrize(("function", "added"), list(described()))
def test_docstrings_describe_what_is_added(function: Any, added: list[str]) -> None:
    text = inspect.getdoc(function) or ""
    assert [name for name in added if f"    {name}: " not in text] == []


@pytest.mark.parametrize(("kind", "text"), signatures(STATIC))
def test_static_methods_are_pyflinks(kind: type, text: str) -> None:
    name, _, parameters = text.rstrip(")").partition("(")
    assert isinstance(vars(kind)[name], staticmethod)
    assert ",".join(parameters_of(getattr(kind, name))) == parameters


@pytest.mark.parametrize("kind", CONSTANTS)
def test_constants_are_pyflinks(kind: type[Enum]) -> None:
    assert [constant.name for constant in kind] == CONSTANTS[kind].split()


def test_time_domains_have_pyflinks_numbers() -> None:
    assert (TimeDomain.EVENT_TIME.value, TimeDomain.PROCESSING_TIME.value) == (0, 1)


def test_the_environment_is_got_as_in_pyflink() -> None:
    parameters = inspect.signature(StreamExecutionEnvironment.get_execution_environment).parameters
    assert [*parameters] == ["configuration", "spark"]
    assert parameters["configuration"].default is None
    assert parameters["spark"].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("order", ["ordered", "unordered"])
@pytest.mark.parametrize("retry", [[], ["async_retry_strategy"]])
def test_asynchronous_waits_have_pyflinks_parameters_first(order: str, retry: list[str]) -> None:
    wait = vars(AsyncDataStream)[f"{order}_wait{'_with_retry' if retry else ''}"]
    assert isinstance(wait, staticmethod)
    assert parameters_of(wait) == [
        *["data_stream", "async_function", "timeout", *retry],
        *["capacity=100", "output_type=None"],
    ]
    assert inspect.signature(wait).parameters["options"].kind is inspect.Parameter.KEYWORD_ONLY


def test_exponential_backoff_has_pyflinks_parameters_first() -> None:
    assert parameters_of(AsyncRetryStrategy.exponential_backoff) == [
        *["max_attempts", "initial_delay", "max_retry_delay", "multiplier"],
        *["result_predicate", "exception_predicate"],
    ]
    parameters = inspect.signature(AsyncRetryStrategy.exponential_backoff).parameters
    assert parameters["jitter"].kind is inspect.Parameter.KEYWORD_ONLY
