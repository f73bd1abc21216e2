"""Owns reading chrony.conf as chronyd reads it: directives, includes, directories of fragments.

Source: chrony.conf(5) and conf.c of chrony 4.3. Directives are known by name only, whatever their
case; a line that starts with ``!``, ``;``, ``#`` or ``%`` is a comment.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple

from agent.core.files import Files
from agent.core.globs import matches

#: Where packages put it: Debian and its children, everybody else.
PLACES = ("/etc/chrony/chrony.conf", "/etc/chrony.conf")
SOURCES = ("server", "pool", "peer", "refclock")
#: chronyd gives up beyond this depth of includes.
MAX_DEPTH = 10
#: More files or lines than this are some accident, such as a glob over the wrong directory.
MAX_FILES = 500
MAX_LINES = 100_000
_MOST_TROUBLES = 5
_LONGEST_WORD = 32

UNKNOWN_DIRECTIVE = "unknown-directive"
NO_PERMISSION = "no-permission"

_DIRECTIVES = """
    acquisitionport allow authselectmode bindacqaddress bindacqdevice bindaddress bindcmdaddress
    bindcmddevice binddevice broadcast clientloglimit clockprecision cmdallow cmddeny cmdport
    cmdratelimit combinelimit commandkey confdir corrtimeratio deny driftfile dscp dumpdir
    dumponexit fallbackdrift generatecommandkey hwclockfile hwtimestamp hwtstimeout include
    initstepslew keyfile leapseclist leapsecmode leapsectz linux_freq_scale linux_hz local lock_all
    log logbanner logchange logdir mailonchange makestep manual maxchange maxclockerror maxdistance
    maxdrift maxjitter maxntsconnections maxsamples maxslewrate maxtxbuffers maxupdateskew
    minsamples minsources nocerttimecheck noclientlog nosystemcert ntpsigndsocket ntsaeads
    ntscachedir ntsdumpdir ntsntpserver ntsport ntsprocesses ntsratelimit ntsrefresh ntsrotate
    ntsservercert ntsserverkey ntstrustedcerts opencommands peer pidfile pool port ptpdomain ptpport
    ratelimit refclock refresh reselectdist rtcautotrim rtcdevice rtcfile rtconutc rtcsync
    sched_priority server smoothtime sourcedir stratumweight tempcomp user
"""
#: Every directive of chrony 1.24 to 4.8.
DIRECTIVES = frozenset(_DIRECTIVES.split())


class Line(NamedTuple):
    """One directive."""

    path: str
    number: int
    #: In lower case.
    name: str
    words: Tuple[str, ...]

    @property
    def where(self) -> str:
        """``path:line``."""
        return f"{self.path}:{self.number}"


class Trouble(NamedTuple):
    """Something chronyd, or anybody, stumbles over."""

    cause: str
    where: str
    what: str


class Conf(NamedTuple):
    """All that one chrony.conf amounts to."""

    path: str
    lines: Tuple[Line, ...]
    troubles: Tuple[Trouble, ...]

    def all(self, *names: str) -> Tuple[Line, ...]:
        """The lines of these directives, in the order chronyd meets them."""
        return tuple(line for line in self.lines if line.name in names)


def read(files: Files, path: str) -> Conf:
    """Read ``path`` and everything it pulls in. Never raises; what cannot be read is a trouble."""
    reader = _Reader(files)
    reader.file(path, depth=1, required=True)
    for line in [line for line in reader.lines if line.name == "sourcedir"]:
        reader.directories(line, ".sources", depth=1)
    return Conf(path, tuple(reader.lines), tuple(reader.troubles))


class _Reader:
    """The state of reading: what was found, and how much of it."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._opened = 0
        self.lines: List[Line] = []
        self.troubles: List[Trouble] = []

    def file(self, path: str, depth: int, required: bool) -> None:
        """Read one file and what it includes; a missing one is a trouble if ``required``."""
        self._opened += 1
        if depth > MAX_DEPTH or self._opened > MAX_FILES or len(self.lines) > MAX_LINES:
            self._trouble(
                "include-loop", path, "included again and again, or too deep, or too much"
            )
            return
        text = self._files.read(path)
        if text is None:
            if required:
                self._trouble(*self._why_unreadable(path))
            return
        if "\0" in text:  # no other byte: a comment may be in any encoding, chronyd does not care
            self._trouble("binary-file", path, "this is no text: chronyd refuses to start with it")
            return
        for number, raw in enumerate(text.split("\n"), start=1):
            self._line(path, number, raw, depth)

    def directories(self, line: Line, suffix: str, depth: int) -> None:
        """Read the files of ``confdir`` or ``sourcedir``: by name, the first directory wins."""
        chosen: Dict[str, str] = {}
        for directory in map(_absolute, line.words):
            for name in self._files.names(directory):
                if name.endswith(suffix):
                    chosen.setdefault(name, f"{directory.rstrip('/')}/{name}")
        for name in sorted(chosen):
            self.file(chosen[name], depth + 1, required=True)

    def _line(self, path: str, number: int, raw: str, depth: int) -> None:
        words = raw.split()
        if not words or words[0][0] in "!;#%":
            return
        line = Line(path, number, words[0].lower(), tuple(words[1:]))
        if line.name not in DIRECTIVES:
            # A word that is none may be a line of a file that got here by mistake, or a secret.
            word = words[0] if words[0].isalnum() and len(words[0]) < _LONGEST_WORD else "this line"
            what = f"no version of chronyd knows {word}, and it refuses to start over it"
            self._trouble(UNKNOWN_DIRECTIVE, line.where, what)
            return
        self.lines.append(line)
        if line.name == "include":
            for pattern in line.words[:1]:
                self._include(pattern, depth)
        elif line.name == "confdir":
            self.directories(line, ".conf", depth)

    def _include(self, pattern: str, depth: int) -> None:
        pattern = _absolute(pattern)
        directory, _, last = pattern.rpartition("/")
        if not any(c in pattern for c in "*?["):
            self.file(pattern, depth + 1, required=True)
            return
        for name in self._files.names(directory or "/"):
            if matches(last, name):
                self.file(f"{directory}/{name}", depth + 1, required=True)

    def _why_unreadable(self, path: str) -> Trouble:
        end = self._files.resolve(path)
        kind = self._files.entry(end or path).kind
        if kind in ("file", "denied"):
            return Trouble(NO_PERMISSION, path, "you may not read it")
        if kind == "link":
            what = "it is a loop of links"
        elif kind != "missing":
            what = "it is no regular file"
        elif self._files.entry(path).kind == "link":
            what = f"it is a link to {end}, which is not there"
        else:
            what = "it is missing"
        return Trouble("unreadable-file", path, what)

    def _trouble(self, cause: str, where: str, what: str) -> None:
        if (
            len(self.troubles) < _MOST_TROUBLES
        ):  # a binary or a novel in its place: the first few say it all
            self.troubles.append(Trouble(cause, where, what))


def _absolute(path: str) -> str:
    """Where chronyd finds ``path``: systemd starts it in ``/``."""
    return path if path.startswith("/") else "/" + path
