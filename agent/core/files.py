"""Owns what judging files needs of a file system: four questions, all about paths below one root.

The core never opens a file. ``agent.tree`` answers for a directory on disk; a test may answer from
memory. Every path begins with ``/`` and is meant inside the root, whatever links say.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from typing import Optional, Tuple

#: Bytes read of any one file; more than any configuration that a person wrote.
LIMIT = 1_048_576


class Entry(NamedTuple):
    """What is at one path, a link itself not followed."""

    path: str
    #: ``file``, ``directory``, ``link``, ``other``, ``missing`` or ``denied``.
    kind: str
    #: Of a link: the text it holds.
    target: str = ""
    size: int = 0
    executable: bool = False
    #: Seconds since 1970 of its last change, by the clock that was there when it was made.
    changed: float = 0.0


class Files(Protocol):
    """A file system, or a part of one that is taken for the whole."""

    def entry(self, path: str) -> Entry:
        """What is at ``path``; only the links on the way there are followed."""

    def resolve(self, path: str) -> str:
        """Where ``path`` ends with every link followed; ``""`` for a loop. It need not exist."""

    def names(self, directory: str) -> Tuple[str, ...]:
        """The names in a directory, sorted; none when there is no such directory."""

    def read(self, path: str) -> Optional[str]:
        """The text of a regular file, links followed, cut at LIMIT; None when it cannot be read."""
