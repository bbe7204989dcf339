"""What is in a file: its records, in blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import IO

from penstock.common.typeinfo.type_information import TypeInformation
from penstock.runtime.exchange.elements import Block


class ReaderFormat(ABC):
    """Reads the records of a file.

    Attributes:
        produced_type: The type of the records; None if it is not known.
    """

    produced_type: TypeInformation | None = None

    @abstractmethod
    def read(self, file: IO[bytes], path: str) -> Iterator[Block]:
        """Yield the records of a file.

        Args:
            file: Its bytes.
            path: Where it is, for messages; its end may say how it is compressed.

        Raises:
            PenstockError: If these are no records of the format.
        """
