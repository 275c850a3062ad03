"""How long a report on a small log takes, as a ratio to importing what it is made of.

    python benchmarks/startup.py [RUNS]

Prints the median wall time of each and their ratios; runs alternate, so that load on the machine hits all alike.
"""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.resources import files
from statistics import median

DEMO = str(files("logparse") / "data" / "demo.log")
COMMANDS = {
    "imports": ["-c", "import pandas, regex, jinja2, typer, rich"],
    "help": ["-m", "logparse", "--help"],
    "observe": ["-m", "logparse", "observe", DEMO],
    "report": ["-m", "logparse", "report", DEMO],
}


def seconds(arguments: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main(runs: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    base = median(times["imports"])
    for name, taken in times.items():
        print(f"{name:8} {median(taken):6.3f} s   {median(taken) / base:5.2f} x imports")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
