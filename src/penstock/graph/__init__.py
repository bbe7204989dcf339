"""From a program's transformations to chains of operators, and to plans people can read."""
