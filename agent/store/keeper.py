"""Owns the one thread that touches the disk: it saves cycles, and keeps them when it cannot.

The daemon's loop never waits for a disk. What could not be saved stays in memory, bounded, and goes
to the disk when that works again; what is owed to a sink is never given up.
"""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from agent import clock
from agent.core.outbox import Posting
from agent.core.steps import ClockSample
from agent.log import Log
from agent.store import Cycle, Remembered, Store, StoreError

#: Seconds between two tries when the disk gives trouble and nothing new happens.
RETRY_EVERY = 30.0
#: Seconds after which a disk that has not answered counts as trouble.
PATIENCE = 10.0
#: Cycles kept in memory while they cannot be saved: 40 hours at one in five minutes.
MOST_CYCLES = 500


class Keeper:
    """The store, seen from other threads: nothing here waits for the disk but ``restore``."""

    def __init__(
        self,
        store: Store,
        log: Log,
        now: ClockSample,
        boot_id: str,
        patience: float = PATIENCE,
    ) -> None:
        """Begin to read what was remembered, in the thread that will own ``store``.

        ``patience``: seconds after which a disk that has not answered counts as trouble.
        """
        self._patience = patience
        self._store = store
        self._log = log
        self._condition = threading.Condition()
        self._cycles: List[Cycle] = []
        self._postings: Dict[Tuple[str, str], Posting] = {}
        self._changed = False
        self._closing = False
        self._trouble: Optional[str] = None
        self._silence_said = False
        self._busy_since: Optional[float] = None
        self._remembered: Optional[Remembered] = None
        self._late = False
        #: Called in the keeper's thread with what has been saved, or cannot be for now.
        self.on_kept: Callable[[Sequence[Posting]], None] = lambda _postings: None
        self._thread = threading.Thread(
            target=self._work, args=(now, boot_id), name="keeper", daemon=True
        )
        self._thread.start()

    def restore(self, timeout: float) -> Remembered:
        """What was remembered; nothing if the disk does not tell within ``timeout`` seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self._remembered or self._trouble, timeout)
            self._late = self._remembered is None
            return self._remembered or Remembered()

    def take_late(self) -> Optional[Remembered]:
        """What was remembered, once, if the disk told it only after ``restore`` had to do without
        it; else None."""
        with self._condition:
            if not self._late or self._remembered is None:
                return None
            self._late = False
            return self._remembered

    @property
    def postings(self) -> Tuple[Posting, ...]:
        """What is owed and not settled, oldest first."""
        with self._condition:
            return tuple(self._postings.values())

    @property
    def trouble(self) -> Optional[str]:
        """Why the history is in memory only, in one sentence; None when it is on the disk."""
        with self._condition:
            return self._silence() or self._trouble

    def record(self, cycle: Cycle, postings: Sequence[Posting]) -> None:
        """Save ``cycle`` and what is owed because of it. Returns at once."""
        with self._condition:
            self._cycles.append(cycle)
            if len(self._cycles) > MOST_CYCLES:
                self._cycles = thinned(self._cycles)
            self._postings.update((posting.ident, posting) for posting in postings)
            self._touch()
            silence = "" if self._silence_said else self._silence()
            self._silence_said = self._silence_said or bool(silence)
        if silence:  # the thread that would say so is the one that waits for the disk
            self._log.warning(f"history is kept in memory only: {silence}")

    def settle(self, postings: Sequence[Posting]) -> None:
        """These are owed no longer. Returns at once."""
        with self._condition:
            for posting in postings:
                self._postings.pop(posting.ident, None)
            self._touch()

    def close(self, timeout: float) -> None:
        """Save what is left and let go of the store, within ``timeout`` seconds."""
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        self._thread.join(timeout)

    def _silence(self) -> str:
        """That the disk has not answered for long; empty when it has."""
        since = self._busy_since
        silent = 0.0 if since is None else clock.monotonic() - since
        return f"the disk has not answered for {silent:.0f} s" if silent > self._patience else ""

    def _touch(self) -> None:
        self._changed = True
        self._condition.notify_all()

    def _work(self, now: ClockSample, boot_id: str) -> None:
        self._attempt(lambda: self._restore(now, boot_id))
        while True:
            with self._condition:
                if not (self._changed or self._closing):
                    self._condition.wait(RETRY_EVERY if self._trouble else None)
                unsaved = self._changed or bool(self._cycles) or bool(self._trouble)
                self._changed = False
                closing = self._closing
            if self._remembered is None:  # never write over what has not been read
                self._attempt(lambda: self._restore(now, boot_id))
            # from here on only what is in these two: more may be recorded at any moment
            cycles, postings = self._unsaved()
            if unsaved and self._remembered is not None:
                self._attempt(partial(self._save, cycles, postings))
            self.on_kept(postings)
            if closing:
                with contextlib.suppress(Exception):  # nothing can be done about it any more
                    self._store.close()
                return

    def _restore(self, now: ClockSample, boot_id: str) -> None:
        remembered = self._store.restore(now, boot_id)
        with self._condition:
            recent, self._postings = self._postings, {}
            self._postings.update((posting.ident, posting) for posting in remembered.postings)
            self._postings.update(recent)
            self._remembered = remembered
            self._condition.notify_all()

    def _unsaved(self) -> Tuple[Sequence[Cycle], Sequence[Posting]]:
        with self._condition:
            return tuple(self._cycles), tuple(self._postings.values())

    def _save(self, cycles: Sequence[Cycle], postings: Sequence[Posting]) -> None:
        self._store.save(cycles, postings)
        saved = set(map(id, cycles))
        with self._condition:
            self._cycles = [cycle for cycle in self._cycles if id(cycle) not in saved]

    def _attempt(self, work: Callable[[], None]) -> None:
        """Do ``work`` with the disk, and note whether that gives trouble."""
        with self._condition:
            self._busy_since = clock.monotonic()
        trouble: Optional[str] = None
        try:
            work()
        except StoreError as error:
            trouble = str(error)
        except Exception as error:  # a defect of the store must not end the thread that alerts need
            trouble = f"{type(error).__name__} in the store: {error}"
        with self._condition:
            self._busy_since = None
            before, self._trouble = self._trouble or self._silence_said, trouble
            self._silence_said = False
            self._condition.notify_all()
        if trouble and trouble != before:
            self._log.warning(f"history is kept in memory only: {trouble}")
        elif before and not trouble:
            self._log.info("history is kept on the disk again")


def thinned(cycles: Sequence[Cycle]) -> List[Cycle]:
    """About half of ``cycles``: the last, every other one before, and all in which something
    happened; if that is nearly everything, the newer half."""
    kept = [
        cycle
        for age, cycle in zip(range(len(cycles) - 1, -1, -1), cycles)
        if cycle.alerts or cycle.events or age % 2 == 0
    ]
    return kept if len(kept) <= len(cycles) * 3 // 4 else kept[len(kept) // 2 :]
