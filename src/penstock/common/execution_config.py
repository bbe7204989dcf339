"""The settings of a job that have methods of their own."""

from __future__ import annotations

from typing import Final, TypeVar

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import (
    AUTO_GENERATE_UIDS,
    AUTO_WATERMARK_INTERVAL,
    GLOBAL_JOB_PARAMETERS,
    MAX_PARALLELISM,
    OBJECT_REUSE,
    PARALLELISM,
)
from penstock.common.configuration.options_without_effect import (
    CLOSURE_CLEANER_LEVEL,
    FORCE_AVRO,
    FORCE_KRYO,
    GENERIC_TYPES,
    LATENCY_INTERVAL,
    SNAPSHOT_COMPRESSION,
    TASK_CANCELLATION_INTERVAL,
    TASK_CANCELLATION_TIMEOUT,
)
from penstock.common.time import Duration
from penstock.errors import InvalidParallelismError

__all__ = ["ExecutionConfig"]

T = TypeVar("T")


class ExecutionConfig:
    """How a job is executed, as far as it does not depend on where.

    It is a view of a configuration: what is set here is set there, and the other way round. What
    concerns Java's serializers, closures and tasks is kept and changes nothing here; the log says so
    once if it is not the default.

    Attributes:
        PARALLELISM_DEFAULT: Stands for the parallelism of the environment.
        PARALLELISM_UNKNOWN: Stands for the parallelism that there was before.

    Args:
        configuration: The configuration. Default: a new one.

    Example:
        >>> config = ExecutionConfig().set_parallelism(4)
        >>> config.get_parallelism(), config.get_auto_watermark_interval()
        (4, 200)
    """

    PARALLELISM_DEFAULT: Final = -1
    PARALLELISM_UNKNOWN: Final = -2

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set how many subtasks an operator has that does not say so itself.

        Args:
            parallelism: The number, at least 1; or `PARALLELISM_DEFAULT`, which removes the
                setting, or `PARALLELISM_UNKNOWN`, which leaves it.

        Returns:
            This object.

        Raises:
            InvalidParallelismError: If the number is below 1.
        """
        if parallelism == self.PARALLELISM_UNKNOWN:
            return self
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(PARALLELISM.key)
            return self
        if parallelism < 1:
            raise InvalidParallelismError(
                f"A job cannot have the parallelism {parallelism}.", hint="Give 1 or more."
            )
        self._configuration.set(PARALLELISM, parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return how many subtasks an operator has that does not say so itself.

        Returns:
            The number; `PARALLELISM_DEFAULT` if none is set.
        """
        parallelism = self._configuration.get(PARALLELISM)
        return self.PARALLELISM_DEFAULT if parallelism is None else parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the greatest parallelism that the job with its state can be restarted with.

        Args:
            max_parallelism: The number of key groups, from 1 to 32768.

        Returns:
            This object.

        Raises:
            InvalidParallelismError: If the number is not in that range.
        """
        if not 1 <= max_parallelism <= 32_768:
            raise InvalidParallelismError(
                f"A job cannot have the maximum parallelism {max_parallelism}.",
                hint="Give a number from 1 to 32768.",
            )
        self._configuration.set(MAX_PARALLELISM, max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the greatest parallelism that the job with its state can be restarted with.

        Returns:
            The number; -1 if none is set, and each operator derives it from its parallelism.
        """
        max_parallelism = self._configuration.get(MAX_PARALLELISM)
        return -1 if max_parallelism is None else max_parallelism

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set how often watermark generators are asked for a watermark.

        Args:
            interval: The interval in milliseconds; 0 asks at each record only.

        Returns:
            This object.

        Raises:
            InvalidConfigurationValueError: If the interval is negative.
        """
        self._configuration.set(AUTO_WATERMARK_INTERVAL, Duration.of_millis(interval))
        return self

    def get_auto_watermark_interval(self) -> int:
        """Return how often watermark generators are asked for a watermark.

        Returns:
            The interval in milliseconds. Default: 200.
        """
        return self._configuration.get(AUTO_WATERMARK_INTERVAL).to_millis()

    def enable_object_reuse(self) -> ExecutionConfig:
        """Let chained operators hand on the same objects, as they do by default.

        Returns:
            This object.
        """
        self._configuration.set(OBJECT_REUSE, value=True)
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Copy every record between chained operators, for functions that change what they keep.

        Returns:
            This object.
        """
        self._configuration.set(OBJECT_REUSE, value=False)
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Tell whether chained operators hand on the same objects.

        Returns:
            Whether they do. Default: True, since they do so in PyFlink whatever it says.
        """
        return self._configuration.get(OBJECT_REUSE)

    def set_global_job_parameters(
        self, global_job_parameters_dict: dict[str, str]
    ) -> ExecutionConfig:
        """Set the user's own settings, in place of those that were set before.

        Args:
            global_job_parameters_dict: The settings.

        Returns:
            This object.
        """
        prefix = f"{GLOBAL_JOB_PARAMETERS.key}."
        for key in self._configuration.key_set():
            if key == GLOBAL_JOB_PARAMETERS.key or key.startswith(prefix):
                self._configuration.remove_config(key)
        for key, value in global_job_parameters_dict.items():
            self._configuration.set_string(f"{prefix}{key}", str(value))
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the user's own settings.

        Returns:
            A new dict of them. Default: an empty one.

        Example:
            >>> config = ExecutionConfig().set_global_job_parameters({"date": "2013-01-01"})
            >>> config.get_global_job_parameters()
            {'date': '2013-01-01'}
        """
        prefix = f"{GLOBAL_JOB_PARAMETERS.key}."
        settings = self._configuration.to_dict().items()
        single = {key[len(prefix) :]: value for key, value in settings if key.startswith(prefix)}
        together = self._configuration.get(GLOBAL_JOB_PARAMETERS)
        return {**together, **single}

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Let operators be without a uid, as they may by default.

        Returns:
            This object.
        """
        return self._set(AUTO_GENERATE_UIDS, value=True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuse programs with an operator that has no uid: `execute` raises `MissingUidError` then.

        A uid is what an operator's state is found by in a program that was changed.

        Returns:
            This object.
        """
        return self._set(AUTO_GENERATE_UIDS, value=False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Tell whether operators may be without a uid.

        Returns:
            Whether they may. Default: True.
        """
        return self._configuration.get(AUTO_GENERATE_UIDS)

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted without effect: a Python function is sent with what it names, and nothing else.

        Returns:
            This object.
        """
        return self._set(CLOSURE_CLEANER_LEVEL, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted without effect: see `enable_closure_cleaner`.

        Returns:
            This object.
        """
        return self._set(CLOSURE_CLEANER_LEVEL, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """Tell which of both was called last.

        Returns:
            Whether it was `enable_closure_cleaner`. Default: True.
        """
        return self._configuration.get(CLOSURE_CLEANER_LEVEL) != "NONE"

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Accepted without effect: `JobClient.progress` tells how long an epoch took.

        Args:
            interval: Milliseconds; 0 or less is none.

        Returns:
            This object.
        """
        return self._set(LATENCY_INTERVAL, Duration.of_millis(interval))

    def get_latency_tracking_interval(self) -> int:
        """Return what `set_latency_tracking_interval` was given.

        Returns:
            The interval in milliseconds. Default: 0.
        """
        return self._configuration.get(LATENCY_INTERVAL).to_millis()

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Accepted without effect: a job is cancelled between epochs, or Spark ends its tasks.

        Args:
            interval: Milliseconds.

        Returns:
            This object.
        """
        return self._set(TASK_CANCELLATION_INTERVAL, Duration.of_millis(interval))

    def get_task_cancellation_interval(self) -> int:
        """Return what `set_task_cancellation_interval` was given.

        Returns:
            The interval in milliseconds. Default: 30000.
        """
        return self._configuration.get(TASK_CANCELLATION_INTERVAL).to_millis()

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Accepted without effect: see `set_task_cancellation_interval`.

        Args:
            timeout: Milliseconds; 0 is none.

        Returns:
            This object.

        Raises:
            InvalidConfigurationValueError: If it is negative.
        """
        return self._set(TASK_CANCELLATION_TIMEOUT, Duration.of_millis(timeout))

    def get_task_cancellation_timeout(self) -> int:
        """Return what `set_task_cancellation_timeout` was given.

        Returns:
            The time in milliseconds. Default: 180000.
        """
        return self._configuration.get(TASK_CANCELLATION_TIMEOUT).to_millis()

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Accepted without effect: how an epoch's files are written is not chosen.

        Args:
            use_snapshot_compression: Whether to compress them.

        Returns:
            This object.
        """
        return self._set(SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def is_use_snapshot_compression(self) -> bool:
        """Return what `set_use_snapshot_compression` was given.

        Returns:
            Whether it was True. Default: False.
        """
        return self._configuration.get(SNAPSHOT_COMPRESSION)

    def enable_force_kryo(self) -> ExecutionConfig:
        """Accepted without effect: records are Python objects, which no serializer of Java's writes.

        Returns:
            This object.
        """
        return self._set(FORCE_KRYO, value=True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Accepted without effect: records are Python objects, which no serializer of Java's writes.

        Returns:
            This object.
        """
        return self._set(FORCE_KRYO, value=False)

    def is_force_kryo_enabled(self) -> bool:
        """Tell which of both was called last.

        Returns:
            Whether it was `enable_force_kryo`. Default: False.
        """
        return self._configuration.get(FORCE_KRYO)

    def enable_force_avro(self) -> ExecutionConfig:
        """Accepted without effect: records are Python objects, which no serializer of Java's writes.

        Returns:
            This object.
        """
        return self._set(FORCE_AVRO, value=True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Accepted without effect: records are Python objects, which no serializer of Java's writes.

        Returns:
            This object.
        """
        return self._set(FORCE_AVRO, value=False)

    def is_force_avro_enabled(self) -> bool:
        """Tell which of both was called last.

        Returns:
            Whether it was `enable_force_avro`. Default: False.
        """
        return self._configuration.get(FORCE_AVRO)

    def enable_generic_types(self) -> ExecutionConfig:
        """Accepted without effect: what has no declared type is pickled.

        Returns:
            This object.
        """
        return self._set(GENERIC_TYPES, value=True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Accepted without effect: what has no declared type is pickled.

        Returns:
            This object.
        """
        return self._set(GENERIC_TYPES, value=False)

    def has_generic_types_disabled(self) -> bool:
        """Tell which of both was called last.

        Returns:
            Whether it was `disable_generic_types`. Default: False.
        """
        return not self._configuration.get(GENERIC_TYPES)

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Return the serializers of Java by the classes that they are for.

        Returns:
            An empty dict: there are none.
        """
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Return the classes of Java that are registered with one of its serializers.

        Returns:
            An empty list: there are none.
        """
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Return the classes of Java that are registered with one of its serializers.

        Returns:
            An empty list: there are none.
        """
        return []

    def _set(self, option: ConfigOption[T], value: T) -> ExecutionConfig:
        self._configuration.set(option, value)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
