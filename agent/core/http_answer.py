"""Owns what an HTTP answer means for an alert: delivered, to try again, or refused for good."""

from __future__ import annotations

import calendar
from typing import Mapping, NamedTuple, Optional, Union

from agent.core import wording
from agent.core.model import Delivery

#: 4xx that say "not now": timeout, too early, too many requests.
_LATER = (408, 425, 429)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LONGEST_EXCERPT = 200


class Reply(NamedTuple):
    """An answer, whatever it says."""

    #: Who gave it, for messages; without secrets.
    where: str
    status: int
    #: The beginning of its text; empty for a success.
    text: str = ""
    #: By lower-case name.
    headers: Mapping[str, str] = {}

    @property
    def date(self) -> Optional[float]:
        """The receiver's own time in epoch seconds: a clock that is not the one in question."""
        return http_date(self.headers.get("date", ""))

    @property
    def retry_after(self) -> Optional[float]:
        """Seconds it asks us to wait.

        A date is read against the Date of the same answer: our own clock is the suspect one.
        """
        asked = self.headers.get("retry-after", "").strip()
        if asked.isascii() and asked.isdigit():
            return float(asked[:9])
        until, now = http_date(asked), self.date
        return max(0.0, until - now) if until is not None and now is not None else None


def is_success(status: int) -> bool:
    """True for what counts as delivered: 2xx and nothing else."""
    return 200 <= status < 300


def delivery(answer: Union[Reply, str]) -> Delivery:
    """Judge an answer, or the sentence that says why there is none."""
    if isinstance(answer, str):
        return Delivery(delivered=False, retryable=True, what=answer)
    if is_success(answer.status):
        return Delivery(delivered=True)
    what = f"{answer.where} answered {answer.status}"
    if 300 <= answer.status < 400:
        what += ": redirects are not followed"
        return Delivery(delivered=False, retryable=False, what=what)
    excerpt = wording.plain(answer.text, _LONGEST_EXCERPT)
    return Delivery(
        delivered=False,
        retryable=not 400 <= answer.status < 500 or answer.status in _LATER,
        what=f"{what}: {excerpt}" if excerpt else what,
        retry_after=answer.retry_after,
    )


def http_date(text: str) -> Optional[float]:
    """Epoch seconds of an HTTP date in its one modern form; None when it is not one."""
    words = text.split(" ")
    if len(words) != 6 or words[5] != "GMT" or words[2] not in _MONTHS:
        return None
    numbers = [words[1], words[3], *words[4].split(":")]
    if len(numbers) != 5 or not all(n.isascii() and n.isdigit() and len(n) < 5 for n in numbers):
        return None
    day, year, hour, minute, second = map(int, numbers)
    month = _MONTHS.index(words[2]) + 1
    if year < 1970:
        return None
    return float(calendar.timegm((year, month, day, hour, minute, second)))
