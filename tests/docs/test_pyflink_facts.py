"""The public names of a package are found in its sources, with all that a caller has to know of them."""

from __future__ import annotations

from pathlib import Path

from scripts.pyflink_facts import text

SEA = """
from pyflink.common.shore import Harbour
__all__ = ["Boat", "Harbour"]
T = TypeVar("T")
DEPTH = 11
_HIDDEN = 1

class Boat(Vessel, ABC):
    MAST: int = 1
    def __init__(self, length, crew: list = None): ...
    def sail(self, course: int, *ports, speed=2 * 3): ...
    @overload
    def moor(self): ...
    def moor(self, pier="old pier"): ...
    @staticmethod
    def built(year): ...
    @classmethod
    def named(cls, name): ...
    @property
    def length(self): ...
    def get_java_boat(self): ...
    def _sink(self): ...

    class Cabin(Generic[T]):
        pass

class JavaBoat: ...
class Wrapped:
    def __init__(self, j_boat): ...
def swim(far, **how): ...
def _drown(): ...

def _install():
    setattr(sea, "Pier", shore.Pier)
"""

FACTS = """\
[penstock.common.sea]
DEPTH
Boat(length, crew=None) < Vessel
    MAST
    sail(course, *ports, speed=2 * 3)
    moor(pier='old pier')
    @built(year)
    @named(name)
    length
Boat.Cabin
Wrapped
swim(far, **how)
brings
    Harbour
    Pier
"""


def test_public_names_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "common"
    (folder / "tests").mkdir(parents=True)
    (folder / "sea.py").write_text(SEA)
    (folder / "empty.py").write_text("")
    (folder / "tests" / "test_sea.py").write_text(SEA)

    head, *modules = text(tmp_path).split("\n\n")

    assert head.startswith("# The public names of PyFlink")
    assert modules == [FACTS]
