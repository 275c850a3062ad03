"""Read a vLLM or SGLang start-up log and say where the GPU memory went.

    log = logparse.parse("vllm.log")        # or parse_text(pasted)
    log.observations                        # one row per number, a pandas DataFrame
    report = logparse.reconcile(log)
    print(report.to_text())

All errors are `LogparseError`; see `logparse.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from logparse.errors import LogparseError
    from logparse.log import Log, parse, parse_text
    from logparse.reconciliation import reconcile
    from logparse.report import Report

__all__ = ["Log", "LogparseError", "Report", "__version__", "parse", "parse_text", "reconcile"]

_HOMES = {
    "Log": "log",
    "LogparseError": "errors",
    "Report": "report",
    "parse": "log",
    "parse_text": "log",
    "reconcile": "reconciliation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'logparse' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"logparse.{_HOMES[name]}"), name)
