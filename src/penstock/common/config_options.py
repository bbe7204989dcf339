"""Options of a configuration, by their names in PyFlink."""

from __future__ import annotations

from penstock.common.configuration.config_option import ConfigOption, ConfigOptions

__all__ = ["ConfigOption", "ConfigOptions"]
