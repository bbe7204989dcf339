"""Checks of a program's functions: whether they are what windows that share panes rely on."""
