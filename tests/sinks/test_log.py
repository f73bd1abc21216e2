"""The log as a way of telling: a pipe, a reader that does not read, and the journal."""

from __future__ import annotations

import os
import socket
import struct
import time
from pathlib import Path
from typing import Dict, Iterator, Tuple

import pytest

from agent import sinks
from agent.core.settings import AlertSettings
from agent.sinks.log import LogSink
from tests.support.samples import AN_ALERT

SETTINGS = AlertSettings(type="log", name="log")


@pytest.fixture
def pipe() -> Iterator[Tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    os.close(writer)


def journal_of(descriptor: int) -> Dict[str, str]:
    """The variable with which systemd says that a stream is the journal's."""
    found = os.fstat(descriptor)
    return {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}


def test_the_table_makes_it() -> None:
    assert isinstance(sinks.make(SETTINGS), LogSink)


def test_an_alert_is_one_line(pipe: Tuple[int, int]) -> None:
    reader, writer = pipe
    sink = LogSink(SETTINGS, writer, {})
    assert sink.send(AN_ALERT._replace(summary="first\nsecond"), 5.0).delivered
    assert sink.send(AN_ALERT._replace(kind="resolve"), 5.0).delivered
    first, second, end = os.read(reader, 65536).decode().split("\n")
    assert first.startswith("CRITICAL raise offset on web-1: first second")
    assert second.startswith("CRITICAL resolve offset on web-1:")
    assert not end


def test_a_reader_that_does_not_read_costs_no_more_than_the_timeout(pipe: Tuple[int, int]) -> None:
    _, writer = pipe
    os.set_blocking(writer, False)
    while True:
        try:
            os.write(writer, b"x" * 65536)
        except BlockingIOError:
            break
    os.set_blocking(writer, True)
    started = time.monotonic()
    delivery = LogSink(SETTINGS, writer, {}).send(AN_ALERT, 0.2)
    assert time.monotonic() - started < 5
    assert not delivery.delivered
    assert delivery.retryable
    assert "nobody reads it" in delivery.what


def test_a_closed_stream_is_a_failure_and_no_exception() -> None:
    reader, writer = os.pipe()
    sink = LogSink(SETTINGS, writer, {})
    os.close(reader)
    assert "Broken pipe" in sink.send(AN_ALERT, 1.0).what
    os.close(writer)
    assert not LogSink(SETTINGS, writer, {}).send(AN_ALERT, 1.0).delivered


def test_the_journal_is_given_fields(pipe: Tuple[int, int], private_dir: Path) -> None:
    _, writer = pipe
    path = str(private_dir / "journal")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(path)
        sink = LogSink(SETTINGS, writer, journal_of(writer), path)
        assert sink.send(AN_ALERT._replace(cause="a\nb=c"), 1.0).delivered
        fields = read_fields(journal.recv(65536))
    assert fields["PRIORITY"] == "2"
    assert fields["CLOCK_AGENT_KEY"] == "clock-agent/web-1/offset"
    assert fields["CLOCK_AGENT_CAUSE"] == "a\nb=c"
    assert fields["MESSAGE"].startswith("CRITICAL raise offset on web-1")


@pytest.mark.parametrize(
    ("kind", "severity", "priority"),
    [("raise", "critical", 2), ("raise", "warning", 4), ("remind", "unknown", 4)]
    + [("resolve", "critical", 5)],
)
def test_without_the_journals_socket_the_line_carries_its_priority(
    pipe: Tuple[int, int], private_dir: Path, kind: str, severity: str, priority: int
) -> None:
    reader, writer = pipe
    sink = LogSink(SETTINGS, writer, journal_of(writer), str(private_dir / "none"))
    assert sink.send(AN_ALERT._replace(kind=kind, severity=severity), 1.0).delivered
    assert os.read(reader, 65536).decode().startswith(f"<{priority}>{severity.upper()} {kind}")


def test_a_stream_that_is_not_the_journals_gets_plain_lines(pipe: Tuple[int, int]) -> None:
    reader, writer = pipe
    assert LogSink(SETTINGS, writer, {"JOURNAL_STREAM": "1:2"}).send(AN_ALERT, 1.0).delivered
    assert os.read(reader, 65536).startswith(b"CRITICAL")


def read_fields(datagram: bytes) -> Dict[str, str]:
    """Read the journal's native form, every field with an explicit length."""
    fields = {}
    while datagram:
        name, _, rest = datagram.partition(b"\n")
        (size,) = struct.unpack("<Q", rest[:8])
        fields[name.decode()] = rest[8 : 8 + size].decode()
        assert rest[8 + size : 9 + size] == b"\n"
        datagram = rest[9 + size :]
    return fields
