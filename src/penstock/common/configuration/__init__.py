"""The settings of a job."""

from __future__ import annotations

from penstock.common.configuration.configuration import Configuration

__all__ = [
    "Configuration",
]
