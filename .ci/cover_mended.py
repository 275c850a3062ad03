"""Run ../shared/catalog/cover.py with one of its patterns mended, for several seeds, and within this process.

As it stands it takes the end of "KV size: " for "V size: " and so asks for the size of the V cache where an engine
prints that of both. Starting logparse anew for each of 251 releases takes most of its time.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import logparse
from logparse.frames import observation_rows

COVER = Path(__file__).parent.parent.parent / "shared" / "catalog" / "cover.py"
FAULT, MENDED = '(r"V size: $"', '(r", V size: $"'


def observe(command: list[str], **_: Any) -> CompletedProcess[str]:
    """What `logparse observe --format jsonl FILE` prints."""
    rows = observation_rows(logparse.parse(command[-1]).parsed)
    return CompletedProcess(command, 0, "\n".join(json.dumps(row) for row in rows), "")


def main(seeds: list[str]) -> None:
    """Run it for each seed; exit with a message where a size is not read."""
    source = COVER.read_text("utf-8").replace(FAULT, MENDED)
    failed = False
    for seed in seeds:
        module: dict[str, Any] = {"__name__": "cover", "__file__": str(COVER)}
        exec(compile(source, str(COVER), "exec"), module)
        module["subprocess"].run, original = observe, module["subprocess"].run
        sys.argv, out = ["cover.py", "--seed", seed, "--min", "1.0", "--show", "5"], io.StringIO()
        try:
            with redirect_stdout(out):
                module["main"]()
        except SystemExit as end:
            failed |= bool(end.code)
        finally:
            module["subprocess"].run = original
        print(f"cover, mended, seed {seed}:", "; ".join(out.getvalue().splitlines()))
    sys.exit("a release is not wholly read" if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:] or ["1", "2", "3"])
