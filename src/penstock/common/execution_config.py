"""The settings of a job that have methods of their own."""

from __future__ import annotations

from typing import Final

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import (
    AUTO_WATERMARK_INTERVAL,
    GLOBAL_JOB_PARAMETERS,
    MAX_PARALLELISM,
    OBJECT_REUSE,
    PARALLELISM,
)
from penstock.common.time import Duration
from penstock.errors import InvalidParallelismError

__all__ = ["ExecutionConfig"]


class ExecutionConfig:
    """How a job is executed, as far as it does not depend on where.

    It is a view of a configuration: what is set here is set there, and the other way round.

    Attributes:
        PARALLELISM_DEFAULT: Stands for the parallelism of the environment.

    Args:
        configuration: The configuration. Default: a new one.

    Example:
        >>> config = ExecutionConfig().set_parallelism(4)
        >>> config.get_parallelism(), config.get_auto_watermark_interval()
        (4, 200)
    """

    PARALLELISM_DEFAULT: Final = -1

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set how many subtasks an operator has that does not say so itself.

        Args:
            parallelism: The number, at least 1; or `PARALLELISM_DEFAULT`, which removes the
                setting.

        Returns:
            This object.

        Raises:
            InvalidParallelismError: If the number is below 1.
        """
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
