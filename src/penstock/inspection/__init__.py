"""What a checkpoint or a savepoint holds: its operators, their state and timers, as Arrow tables."""

from __future__ import annotations

from penstock.inspection.checkpoint import Checkpoint, read_checkpoint
from penstock.inspection.verification import Verification, verify_checkpoint

__all__ = ["Checkpoint", "Verification", "read_checkpoint", "verify_checkpoint"]
