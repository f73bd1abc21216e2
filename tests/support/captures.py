"""Owns access to the captured chronyc output in tests/corpus/chronyc and the truth beside it."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path
from typing import Mapping, NamedTuple, Optional, Tuple

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "chronyc"


class Capture(NamedTuple):
    """One captured output, and what was true when it was taken."""

    #: Such as ``4.8/01-synced-normal.csv``.
    file: str
    status: int
    stderr: str
    #: Seconds the clock really was ahead of the truth; None where nobody knows.
    true_offset: Optional[float]
    #: Seconds since 1970 by the clock of the host asked; None where nobody knows.
    wall: Optional[float]
    state: str

    @property
    def text(self) -> str:
        """What chronyc printed."""
        return (CORPUS / self.file).read_text(encoding="utf-8")

    @property
    def version(self) -> str:
        """The version of chronyc and chronyd, such as ``2.4.1`` or ``debian-4.3``."""
        return self.file.partition("/")[0]

    @property
    def case(self) -> str:
        """The situation and the moment, such as ``20-lost-source@t7d``."""
        return self.file.partition("/")[2].split(".", 1)[0]

    @property
    def is_csv(self) -> bool:
        """True for the output of ``chronyc -c``."""
        return self.file.endswith(".csv")

    @property
    def is_sources(self) -> bool:
        """True for the list of sources, False for tracking."""
        return ".sources." in self.file

    @property
    def is_report(self) -> bool:
        """True when it is a report and not an error message."""
        return self.status == 0

    def twin(self, ending: str) -> Optional[Capture]:
        """The capture of the same moment in another form, such as ``.sources.csv``."""
        wanted = f"{self.version}/{self.case}{ending}"
        return next((capture for capture in captures() if capture.file == wanted), None)


@lru_cache(maxsize=1)
def captures() -> Tuple[Capture, ...]:
    """All of them, in the order of cases.tsv."""
    with (CORPUS / "cases.tsv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
    return tuple(_capture(row) for row in rows)


def _capture(row: Mapping[str, str]) -> Capture:
    ahead = float(row["true_offset_s"]) if row["true_offset_s"] else None
    wall = None
    if ahead is not None and row["sim_start_epoch"]:
        wall = float(row["sim_start_epoch"]) + float(row["probe_at_sim_second"]) + ahead
    return Capture(
        file=row["file"],
        status=int(row["exit"]),
        stderr=row["stderr"],
        true_offset=ahead,
        wall=wall,
        state=row["state"],
    )
