"""Owns the published status file: its format, and reading it without ever believing a wrong one.

This is the fast path of ``clock-agent check``, run every few seconds by health probes, so it
imports nothing that an interpreter without site packages has not loaded already: ``posix`` stands
in for ``os`` (1.6 ms), and there is no ``typing``.

Format, version 1: one line ``clock-agent-status 1 EXIT VALID_UNTIL BOOT_ID BOOTED LENGTH CRC32``,
then exactly LENGTH bytes of UTF-8: the text ``check`` prints. VALID_UNTIL is CLOCK_BOOTTIME in
nanoseconds, meaningful only within the boot BOOT_ID names. BOOTED is the moment of that boot by the
wall clock (CLOCK_REALTIME - CLOCK_BOOTTIME, nanoseconds) when the readings were taken: it moves
when somebody sets the clock, and what was found out before that says nothing any more. The CRC
covers all that follows the version, so a torn or damaged file is not believed.
"""

from __future__ import annotations

import posix
import time
import zlib

#: The file's name in the runtime directory; ``status.json`` lies beside it.
FILE_NAME = "status"
JSON_NAME = "status.json"
#: More than any report is long; a larger file is not ours.
MAX_BYTES = 65_536
#: No status is valid for longer than this; a date further ahead is damage or forgery.
MAX_VALIDITY_NS = 2 * 86_400 * 10**9
#: The clock was set when BOOTED has moved by more; less may be our being preempted.
MAX_MOVED_NS = 10_000_000
BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
_MAGIC = "clock-agent-status 1"
_REGULAR = 0o100000
_TYPE_MASK = 0o170000
_WRITABLE_BY_OTHERS = 0o022


def encode(
    exit_code: int, text: str, valid_until_ns: int, boot_id: str, booted_ns: int = 0
) -> bytes:
    """Return the file's content; ``decode`` is its inverse."""
    body = text.encode("utf-8", "backslashreplace")
    fields = f"{exit_code} {valid_until_ns} {boot_id} {booted_ns} {len(body)}"
    checksum = zlib.crc32(fields.encode("utf-8", "backslashreplace") + b"\n" + body)
    return f"{_MAGIC} {fields} {checksum:08x}\n".encode("utf-8", "backslashreplace") + body


def decode(
    content: bytes, boottime_ns: int, boot_id: str, booted_ns: int = 0
) -> tuple[int, str] | None:
    """Return (exit code, text) if ``content`` is whole, of this boot, and valid at this moment."""
    header, _, body = content.partition(b"\n")
    fields = header.split(b" ")
    try:
        exit_code, valid_until_ns, then_ns = int(fields[2]), int(fields[3]), int(fields[5])
        text = body.decode("utf-8")
    except (IndexError, ValueError):
        return None
    # Writing it again proves every byte: spelling, length and checksum at once.
    if content != encode(exit_code, text, valid_until_ns, boot_id, then_ns) or not boot_id:
        return None
    if abs(booted_ns - then_ns) > MAX_MOVED_NS:
        return None
    if not 0 <= valid_until_ns - boottime_ns <= MAX_VALIDITY_NS or not 0 <= exit_code <= 3:
        return None
    return exit_code, text


def read(
    path: str,
    boottime_ns: int | None = None,
    boot_id: str | None = None,
    trusted_uids: tuple[int, ...] | None = None,
    booted_ns: int | None = None,
) -> tuple[int, str] | None:
    """Return (exit code, text) of a status that can be believed now, else None. Never raises.

    The file has to be a regular one, not a link, owned by one of ``trusted_uids`` and writable
    by nobody else. What is left out is taken from the system: CLOCK_BOOTTIME, this boot's id,
    ``owners(path)``, and ``booted()``.
    """
    try:
        content = _content(path, owners(path) if trusted_uids is None else trusted_uids)
    except (OSError, ValueError):  # ValueError: a NUL byte in the path
        return None
    if content is None:
        return None
    if boottime_ns is None:
        boottime_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    if booted_ns is None:
        booted_ns = booted()
    return decode(content, boottime_ns, this_boot() if boot_id is None else boot_id, booted_ns)


def read_document(path: str) -> str | None:
    """Return the JSON text at ``path`` if whoever wrote it can be believed; None if not.

    It has no validity of its own: believe it only beside a status that ``read`` believes.
    """
    try:
        content = _content(path, owners(path))
        return None if content is None else content.decode("utf-8")
    except (OSError, ValueError):
        return None


def owners(path: str) -> tuple[int, ...]:
    """Return the users whose status at ``path`` is believed: root, ourselves, and the daemon's.

    The daemon's user is whoever was given the runtime directory, provided that only root could
    have given it: asking for a user by name could hang on a directory service. Raises OSError.
    """
    directory = path.rpartition("/")[0]
    parent = directory.rpartition("/")[0] or "/"
    given, giver = posix.stat(directory), posix.stat(parent)
    only_root_gives = giver.st_uid == 0 and not giver.st_mode & _WRITABLE_BY_OTHERS
    if directory.startswith("/") and only_root_gives and not given.st_mode & _WRITABLE_BY_OTHERS:
        return 0, posix.geteuid(), given.st_uid
    return 0, posix.geteuid()


def booted() -> int:
    """Return when this host was booted, by its wall clock as it is set now; nanoseconds."""
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def this_boot() -> str:
    """Return the kernel's id of this boot; empty when it does not say, which nothing matches."""
    try:
        descriptor = posix.open(BOOT_ID_FILE, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return posix.read(descriptor, 64).decode("ascii", "replace").strip()
    except OSError:
        return ""
    finally:
        posix.close(descriptor)


def _content(path: str, trusted_uids: tuple[int, ...]) -> bytes | None:
    # O_NONBLOCK: opening a FIFO somebody put there must not wait for its writer
    flags = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
    descriptor = posix.open(path, flags)
    try:
        found = posix.fstat(descriptor)
        if found.st_mode & _TYPE_MASK != _REGULAR or found.st_mode & _WRITABLE_BY_OTHERS:
            return None
        if found.st_uid not in trusted_uids or found.st_size > MAX_BYTES:
            return None
        content = b""
        while len(content) <= MAX_BYTES:
            chunk = posix.read(descriptor, MAX_BYTES + 1 - len(content))
            if not chunk:
                return content
            content += chunk
        return None
    finally:
        posix.close(descriptor)
