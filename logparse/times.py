"""Times as engines print them: with or without a date, never with a zone, mostly without a year."""

from __future__ import annotations

import re

_TIME = re.compile(r"(?:(?:(\d{4})-)?(\d\d)-(\d\d) )?(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
_DAYS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
DAY = 86_400


def seconds(time: str | None) -> float | None:
    """Seconds since the start of the year (or of the day, where no date is printed)."""
    found = _TIME.search(time) if time else None
    if not found:
        return None
    _, month, day, hour, minute, second, fraction = found.groups()
    days = _DAYS[(int(month) - 1) % 12] + int(day) if month else 0
    return days * DAY + int(hour) * 3600 + int(minute) * 60 + int(second) + float(f"0.{fraction or 0}")
