"""Where the data that ships with the package lies: in the wheel, or in the checkout beside it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from logparse.errors import PatternError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Kind = Literal["patterns", "templates"]


def root(kind: Kind) -> Traversable:
    """Return the folder of `kind`.

    Raises:
        PatternError: neither the wheel's copy nor a checkout is there.
    """
    package = files("logparse")
    shipped = package / "_data" / kind
    if shipped.is_dir():
        return shipped
    checkout = Path(str(package)).parent
    if (checkout / "pyproject.toml").is_file() and (checkout / kind).is_dir():
        return checkout / kind
    raise PatternError(f"the {kind}/ folder is not in this installation; reinstall logparse")
