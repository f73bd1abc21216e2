"""Owns a daemon's memory and delivery as a program that tests can kill: ``python -m`` this module.

It forks a child per life and kills it with SIGKILL, which costs milliseconds where starting an
interpreter would cost a quarter of a second. Its parent, the test, only looks at what is left.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sqlite3
import sys
import time
from functools import partial
from typing import Any, Callable, List, NoReturn, Optional, Sequence

from agent import clock
from agent.core.fold import Identity, fold, resume
from agent.core.model import Alert, Delivery, Observation, Observations, Policy, Standing, Verdict
from agent.core.settings import AlertSettings, HistorySettings
from agent.core.steps import ClockSample
from agent.delivery import Deliverer
from agent.log import Log
from agent.store import Cycle
from agent.store.keeper import Keeper
from agent.store.sqlite import SqliteStore
from tests.support.cycles import A_BOOT, a_cycle, an_alert, clocks, postings
from tests.support.values import chronyd, miss

IDENTITY = Identity(host="web-1", boot_id=A_BOOT)
POLICY = Policy(offset_warning=0.1, offset_critical=2.0, consecutive=3)
#: What a reading may be. Mostly the same as the one before, so that alerts come and go.
WEATHER: List[Observation] = [chronyd(0.0), chronyd(0.0), chronyd(0.5), chronyd(5.0), miss()]


def fork(life: Callable[[], None]) -> int:
    """Run ``life`` in a child of its own; return its pid."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            life()
            status = 0
        finally:
            os._exit(status)
    return pid


def kill_at_every_statement(directory: str) -> None:
    """Play the same short life in ``directory/N``, killed at the start of its Nth statement.

    Prints for each N how many saves had returned; ends with the life that was not killed.
    """
    number, status = 0, 1
    while status != 0:
        number += 1
        place = os.path.join(directory, str(number))
        os.mkdir(place)
        reader, writer = os.pipe()
        pid = fork(partial(short_life, place, number, writer))
        os.close(writer)
        _, status = os.waitpid(pid, 0)
        with open(reader, "rb") as saved:
            print(number, len(saved.read()), status, flush=True)


def short_life(directory: str, last_statement: int, saved: int) -> None:
    """Save what ``expected`` says, one save after the other; die at a given SQL statement."""
    statements = 0
    connect = sqlite3.connect

    def count(_statement: str) -> None:
        nonlocal statements
        statements += 1
        if statements == last_statement:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(*args: Any, **keywords: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **keywords)
        connection.set_trace_callback(count)
        return connection

    sqlite3.connect = watched  # type: ignore[assignment]
    store = SqliteStore(directory, HistorySettings(retention=25.0), print)
    store.restore(clocks(1.0), A_BOOT)
    for number in range(1, SAVES + 1):
        store.save([the_cycle(number)], owed_after(number))
        os.write(saved, b".")
    store.close()


SAVES = 5


def the_cycle(number: int) -> Cycle:
    """The cycle of the ``number``th save."""
    standing = Standing("offset", alerting=Verdict.WARNING, critical_run=number, since=1.0)
    return a_cycle(10.0 * number, chronyd(0.1), standings=[standing], alerts=[an_alert(number)])


def owed_after(number: int) -> Any:
    """The outbox after the ``number``th save: one comes, and one goes with every other."""
    return postings("page", *(an_alert(n) for n in range(1 + number // 2, number + 1)))


class Wire:
    """A sink that sends each alert as a line over TCP, and waits for the line to be confirmed."""

    name = "wire"
    repeat_every: Optional[float] = None

    def __init__(self, port: int) -> None:
        self._port = port

    def send(self, alert: Alert, timeout: float) -> Delivery:
        """Deliver ``alert``, or say that it may be tried again."""
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout) as receiver:
                receiver.sendall(json.dumps(alert._asdict()).encode() + b"\n")
                if receiver.recv(1):
                    return Delivery(delivered=True)
        except OSError as error:
            return Delivery(delivered=False, retryable=True, what=str(error))
        return Delivery(delivered=False, retryable=True, what="closed")


def live(directory: str, port: int, chance: random.Random, ready: int, calm: bool) -> None:
    """Be a daemon with a cycle every two milliseconds: for ever, or until all is ``calm``."""
    log = Log(sys.stderr, priorities=False)
    store = SqliteStore(directory, HistorySettings(), log.error)
    keeper = Keeper(store, log, clock.sample(), A_BOOT)
    remembered = keeper.restore(60.0)
    show("restored", remembered.clock, remembered.standings)
    memory = resume(remembered.standings, remembered.clock, remembered.readings, remembered.events)
    deliverer = Deliverer(keeper, [(AlertSettings("wire", "wire"), Wire(port))], log)
    os.write(ready, b".")
    weather = WEATHER[0]
    while True:
        if chance.random() < 0.25:
            weather = chance.choice(WEATHER)
        sample = clock.sample()
        observed = Observations(
            chrony=WEATHER[0] if calm else weather, service=None, boottime=sample.boottime
        )
        memory, outcome = fold(POLICY, IDENTITY, memory, observed, sample)
        show("standing", sample, memory.standings)
        deliverer.record(
            Cycle(
                clock=sample,
                boot_id=A_BOOT,
                observations=observed,
                assessment=outcome.assessment,
                standings=memory.standings,
                alerts=outcome.alerts,
                events=outcome.events,
            )
        )
        if calm and not outcome.pending and not keeper.postings:
            break
        time.sleep(0.002)
    deliverer.close(5.0)
    keeper.close(5.0)


def show(what: str, at: Optional[ClockSample], standings: Sequence[Standing]) -> None:
    """Print one line, in one piece: ``print`` may be killed before the end of the line."""
    line = json.dumps({"what": what, "clock": at, "standings": standings})
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def kill_at_random(directory: str, port: int, lives: int, seed: int) -> None:
    """Let ``lives`` daemons live one after the other and kill each; then one that ends well."""
    chance = random.Random(seed)
    for number in range(lives + 1):
        reader, writer = os.pipe()
        calm = number == lives
        own = random.Random(chance.random())
        pid = fork(partial(live, directory, port, own, writer, calm))
        os.close(writer)
        with open(reader, "rb") as ready:
            # half of them die while they are still finding out what there was to remember
            if chance.random() < 0.7:
                ready.read(1)
            time.sleep(chance.random() * 0.08)
        if not calm:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def main(verb: str, directory: str, *numbers: str) -> NoReturn:
    """Run one of the two kinds of killing."""
    if verb == "statements":
        kill_at_every_statement(directory)
    else:
        kill_at_random(directory, *map(int, numbers))
    sys.exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
