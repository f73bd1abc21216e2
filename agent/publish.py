"""Owns writing the published status: the text ``check`` repeats, and ``status.json`` beside it."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Mapping, Optional

from agent import published

_MODE = 0o644


class Publisher:
    """Writes what the daemon found out into the runtime directory, one file at a time, whole.

    A reader sees the old file or the new one, never a part. Nothing here raises OSError: a full
    or read-only disk is told to the caller, who goes on measuring.
    """

    def __init__(self, directory: str, boot_id: Optional[str] = None) -> None:
        self._directory = directory
        self._boot_id = published.this_boot() if boot_id is None else boot_id

    def publish(
        self,
        exit_code: int,
        text: str,
        valid_until_ns: int,
        document: Mapping[str, Any],  # Any: whatever JSON can carry
        booted_ns: Optional[int] = None,
    ) -> Optional[str]:
        """Publish one verdict; return None, or one sentence that says why it could not be done.

        ``text`` is exactly what ``check`` prints, ``document`` what ``check --json`` prints, and
        ``valid_until_ns`` the CLOCK_BOOTTIME after which nobody may believe it. ``booted_ns`` is
        ``published.booted()`` when the readings were taken; None: now. When it cannot be
        written, the verdict before it is withdrawn: no answer is better than an old one.
        """
        import json  # the daemon has it anyway; whoever only reads must not pay for it

        booted = published.booted() if booted_ns is None else booted_ns
        content = published.encode(exit_code, text, valid_until_ns, self._boot_id, booted)
        if len(content) > published.MAX_BYTES:
            self.withdraw()
            return f"the status is longer than {published.MAX_BYTES} bytes and was not published"
        try:
            described = json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"
            self._replace(published.JSON_NAME, described.encode("utf-8", "backslashreplace"))
            self._replace(published.FILE_NAME, content)
        except OSError as error:
            self.withdraw()
            return f"cannot write {self._directory}/{published.FILE_NAME}: {error.strerror}"
        except ValueError as error:  # nan, which JSON does not have
            self.withdraw()
            return f"the status cannot be written as JSON and was not published: {error}"
        return None

    def withdraw(self) -> None:
        """Remove what was published, so that ``check`` measures for itself; for a clean stop."""
        for name in (published.FILE_NAME, published.JSON_NAME):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._directory, name))

    def _replace(self, name: str, content: bytes) -> None:
        path = os.path.join(self._directory, name)
        temporary = os.path.join(self._directory, f".{name}.new")
        with contextlib.suppress(FileNotFoundError):  # left by a daemon that was killed
            os.unlink(temporary)
        # O_EXCL: never write through a link that somebody put there in between
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, _MODE)
        try:
            try:
                os.fchmod(descriptor, _MODE)  # whatever the umask says: probes are other users
                left = memoryview(content)
                while left:
                    left = left[os.write(descriptor, left) :]
            finally:
                os.close(descriptor)
            os.rename(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
