"""Where a run of a streaming program ends, and whether its input ends there too."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.configuration import options
from penstock.common.configuration.configuration import Configuration
from penstock.errors import NoCheckpointLocationError


@dataclass(frozen=True)
class RunEnd:
    """Where a run of a streaming program ends.

    Attributes:
        is_present: Whether it ends once it has read what was there when it started.
        ends_input: Whether that is all of the input: event time ends with it, and no run follows.
    """

    is_present: bool
    ends_input: bool

    @classmethod
    def of(cls, configuration: Configuration) -> RunEnd:
        """Return what a job's configuration says of it."""
        is_older_key = configuration.get(options.EPOCH_AVAILABLE_NOW)
        is_present = is_older_key or configuration.get(options.TRIGGER) == "available-now"
        ends_input = configuration.get(options.EPOCH_END_OF_INPUT)
        return cls(is_present, is_present and (is_older_key if ends_input is None else ends_input))

    def check_location(self, what: str) -> None:
        """Refuse a job without a checkpoint location if its next run is to go on from there.

        Args:
            what: The streaming job, as in "Job 'x'".

        Raises:
            NoCheckpointLocationError: If it is.
        """
        if self.is_present and not self.ends_input:
            raise NoCheckpointLocationError(
                f"{what} is to read what is there now and to go on from there with its next run (execution.trigger: "
                "available-now), and has no checkpoint location: the next run would read everything again.",
                hint="Set execution.checkpointing.dir to a folder or object store that the driver and all workers reach, the "
                "same for each run. If this run is the only one, set execution.epoch.end-of-input to true: then all "
                "windows fire.",
            )
