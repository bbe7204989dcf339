"""What is left of a job when it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.common.job_id import JobID
    from penstock.common.job_profile import JobProfile

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """The result of a job that has finished.

    Args:
        job_id: The job.
        net_runtime: How long it ran, in milliseconds.
        metrics: What its operators counted. Default: nothing.
        profile: Where its time went. Default: None, for not measured.

    Attributes:
        metrics: What its operators counted.

    Example:
        >>> from penstock.common.job_id import JobID
        >>> JobExecutionResult(JobID(), 1500, {"records_in": 10}).get_net_runtime()
        1500
    """

    def __init__(
        self,
        job_id: JobID,
        net_runtime: int,
        metrics: dict[str, Any] | None = None,
        profile: JobProfile | None = None,
    ) -> None:
        self._job_id = job_id
        self._net_runtime = net_runtime
        self.metrics: dict[str, Any] = {} if metrics is None else metrics
        self._profile = profile

    def get_job_id(self) -> JobID:
        """Return the identifier of the job.

        Returns:
            The identifier.
        """
        return self._job_id

    def get_net_runtime(self) -> int:
        """Return how long the job ran, without the time it took to compile and submit it.

        Returns:
            The time in milliseconds.
        """
        return self._net_runtime

    def get_profile(self) -> JobProfile | None:
        """Return where the time of the job went. PyFlink has no such method.

        Returns:
            The profile; None unless `execution.profile` is on.

        Example:
            >>> from penstock.common import Configuration
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> env.configure(Configuration().set_string("execution.profile", "true"))
            >>> end = env.from_collection([1, 2]).map(str).add_sink(lambda text: None)
            >>> [row.name for row in env.execute().get_profile().operators]
            ['Source: Collection Source', 'Map', 'Sink: Unnamed']
        """
        return self._profile

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return what the functions of the job counted under a name.

        Args:
            accumulator_name: The name of the metric.

        Returns:
            The number; None if nothing was counted under that name.
        """
        return self.get_all_accumulator_results().get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return what the functions of the job counted, by the names of the metrics.

        Returns:
            A new dict. Numbers that several functions counted under one name are added up.

        Example:
            >>> from penstock.common.job_id import JobID
            >>> operators = {"a": {"user": {"hits": 1}}, "b": {"user": {"hits": 2}}}
            >>> result = JobExecutionResult(JobID(), 1500, {"operators": operators})
            >>> result.get_all_accumulator_results()
            {'hits': 3}
        """
        return accumulators_of(self.metrics.get("operators", {}))

    def __str__(self) -> str:
        return f"Job {self._job_id} finished after {self._net_runtime} ms."


def accumulators_of(operators: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what functions counted, by the names of the metrics, over all operators."""
    found: dict[str, Any] = {}
    for report in operators.values():
        for name, value in report.get("user", {}).items():
            is_sum = name in found and isinstance(value, int | float)
            found[name] = found[name] + value if is_sum else value
    return found
