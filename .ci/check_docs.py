"""Documents keep their promises: every public name is described, every relative link leads somewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import logparse

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")), *sorted((ROOT / "patterns").glob("**/*.md"))]
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#([^)\s]*))?\)")


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def _faults() -> list[str]:
    faults = []
    words = "\n".join(page.read_text("utf-8") for page in PAGES)
    for name in getattr(logparse, "__all__", []):
        if not name.startswith("_") and not re.search(rf"\b{name}\b", words):
            faults.append(f"the public name {name} is in no document")
        if not name.startswith("_") and not getattr(getattr(logparse, name), "__doc__", None):
            faults.append(f"the public name {name} has no docstring")
    for page in PAGES:
        for target, anchor in LINK.findall(page.read_text("utf-8")):
            place = page.parent / target
            if not place.exists():
                faults.append(f"{page.relative_to(ROOT)} links to {target}, which does not exist")
            elif anchor and place.suffix == ".md" and anchor not in _anchors(place):
                faults.append(f"{page.relative_to(ROOT)} links to {target}#{anchor}, which has no such title")
    return faults


if faults := _faults():
    sys.exit("\n".join(faults))
print(f"{len(PAGES)} documents: every link leads somewhere, every public name is described")
