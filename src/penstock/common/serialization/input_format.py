"""What is read by `create_input`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.common.typeinfo.type_information import TypeInformation

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """Base of what `StreamExecutionEnvironment.create_input` reads, such as `AvroInputFormat`."""

    @abstractmethod
    def description(self) -> Any:
        """Return what the runtime reads."""

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records; None if it is not known."""
        return None
