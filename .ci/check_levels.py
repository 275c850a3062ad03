"""Recall, precision and coverage against ../shared stay at their levels."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
levels = tomllib.loads((ROOT / ".ci" / "levels.toml").read_text("utf-8"))
runs = [
    [SHARED / "corpus" / "score.py", "--index", SHARED / "corpus" / f"{engine}.jsonl", "--min", level, "--show", 5]
    for engine, level in levels["score"].items()
]
runs.append([SHARED / "catalog" / "cover.py", "--min", levels["cover"]["min"], "--show", 5])
runs += [[ROOT / ".ci" / "cover_mended.py"], [ROOT / ".ci" / "check_inference.py"]]
failed = False
for run in runs:
    done = subprocess.run([sys.executable, *map(str, run)], capture_output=True, text=True, check=False)
    print("\n".join(done.stdout.splitlines()[-7:] if done.returncode else done.stdout.splitlines()[-3:]))
    sys.stderr.write(done.stderr)
    failed |= done.returncode != 0
sys.exit("a figure sank below its level in .ci/levels.toml" if failed else 0)
