"""Owns one tree of files that is to become a host: its commands, and who made what in it."""

from __future__ import annotations

from typing import NamedTuple, Optional

from agent.core import wording
from agent.core.files import Files
from agent.core.unitfiles import UnitFile
from agent.core.wording import shell_word

_DPKG = "/var/lib/dpkg/info"


class Image(NamedTuple):
    """One tree, and how commands are to be aimed at it."""

    files: Files
    #: The directory the tree is in; ``""`` when it is the root itself.
    root: str = ""

    @property
    def inside(self) -> str:
        """What to add to "install it": nothing on a running host."""
        return " in the image" if self.root else ""

    def systemctl(self, *words: str) -> str:
        """A systemctl command for this tree."""
        aim = ("--root=" + shell_word(self.root),) if self.root else ()
        return " ".join(("systemctl", *aim, *map(shell_word, words)))

    def outside(self, path: str) -> str:
        """``path`` in this tree, as a shell outside of it has to be told.

        For that shell a link to ``/etc/x`` would lead to a file of its own host: where a link of
        the tree ends is followed inside the tree.
        """
        return shell_word(self.root + (self.root and self.files.resolve(path) or path))

    def set_aside(self, path: str) -> str:
        """The command that moves a file out of the way."""
        parent, _, name = path.rpartition("/")
        there = f"{self.files.resolve(parent) or parent}/{name}"
        return f"mv {shell_word(self.root + there)} {shell_word(f'{self.root}{there}.set-aside')}"

    def dated(self, unit: UnitFile) -> str:
        """Where a unit file or link is, when it was made, and that no package owns it."""
        when = wording.utc(unit.changed)
        owner = _owner(self.files, unit.path)
        owned = {None: "", "": ", no package owns it"}.get(owner, f", from package {owner}")
        return f"{unit.path} (made {when}{owned})"


def _owner(files: Files, path: str) -> Optional[str]:
    """The Debian package that owns ``path``; ``""``: none does; None: it cannot be known."""
    lists = [name for name in files.names(_DPKG) if name.endswith(".list")]
    if not lists:
        return None
    # Packages from before the merge of / and /usr still list the old path.
    forms = {path, path[4:] if path.startswith("/usr/lib/") else path}
    for name in lists:
        if forms & set((files.read(f"{_DPKG}/{name}") or "").split("\n")):
            return name[: -len(".list")]
    return ""
