"""Owns reading files below one directory as if it were ``/``. A ground module.

Links are followed by hand, one step at a time: an absolute link starts again at the directory, and
``..`` stops there, so nothing outside is ever opened, whatever an image contains. No chroot, no
root rights. Devices and pipes are never opened: reading one could block or change it.
"""

from __future__ import annotations

import os
import stat

from agent.core.files import LIMIT, Entry
from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import List, Optional, Tuple

#: As many links as the kernel follows before it calls it a loop.
_MOST_LINKS = 40
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


class Tree:
    """The files below ``root``; see ``agent.core.files.Files`` for the questions."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")

    def entry(self, path: str) -> Entry:
        """What is at ``path``, the last link not followed. Never raises."""
        parent, _, name = path.rstrip("/").rpartition("/")
        directory = self.resolve(parent or "/")
        if not directory:
            return Entry(path, "missing")
        try:
            status = os.lstat(self._outside(directory + "/" + name))
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
            target = os.readlink(self._outside(directory + "/" + name)) if kind == "link" else ""
        except PermissionError:
            return Entry(path, "denied")
        except (OSError, ValueError):  # ValueError: a NUL in the path
            return Entry(path, "missing")
        return Entry(
            path=path,
            kind=kind,
            target=target,
            size=status.st_size,
            executable=bool(status.st_mode & 0o111),
            changed=status.st_mtime,
        )

    def resolve(self, path: str) -> str:
        """Where ``path`` ends inside the root; ``""`` for a loop of links. Never raises."""
        waiting = _parts(path)
        done: List[str] = []
        links = 0
        while waiting:
            part = waiting.pop()
            if part == "..":
                del done[-1:]
                continue
            target = self._link("/" + "/".join([*done, part]))
            if target is None:
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                return ""
            if target.startswith("/"):
                done.clear()
            waiting.extend(_parts(target))
        return "/" + "/".join(done)

    def names(self, directory: str) -> Tuple[str, ...]:
        """The names in ``directory``, sorted. Never raises."""
        where = self.resolve(directory)
        if not where:
            return ()
        try:
            return tuple(sorted(os.listdir(self._outside(where))))
        except (OSError, ValueError):
            return ()

    def read(self, path: str) -> Optional[str]:
        """The text of a regular file; bytes that are not UTF-8 come out as U+FFFD. Never raises."""
        where = self.resolve(path)
        if not where:
            return None
        try:
            # NOFOLLOW: resolve() left no link at the end; one that appears now is not followed.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self._outside(where), flags)
        except (OSError, ValueError):
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(LIMIT).decode("utf-8", "replace")
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _link(self, path: str) -> Optional[str]:
        try:
            return os.readlink(self._outside(path))
        except (OSError, ValueError):  # not a link, or nothing there
            return None

    def _outside(self, path: str) -> str:
        return self.root + path


def _parts(path: str) -> List[str]:
    """The parts of a path, last first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
