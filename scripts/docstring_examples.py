"""Has the documentation show the section `Example:` of a docstring as code, as it does `Examples:`."""

from __future__ import annotations

import re
from typing import Any

import griffe


class DocstringExamples(griffe.Extension):
    """Renames the section before the docstring is parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename it in one docstring."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = re.sub(
                r"^( *)Example:$", r"\1Examples:", text, flags=re.MULTILINE
            )
