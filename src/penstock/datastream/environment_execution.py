"""What the environment is told of a program, and how it runs that."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import (
    AUTO_GENERATE_UIDS,
    CHAIN_DIFFERENT_MAX_PARALLELISM,
    COLUMNAR_IN_SPARK,
    MAX_PARALLELISM,
    OBJECT_REUSE,
    OPERATOR_CHAINING,
    PARALLELISM,
    PIPELINE_NAME,
    PROFILE,
    PYTHON_OPERATOR_CHAINING,
    RUNTIME_MODE,
    STATE_BACKEND,
    STATE_MEMORY_LIMIT,
    TARGET,
)
from penstock.common.configuration.options_without_effect import (
    BUFFER_TIMEOUT,
    BUFFER_TIMEOUT_ENABLED,
)
from penstock.common.configuration.rocksdb_options import OPTIONS_FACTORY, settings_in
from penstock.common.epoch_listener import EpochListener
from penstock.common.execution_config import ExecutionConfig
from penstock.common.job_client import JobClient
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.time import Duration
from penstock.datastream.environment_checkpointing import EnvironmentCheckpointing
from penstock.datastream.environment_files import EnvironmentFiles
from penstock.datastream.execution_mode import RuntimeExecutionMode
from penstock.datastream.state_backend import StateBackend, pickled_options_factory
from penstock.datastream.streams.cache import StreamCache, caches_behind
from penstock.datastream.streams.operator_settings import (
    check_buffer_timeout,
    check_configuration,
    check_parallelism,
)
from penstock.datastream.streams.slot_sharing_group import SlotSharingGroup
from penstock.errors import InvalidArgumentError, UnsupportedOperationError
from penstock.executors.port import JobRequest
from penstock.executors.targets import close_server, executor_for, preparing
from penstock.graph.columnar import go_columnar
from penstock.graph.job_graph import create_job_graph
from penstock.graph.plan.execution_plan import ExecutionPlan, execution_plan
from penstock.graph.stream_graph import StreamGraph, build_stream_graph
from penstock.graph.transformation import Transformation, Transformations
from penstock.uncaught import show_briefly

_WHOSE = "The environment"
_DEFAULT_NAME = "Flink Streaming Job"


class EnvironmentExecution(EnvironmentCheckpointing, EnvironmentFiles):
    """What the environment is told of a program, and how it runs that.

    Args:
        configuration: The settings.
        engine: The SparkSession to run on; None to use the one there is, or to build one.

    Attributes:
        transformations: What the next execution runs.
    """

    _default_local_parallelism: ClassVar[int | None] = None

    def __init__(self, configuration: Configuration, engine: object = None) -> None:
        show_briefly()
        self.transformations = Transformations()
        self._usual_parallelism = self.get_default_local_parallelism()
        self._configuration = configuration
        self._engine = engine
        self._listeners: list[EpochListener] = []
        self._caches: list[StreamCache] = []

    def configure(self, configuration: Configuration) -> None:
        """Add settings to those there are, in place of those with the same keys.

        Args:
            configuration: The settings.

        Raises:
            InvalidArgumentError: If it is no `Configuration`.
        """
        check_configuration(configuration, "configure()")
        self._configuration.add_all(configuration)

    def get_config(self) -> ExecutionConfig:
        """Return the settings that have methods of their own; what is set there is set here."""
        return ExecutionConfig(self._configuration)

    def set_parallelism(self, parallelism: int) -> Self:
        """Set how many subtasks an operator has that does not say so itself.

        Args:
            parallelism: The number, from 1 to 32768. Default: one for each core of this machine.

        Returns:
            This environment.

        Raises:
            InvalidParallelismError: If it is out of that range.
        """
        self._configuration.set(PARALLELISM, check_parallelism(parallelism, _WHOSE))
        return self

    def get_parallelism(self) -> int:
        """Return how many subtasks an operator has that does not say so itself."""
        return self._configuration.get(PARALLELISM) or self._usual_parallelism

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Set what a group of operators is to have of a machine.

        Accepted, so that a PyFlink program runs unchanged, and without effect: see `SlotSharingGroup`.

        Args:
            slot_sharing_group: The group.

        Returns:
            This environment.

        Raises:
            InvalidArgumentError: If it is no group.
        """
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise InvalidArgumentError(
                f"{slot_sharing_group!r} is no slot sharing group.",
                hint='Give SlotSharingGroup.builder("name").build().',
            )
        return self

    def get_default_local_parallelism(self) -> int:
        """Return the parallelism of environments that are made from now on and are not given one.

        Returns:
            What `set_default_local_parallelism` set. Default: one for each core of this machine.
        """
        return EnvironmentExecution._default_local_parallelism or os.cpu_count() or 1

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism of environments that are made from now on and are not given one.

        `parallelism.default` and `set_parallelism` of an environment come before it.

        Args:
            parallelism: The number, from 1 to 32768.

        Raises:
            InvalidParallelismError: If it is out of that range.
        """
        EnvironmentExecution._default_local_parallelism = check_parallelism(parallelism, _WHOSE)

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups: the greatest parallelism that state can be restarted with.

        Args:
            max_parallelism: The number, from 1 to 32768. Default: derived from each operator's
                parallelism, and at least 128.

        Returns:
            This environment.

        Raises:
            InvalidParallelismError: If it is out of that range.
        """
        checked = check_parallelism(max_parallelism, _WHOSE, "max parallelism")
        self._configuration.set(MAX_PARALLELISM, checked)
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups; -1 if it is derived from each operator's parallelism."""
        return self.get_config().get_max_parallelism()

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """Set whether results are emitted as they change, or once at the end.

        Args:
            execution_mode: The mode. Default: `RuntimeExecutionMode.STREAMING`. With BATCH, `execute`
                raises `InvalidArgumentError` if a source never ends.

        Returns:
            This environment.

        Raises:
            InvalidArgumentError: If it is no mode.

        Example:
            >>> from penstock.datastream import RuntimeExecutionMode
            >>> from penstock.testing import local_environment
            >>> env = local_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
            >>> numbers = env.from_collection([1, 2, 3, 4])
            >>> sorted(numbers.key_by(lambda number: number % 2).sum().execute_and_collect())
            [4, 6]
        """
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise InvalidArgumentError(
                f"{execution_mode!r} is no runtime mode.",
                hint="Give RuntimeExecutionMode.STREAMING, BATCH or AUTOMATIC.",
            )
        self._configuration.set(RUNTIME_MODE, execution_mode.name)
        return self

    def set_state_backend(self, state_backend: StateBackend) -> Self:
        """Set where keyed state lives while the program runs.

        Args:
            state_backend: `HashMapStateBackend()`, the default, or `EmbeddedRocksDBStateBackend()`.
                The same as `state.backend.type`, and what the backend says of itself.

        Returns:
            This environment.

        Raises:
            InvalidArgumentError: If it is no state backend.
        """
        if not isinstance(state_backend, StateBackend):
            raise InvalidArgumentError(
                f"{state_backend!r} is no state backend.",
                hint="Give HashMapStateBackend() or EmbeddedRocksDBStateBackend().",
            )
        self._configuration.add_all(state_backend.configuration())
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Set how long a result may wait for others before they are sent together.

        Accepted, so that a PyFlink program runs unchanged, and without effect: results leave an epoch
        when it ends.

        Args:
            timeout_millis: Milliseconds; 0 sends each at once, -1 waits until a buffer is full.
                Default: 100.

        Returns:
            This environment.

        Raises:
            InvalidArgumentError: If it is below -1.
        """
        timeout = check_buffer_timeout(timeout_millis)
        self._configuration.set(BUFFER_TIMEOUT_ENABLED, timeout >= 0)
        if timeout >= 0:
            self._configuration.set(BUFFER_TIMEOUT, Duration.of_millis(timeout))
        return self

    def get_buffer_timeout(self) -> int:
        """Return how long a result may wait for others, in milliseconds; -1 until a buffer is full."""
        if not self._configuration.get(BUFFER_TIMEOUT_ENABLED):
            return -1
        return self._configuration.get(BUFFER_TIMEOUT).to_millis()

    def disable_operator_chaining(self) -> Self:
        """Let every operator run on its own, for debugging.

        Returns:
            This environment.
        """
        self._configuration.set(OPERATOR_CHAINING, value=False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Tell whether operators between which nothing is redistributed run as one. Default: True."""
        return self._configuration.get(OPERATOR_CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Tell whether operators are chained whose max parallelisms differ. Default: True."""
        return self._configuration.get(CHAIN_DIFFERENT_MAX_PARALLELISM)

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Execute the program, and wait until it has ended.

        All sinks that were made since the last execution run; afterwards the environment is empty, as
        in Flink. Ctrl-C stops the job: what it committed stays, standard error says where it stood,
        and this method returns. While the job is still being started, and when it is pressed a second
        time, Ctrl-C raises `KeyboardInterrupt`.

        Args:
            job_name: The name of the job. Default: `pipeline.name`, else "Flink Streaming Job".

        Returns:
            The result, with what the operators counted.

        Raises:
            NoSinkError: If the program has no sink.
            JobCancelledError: If somebody cancelled the job from outside.
            PenstockError: Why the program cannot run, or what the job failed with.

        Example:
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> end = env.from_collection([1, 2]).print()
            >>> env.execute("print").metrics["records_in"]
            1
            2
            2
        """
        client = self.submit(job_name, is_awaited=True)
        try:
            return client.result()
        except KeyboardInterrupt:
            return _stop(client)

    def execute_async(self, job_name: str = _DEFAULT_NAME) -> JobClient:
        """Execute the program in the background.

        Args:
            job_name: The name of the job.

        Returns:
            The client's view of the job.

        Raises:
            NoSinkError: If the program has no sink.
            PenstockError: Why the program cannot run.
        """
        return self.submit(job_name)

    def get_execution_plan(self) -> str:
        """Return the plan of the program as JSON that Flink's plan visualizer reads.

        The program can still be executed afterwards.

        Raises:
            NoSinkError: If the program has no sink.

        Example:
            >>> import json
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> end = env.from_collection([1, 2]).print()
            >>> [node["type"] for node in json.loads(env.get_execution_plan())["nodes"]]
            ['Source: Collection Source', 'Sink: Print to Std. Out']
        """
        return execution_plan(self.get_stream_graph())

    def explain(self, *, analyze: bool = False) -> ExecutionPlan:
        """Return the plan of the program for people: chains, and what is exchanged between them.

        Printed it is a text; in a notebook it is a picture. PyFlink has no such method. The program
        can still be executed afterwards.

        Args:
            analyze: Whether to execute the program now, wait until it has ended, and show in the plan
                where its time went. The environment is empty afterwards, as after `execute`. For a
                job that does not end see `JobClient.progress` and `execution.profile`. Default: False.

        Returns:
            The plan; if analyzed with a `profile`.

        Raises:
            NoSinkError: If the program has no sink.
            PenstockError: If analyzed: why the program cannot run, or what the job failed with.

        Example:
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> end = env.from_collection([3, 4]).map(lambda number: number**2).print()
            >>> plan = env.explain(analyze=True)
            9
            16
            >>> [row.name for row in plan.profile.operators]
            ['Source: Collection Source', 'Map', 'Sink: Print to Std. Out']
        """
        graph = create_job_graph(self.get_stream_graph())
        if not analyze:
            return ExecutionPlan(graph)
        usual = self._configuration
        self._configuration = Configuration(usual).set(PROFILE, value=True)
        try:
            result = self.execute()
        finally:
            self._configuration = usual
        return ExecutionPlan(graph, result.get_profile())

    def close(self) -> None:
        """Forget the program that was built, and cached streams. Jobs that run go on, and a SparkSession stays.

        If no job runs any more, the REST API of this process is closed.
        """
        self.transformations.clear()
        for cache in self._caches:
            cache.invalidate()
        close_server()

    def cache(self, computed: Transformation) -> StreamCache:
        """Return what keeps the records of a stream until the environment is closed.

        Args:
            computed: What computes them.
        """
        cache = StreamCache(computed, self.transformations.next_id)
        self._caches.append(cache)
        return cache

    def get_target(self) -> str:
        """Return where programs run: "spark" or "local"."""
        return self._configuration.get(TARGET)

    def get_stream_graph(
        self, job_name: str | None = None, sinks: Sequence[Transformation] | None = None
    ) -> StreamGraph:
        """Return the operators of the program and the edges between them, as executors get them.

        Args:
            job_name: The name of the job. Default: `pipeline.name`, else "Flink Streaming Job".
            sinks: What is to run. Default: everything that was built since the last execution.

        Raises:
            NoSinkError: If the program has no sink.
            PenstockError: If the program cannot run for another reason.
        """
        configuration = self._configuration
        mode = configuration.get(RUNTIME_MODE)
        graph = build_stream_graph(
            list(self.transformations) if sinks is None else sinks,
            job_name=self._name(job_name),
            default_parallelism=self.get_parallelism(),
            max_parallelism=configuration.get(MAX_PARALLELISM),
            chaining_enabled=self.is_chaining_enabled()
            and configuration.get(PYTHON_OPERATOR_CHAINING),
            chain_different_max_parallelism=configuration.get(CHAIN_DIFFERENT_MAX_PARALLELISM),
            object_reuse=configuration.get(OBJECT_REUSE),
            batch=mode == RuntimeExecutionMode.BATCH.name,
            job_parameters=self.get_config().get_global_job_parameters(),
            auto_uids=configuration.get(AUTO_GENERATE_UIDS),
        )
        graph.state_backend = configuration.get(STATE_BACKEND)
        memory = configuration.get(STATE_MEMORY_LIMIT)
        graph.state_memory = None if memory is None else memory.get_bytes()
        factory = configuration.get(OPTIONS_FACTORY)
        graph.rocksdb = settings_in(
            configuration, None if factory is None else pickled_options_factory(factory)
        )
        if mode == RuntimeExecutionMode.AUTOMATIC.name:
            graph.batch = graph.is_bounded
        if not graph.batch and caches_behind(self.transformations if sinks is None else sinks):
            raise UnsupportedOperationError(
                "A program with a cached stream runs in BATCH mode only.",
                hint="Call set_runtime_mode(RuntimeExecutionMode.BATCH); sources have to end, then.",
            )
        in_spark = configuration.get(COLUMNAR_IN_SPARK) and self._begins_anew()
        return go_columnar(graph, in_spark=in_spark)

    def create_job_request(
        self,
        job_name: str | None = None,
        *,
        sinks: Sequence[Transformation] | None = None,
        collectors: dict[str, Callable[[list[Any]], None]] | None = None,
    ) -> JobRequest:
        """Return what an executor is given.

        Args:
            job_name: The name of the job.
            sinks: What is to run. Default: everything that was built since the last execution.
            collectors: For each stream whose results the client collects, what takes them, by id.

        Raises:
            NoSinkError: If the program has no sink.
            PenstockError: If the program cannot run for another reason.
        """
        graph = self.get_stream_graph(job_name, sinks)
        return JobRequest(
            name=graph.job_name,
            graph=graph,
            configuration=Configuration(self._configuration),
            collectors=collectors or {},
            engine=self._engine,
            python_files=self._python_files(),
            listeners=tuple(self._listeners),
        )

    def submit(
        self,
        job_name: str | None = None,
        collectors: dict[str, Callable[[list[Any]], None]] | None = None,
        *,
        is_awaited: bool = False,
    ) -> JobClient:
        """Start the program, and leave the environment empty, whether that succeeds or not.

        Args:
            job_name: The name of the job. Default: `pipeline.name`, else "Flink Streaming Job".
            collectors: For each stream whose results the client collects, what takes them, by id.
            is_awaited: Whether the caller waits for the end of the job at once.

        Returns:
            The client's view of the job.

        Raises:
            NoSinkError: If the program has no sink.
            PenstockError: Why the program cannot run.
        """
        with preparing(self._name(job_name)):
            try:
                sinks, listeners = self._cache_sinks()
                request = self.create_job_request(
                    job_name, sinks=[*self.transformations, *sinks], collectors=collectors
                )
            finally:
                self.transformations.clear()
            request.listeners += tuple(listeners)
            request.is_awaited = is_awaited
            executor = executor_for(self.get_target())
        return JobClient(executor.submit(request))

    def _name(self, job_name: str | None) -> str:
        return job_name or self._configuration.get(PIPELINE_NAME) or _DEFAULT_NAME

    def _cache_sinks(self) -> tuple[list[Transformation], list[EpochListener]]:
        """Return what keeps the records of cached streams that the program computes, and hears of its job."""
        for cache in caches_behind(self.transformations):
            cache.look()
        fillings = [
            cache.filling(self._configuration)
            for cache in caches_behind(self.transformations)
            if not cache.is_filled
        ]
        return [sink for sink, _ in fillings], [listener for _, listener in fillings]


def _stop(client: JobClient) -> JobExecutionResult:
    """Stop a job that the user interrupted, and say how far it came."""
    client.cancel().result()
    result = client.wait()
    client.tell_end()
    return result
