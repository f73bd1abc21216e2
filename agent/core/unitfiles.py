"""Owns what the unit files on disk say: which file a name leads to, what masks it, what starts it.

systemd's own rules (systemd.unit(5), systemd.preset(5)), read from files alone, so that an image
can be judged before it boots and a running systemd's memory can be checked against the disk.
"""

from __future__ import annotations

from agent.core.files import Entry, Files
from agent.core.globs import matches
from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.core.units import SEARCH as SEARCH
from agent.core.units import WANTS

if TYPE_CHECKING:
    from typing import Dict, List, Tuple

#: Directories that packages own.
VENDOR = SEARCH[3:]
_PRESETS = tuple(
    directory + "/systemd/system-preset"
    for directory in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
)


class UnitFile(NamedTuple):
    """What one name leads to on disk."""

    name: str
    #: ``file``, ``alias``, ``masked`` (linked to /dev/null), ``empty``, ``dangling``, ``missing``.
    kind: str
    #: The path the name was first found at; ``""`` when missing.
    path: str = ""
    #: The name of the unit in the end: its own, or that of the file an alias leads to.
    real: str = ""
    #: Seconds since 1970 at which the file or link was made.
    changed: float = 0.0

    @property
    def masks(self) -> bool:
        """True when systemd refuses to start the name."""
        return self.kind in ("masked", "empty")


class Settings(NamedTuple):
    """The sections of one unit, drop-ins applied: lists of what each key was given."""

    values: Dict[Tuple[str, str], Tuple[str, ...]]
    #: Every file that was read, in order.
    paths: Tuple[str, ...]

    def get(self, section: str, key: str) -> Tuple[str, ...]:
        """What a key was given; an empty assignment has reset what came before it."""
        return self.values.get((section, key), ())


def find(files: Files, name: str) -> UnitFile:
    """Follow ``name`` through the search path to a unit file, or to what stands in its place."""
    for directory in SEARCH:
        entry = files.entry(f"{directory}/{name}")
        if entry.kind not in ("missing", "directory"):
            return _judge(files, name, entry)
    return UnitFile(name, "missing")


def _judge(files: Files, name: str, entry: Entry) -> UnitFile:
    found = UnitFile(name, "file", entry.path, name, entry.changed)
    if entry.kind == "file":
        return found if entry.size else found._replace(kind="empty")
    if entry.kind != "link":
        return found._replace(kind="dangling")
    end = files.resolve(entry.path)
    if end == "/dev/null" or entry.target == "/dev/null":
        return found._replace(kind="masked")
    target = files.entry(end) if end else Entry("", "missing")
    if target.kind != "file":
        return found._replace(kind="dangling", real=end.rpartition("/")[2] or name)
    if not target.size:
        return found._replace(kind="empty")
    real = end.rpartition("/")[2]
    return found if real == name else found._replace(kind="alias", real=real)


def leading_links(files: Files, real: str) -> Tuple[str, ...]:
    """The boot links that start the unit ``real``, by its own name or by a living alias."""
    found = (find(files, name) for name in aliases(files, real))
    living = [unit.name for unit in found if unit.kind == "alias" and unit.real == real]
    return tuple(path for name in (real, *living) for path in boot_links(files, name))


def vendor_file(files: Files, name: str) -> str:
    """The path at which a package ships ``name`` as a real, non-empty file; else ``""``."""
    for directory in VENDOR:
        entry = files.entry(f"{directory}/{name}")
        if entry.kind == "file" and entry.size:
            return entry.path
    return ""


def aliases(files: Files, real: str) -> Tuple[str, ...]:
    """Other names that lead, or before a mask led, to the unit ``real``: links and Alias= lines."""
    said = settings(files, real).get("Install", "Alias")
    return tuple(dict.fromkeys((*said, *_linked_names(files, real))))


def _linked_names(files: Files, real: str) -> List[str]:
    """The names of the links that lead to the unit ``real``."""
    names = []
    for directory in SEARCH:
        for name in files.names(directory):
            entry = files.entry(f"{directory}/{name}")
            if entry.kind != "link" or name == real or not name.endswith(".service"):
                continue
            if files.resolve(entry.path).rpartition("/")[2] == real:
                names.append(name)
    return names


def boot_links(files: Files, name: str) -> Tuple[str, ...]:
    """The paths of the links that pull ``name`` in when a target or another unit starts.

    Of a unit's other names only ``leading_links`` knows.

    ``systemctl is-enabled`` counts what systemd itself ignores at boot: what is no link, and what
    is void (linked to /dev/null or to an empty file), which also hides the links behind it. Tried
    on systemd 252.
    """
    return tuple(e.path for e in _in_wants(files, name) if e.kind == "link" and not _void(files, e))


def idle_links(files: Files, name: str) -> Tuple[str, ...]:
    """The paths of what only looks like a boot link of ``name``."""
    seen = (e for e in _in_wants(files, name) if e.kind != "denied")
    return tuple(e.path for e in seen if e.kind != "link" or _void(files, e))


def obstacles(files: Files, name: str) -> Tuple[str, ...]:
    """Those of them that ``systemctl enable`` cannot replace: what is no link at all."""
    return tuple(e.path for e in _in_wants(files, name) if e.kind not in ("link", "denied"))


def _in_wants(files: Files, name: str) -> Tuple[Entry, ...]:
    """What is called ``name`` in each kind of WANTS; the first directory wins."""
    chosen: Dict[str, Entry] = {}
    for directory in SEARCH:
        for wants in files.names(directory):
            if wants.endswith(WANTS) and wants not in chosen:
                entry = files.entry(f"{directory}/{wants}/{name}")
                if entry.kind != "missing":
                    chosen[wants] = entry
    return tuple(chosen.values())


def _void(files: Files, link: Entry) -> bool:
    end = files.resolve(link.path)
    target = files.entry(end) if end else link
    return "/dev/null" in (end, link.target) or (target.kind == "file" and not target.size)


def closed(files: Files) -> Tuple[str, ...]:
    """The directories of unit files that whoever asks may not look into."""
    return tuple(d for d in SEARCH if files.entry(f"{d}/chronyd.service").kind == "denied")


def settings(files: Files, name: str) -> Settings:
    """Read the unit file that ``name`` has, even behind a mask, and its drop-ins."""
    unit = find(files, name)
    path = unit.path if unit.kind in ("file", "alias") else vendor_file(files, name)
    values: Dict[Tuple[str, str], List[str]] = {}
    paths = [path] if path else []
    if unit.kind in ("file", "alias"):
        paths += drop_ins(files, unit.real)
    for each in paths:
        _merge(values, files.read(each) or "")
    return Settings({key: tuple(value) for key, value in values.items()}, tuple(paths))


def drop_ins(files: Files, name: str) -> Tuple[str, ...]:
    """The drop-in files of a unit in the order they apply; one linked to /dev/null is left out.

    Those of its other names count as well, and those for all services, which yield to its own.
    """
    chosen: Dict[str, str] = {}
    own = (name, *_linked_names(files, name))
    where = [f"{directory}/{each}.d" for directory in SEARCH for each in own]
    for directory in (*where, *(f"{each}/service.d" for each in SEARCH)):
        for each in files.names(directory):
            if each.endswith(".conf"):
                chosen.setdefault(each, f"{directory}/{each}")
    paths = (chosen[each] for each in sorted(chosen))
    return tuple(path for path in paths if files.resolve(path) != "/dev/null")


def _merge(values: Dict[Tuple[str, str], List[str]], text: str) -> None:
    section = ""
    for line in _joined(text):
        if line.startswith("["):
            section = line.strip("[] ")
            continue
        key, equals, value = line.partition("=")
        if not equals or line[0] in "#;":
            continue
        known = values.setdefault((section, key.strip()), [])
        if not value.strip():
            known.clear()
        elif section == "Install":
            known.extend(value.split())
        else:
            known.append(value.strip())


def _joined(text: str) -> List[str]:
    """The lines of a unit file; a backslash at the end joins the next one."""
    lines = text.replace("\\\n", " ").split("\n")
    return [line.strip() for line in lines if line.strip()]


def preset(files: Files, name: str) -> Tuple[bool, str]:
    """Whether ``preset-all`` would enable ``name``, and the file that says so (``""``: no rule)."""
    chosen: Dict[str, str] = {}
    for directory in _PRESETS:
        for each in files.names(directory):
            if each.endswith(".preset"):
                chosen.setdefault(each, f"{directory}/{each}")
    for each in sorted(chosen):
        for line in (files.read(chosen[each]) or "").split("\n"):
            words = line.split()
            if len(words) >= 2 and words[0] in ("enable", "disable") and matches(words[1], name):
                return words[0] == "enable", chosen[each]
    return True, ""


def first_boot(files: Files) -> bool:
    """True when systemd will take the next boot for the first one and run ``preset-all``."""
    text = files.read("/etc/machine-id")
    return text is None or text.strip() == "uninitialized"


def preset_enables(files: Files, name: str) -> Tuple[bool, str]:
    """Whether the first boot will enable ``name`` by itself, and the file that says so."""
    wanted, rule = preset(files, name)
    install = settings(files, name)
    links = install.get("Install", "WantedBy") + install.get("Install", "RequiredBy")
    return wanted and bool(links) and first_boot(files), rule
