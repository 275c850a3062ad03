"""How a run ended: ready, failed, killed, or cut before it says; and the error that ended it.

Wrapper errors ("Engine core initialization failed") are never the cause where another error is. An error counts
where the process that printed it got no further; that the run failed at all is told by errors after its last
progress.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logparse.match import Event
    from logparse.rules import Rules

COMMON = "common"
ORDER = {"init": 0, "load": 1, "profile": 2, "kv_cache": 3, "capture": 4, "ready": 5, "serving": 6}
_ENDS = ("failed", "wrapper_error", "killed")


def outcome(events: Sequence[Event], rules: Rules) -> str:
    """`ready`, `ready-then-failed`, `failed`, `killed` or `excerpt` (the log ends before any of these)."""
    error = failure(events)
    ready = next((i for i, event in enumerate(events) if _is_ready(event, rules)), None)
    if error is None:
        if any(event.pattern.marks == "killed" for event in events):
            return "killed"
        return "ready" if ready is not None or _serves(events, rules) else "excerpt"
    return "ready-then-failed" if ready is not None and ready < _index(events, error) else "failed"


def failure(events: Sequence[Event]) -> Event | None:
    """The first error that ended the run; a wrapper's where no other is in the log."""
    last = _last_progress(events)
    after = [event for event in events[last + 1 :] if event.pattern.marks in _ENDS]
    served = any(event.pattern.phase in ("ready", "serving") for event in events[: last + 1])
    stopped = _was_stopped(events[last + 1 :])
    if served and (stopped or all(event.pattern.is_fallback for event in after)):
        return None  # it was stopped, or the exception may be one request's
    if not any(event.pattern.marks in ("failed", "wrapper_error") for event in after):
        return None
    causes = after if served else _ended(events)
    for wanted in (_is_cause, _is_error):
        if found := next((event for event in causes if wanted(event)), None):
            return found
    return None


def _was_stopped(events: Sequence[Event]) -> bool:
    """True where somebody ended the engine before any error came: what fails then is only its end."""
    first = next((event for event in events if event.pattern.marks in (*_ENDS, "exit")), None)
    return first is not None and first.pattern.marks == "exit"


def last_phase(events: Sequence[Event]) -> str | None:
    """The furthest phase that the run reached."""
    reached = [event.pattern.phase for event in events if event.pattern.phase in ORDER]
    return max(reached, key=ORDER.__getitem__, default=None)


def _is_ready(event: Event, rules: Rules) -> bool:
    if event.pattern.marks == "listening":
        return rules.get("listening") == "ready"
    return event.pattern.marks == "ready"


def _serves(events: Sequence[Event], rules: Rules) -> bool:
    """True where requests are served; some engines do so already while they warm up."""
    serving = any(event.pattern.phase == "serving" for event in events)
    started = any(ORDER.get(event.pattern.phase, 0) in (1, 2, 3, 4) for event in events)
    return serving and (not started or rules.get("serving") == "ready")


def _last_progress(events: Sequence[Event]) -> int:
    """Index of the last line that shows the run going on; what a dead engine still prints does not."""
    last, dead = -1, False
    for index, event in enumerate(events):
        dead |= event.pattern.marks in ("wrapper_error", "killed")
        if is_progress(event) and not (dead and event.pattern.phase == "serving"):
            last, dead = index, False
    return last


def is_progress(event: Event) -> bool:
    """True for an engine's own line of a phase past the beginning."""
    past_start = ORDER.get(event.pattern.phase, 0) > 0
    return event.pattern.engine != COMMON and past_start and event.pattern.marks != "exit"


def _ended(events: Sequence[Event]) -> list[Event]:
    """Errors after which the process that printed them got no further."""
    progress: dict[object, int] = {}
    for index, event in enumerate(events):
        if is_progress(event):
            progress[_voice(event)] = index
    return [
        event for index, event in enumerate(events)
        if event.pattern.marks in _ENDS and index > progress.get(_voice(event), -1)
    ]  # fmt: skip


def _voice(event: Event) -> tuple[str, str | None, int | None, str | None]:
    return event.source, event.line.process, event.line.pid, event.line.rank


def _is_cause(event: Event) -> bool:
    """True for an error that says what went wrong, in more than a heading."""
    said = event.text("identity:error") or event.line.text
    return event.pattern.marks == "failed" and not said.rstrip().endswith(":")


def _is_error(event: Event) -> bool:
    return event.pattern.marks in ("failed", "wrapper_error")


def _index(events: Sequence[Event], wanted: Event) -> int:
    return next(index for index, event in enumerate(events) if event is wanted)
