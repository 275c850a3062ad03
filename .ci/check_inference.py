"""With the banner taken away, is the true release among those inferred, and among how few?

Reads the vLLM logs of ../shared/corpus that say their release (SGLang says it nowhere), removes every line that says
it, and reads them again. Prints the share of logs whose inferred releases hold the true one, and the median number of
releases inferred. A nightly or a candidate lies between two releases: either is right. A build that calls itself
0.1.dev does not say its release.
"""

from __future__ import annotations

import statistics
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import logparse
from logparse.errors import NothingRecognised
from logparse.versions import Version

if TYPE_CHECKING:
    from logparse.runs import Run

FIRST = (0, 1, 1, 0)
"""Development builds that do not know their release call themselves 0.1.dev."""
ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"


def releases() -> list[Version]:
    """All releases of vLLM, in order."""
    text = (SHARED / "catalog" / "vllm-releases.txt").read_text("utf-8")
    return [version for word in text.split() if (version := Version.parse(word))]


def right(version: Version, known: list[Version]) -> set[Version]:
    """The release itself, or those between which a development build lies; empty where nobody can tell."""
    before, behind = [v for v in known if v <= version], [v for v in known if v >= version]
    return {before[-1], behind[0]} if before and behind and version.key[0] >= FIRST else set()


def banners(run: Run) -> set[int]:
    """Physical lines that say the release."""
    return {
        number
        for event in run.events
        if event.text("identity:version")
        for number in range(event.line.number, event.until[0] + 1)
    }


def without(path: Path, lines: set[int]) -> list[Run]:
    """The runs of a log without some of its lines."""
    kept = [line for number, line in enumerate(path.read_bytes().split(b"\n"), 1) if number not in lines]
    try:
        return list(logparse.parse_text(b"\n".join(kept).decode("utf-8", "replace")).parsed)
    except NothingRecognised:
        return []


def judge(path: Path, known: list[Version]) -> tuple[bool, int] | None:
    """Whether the inferred releases hold the true one, and how many they are; None where the log says none."""
    try:
        runs = [run for run in logparse.parse(path).parsed if run.version_source == "banner"]
    except NothingRecognised:
        return None
    truth = right(runs[0].version, known) if runs and runs[0].version else set()
    again = [run for run in without(path, set().union(*map(banners, runs))) if run.engine == "vllm"] if truth else []
    era = again[0].era if again else None
    return None if era is None else (any(v in era for v in truth), sum(v in era for v in known))


def main() -> None:
    """Print the figures; exit with a message where they are below their level."""
    level = tomllib.loads((ROOT / ".ci" / "levels.toml").read_text("utf-8"))["inference"]
    known = releases()
    judged = {p.name: judge(p, known) for p in sorted((SHARED / "corpus" / "vllm").glob("*.log"))}
    found = {name: result for name, result in judged.items() if result}
    missed = [name for name, (holds, _) in found.items() if not holds]
    share, width = 1 - len(missed) / len(found), statistics.median(width for _, width in found.values())
    print(f"inference: {share:.3f} of {len(found)} hold the true release, median width {width}; not: {missed}")
    if share < level["share"] or width > level["width"]:
        sys.exit("inference sank below its level in .ci/levels.toml")


if __name__ == "__main__":
    main()
