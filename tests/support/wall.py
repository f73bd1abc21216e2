"""Owns a wall clock that tests can step, for one process and its children: never the machine's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Dict

from tests.support import needs

_SOURCE = Path(__file__).with_name("wall_shim.c")


class Wall:
    """A shift of CLOCK_REALTIME for whatever runs in ``environment``."""

    def __init__(self, directory: Path) -> None:
        self._shift = directory / "wall-shift"
        library = directory / "wall_shim.so"
        subprocess.run(
            [needs.program("cc"), "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE)],
            check=True,
        )
        self.environment: Dict[str, str] = {
            "LD_PRELOAD": str(library),
            "WALL_SHIFT_FILE": str(self._shift),
        }
        self.shift(0.0)

    def shift(self, seconds: float) -> None:
        """Let the wall clock be ``seconds`` off from now on: a step by the difference."""
        draft = self._shift.with_suffix(".new")
        draft.write_text(f"{seconds:f}")
        os.rename(draft, self._shift)
