"""Owns one tree of files that is to become a host: its commands, and who made what in it."""

from __future__ import annotations

from typing import NamedTuple, Optional

from agent.core import wording
from agent.core.files import Files
from agent.core.unitfiles import UnitFile

_DPKG = "/var/lib/dpkg/info"


class Image(NamedTuple):
    """One tree, and how commands are to be aimed at it."""

    files: Files
    #: Goes between ``systemctl`` and its verb: `` --root=DIR``; empty for a running host.
    aim: str = ""
    #: The directory the tree is in; ``""`` when it is the root itself.
    root: str = ""

    def systemctl(self, *words: str) -> str:
        """A systemctl command for this tree."""
        return " ".join(("systemctl" + self.aim, *words))

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
