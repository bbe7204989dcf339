"""Groups of operators, by their names in PyFlink."""

from __future__ import annotations

from penstock.common.configuration.memory_size import MemorySize
from penstock.datastream.streams.slot_sharing_group import SlotSharingGroup

__all__ = ["MemorySize", "SlotSharingGroup"]
