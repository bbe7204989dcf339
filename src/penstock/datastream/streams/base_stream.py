"""What a stream is, whatever can be done with it."""

from __future__ import annotations

from penstock.common.execution_config import ExecutionConfig
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.datastream.environment_execution import EnvironmentExecution
from penstock.datastream.streams.operator_settings import StreamSettings
from penstock.graph.transformation import Transformation


class BaseStream(StreamSettings):
    """What a stream is: the program that it is part of, and what makes its records.

    Args:
        environment: The program.
        transformation: What makes the stream.
    """

    def __init__(self, environment: EnvironmentExecution, transformation: Transformation) -> None:
        super().__init__(transformation)
        self._environment = environment

    def get_type(self) -> TypeInformation:
        """Return the declared type of the records; any object that can be pickled if there is none."""
        return self._transformation.output_type or Types.PICKLED_BYTE_ARRAY()

    def get_execution_config(self) -> ExecutionConfig:
        """Return the settings of the program."""
        return self._environment.get_config()
