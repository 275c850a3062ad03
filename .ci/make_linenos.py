"""Write patterns/vllm/linenos.json from ../shared/catalog: which releases log something at which file and line.

Run by hand when the catalogue grows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
CATALOG = ROOT.parent / "shared" / "catalog"


def spans(numbers: set[int]) -> str:
    """`{1, 2, 3, 7}` as `1-3,7`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(f"{low}-{high}" if low != high else f"{low}" for low, high in found)


releases = (CATALOG / "vllm-releases.txt").read_text("utf-8").split()
index = {release: number for number, release in enumerate(releases)}
places: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
for rows in json.loads((CATALOG / "vllm-linenos.json").read_text("utf-8")).values():
    for file, line, known in rows:
        places[file][line].update(index[release] for release in known if release in index)
files = {file: {str(n): spans(found) for n, found in sorted(lines.items())} for file, lines in sorted(places.items())}
data = {"schema": 1, "engine": "vllm", "releases": releases, "files": files}
(ROOT / "patterns" / "vllm" / "linenos.json").write_text(json.dumps(data, separators=(",", ":")) + "\n", "utf-8")
