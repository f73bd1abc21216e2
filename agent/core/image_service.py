"""Owns judging from files alone whether chronyd will run on hosts made from a tree, and alone."""

from __future__ import annotations

from typing import Iterator, Mapping, Tuple

from agent.core import image_presets as presets
from agent.core import unitfiles
from agent.core.diagnosis import Diagnosis
from agent.core.files import Files
from agent.core.image import Image
from agent.core.model import Verdict
from agent.core.unitfiles import UnitFile
from agent.core.units import OTHER_UNITS

TOPIC = "service"
#: Debian's name first: where both lead to something, chronyd.service is an alias there.
_REAL_NAMES = ("chrony.service", "chronyd.service")
_INIT_SCRIPTS = ("/etc/init.d/chrony", "/etc/init.d/chronyd")
#: Where systemd looks for a program that is named without its directory.
_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_SYSV_GENERATOR = "/usr/lib/systemd/system-generators/systemd-sysv-generator"

_AT_BOOT = "Hosts made from this image boot without a time daemon, and nothing will have failed."
_BY_NAME = "Whatever starts or watches chronyd by that name fails; a later `enable` may fail too."


def main_unit(files: Files) -> UnitFile:
    """chronyd's real unit: the file a package ships, whatever stands in front of it."""
    found = [unitfiles.find(files, name) for name in _REAL_NAMES]
    for unit in found:
        if unit.kind == "alias":
            return unitfiles.find(files, unit.real)
    found.sort(key=lambda unit: not unitfiles.boot_links(files, unit.name))
    for kinds in (("file",), ("masked", "empty"), ("dangling",)):
        for unit in found:
            shipped = unitfiles.vendor_file(files, unit.name)
            if unit.kind in kinds and (unit.kind == "file" or shipped or kinds == ("dangling",)):
                return unit
    return next((unit for unit in found if unit.masks), found[1])


def service(image: Image) -> Iterator[Diagnosis]:
    """What stands between the unit file and a running chronyd."""
    files = image.files
    unit = main_unit(files)
    if unit.kind in ("missing", "dangling"):
        yield _without_unit(image, unit)
        return
    if unit.masks:
        yield _masked(image, unit)
    masked = tuple(alias for alias in _aliases(files, unit) if alias.masks)
    for alias in masked:
        yield _masked_alias(image, unit, alias)
    yield from _twin(image, unit)
    enabled = unitfiles.leading_links(files, unit.name)
    if not enabled:
        yield _not_enabled(image, unit, tuple(alias.name for alias in masked))
        return
    yield from presets.will_disable(image, TOPIC, unit.name)
    if not unit.masks:
        seen = f"{unit.name} is enabled by {enabled[0]}"
        yield Diagnosis(TOPIC, "enabled", Verdict.OK, seen, where=enabled)


def masks(image: Image) -> Mapping[str, str]:
    """The files that mask chronyd's unit or another name of it, and what is known of each."""
    unit = main_unit(image.files)
    found = (unit, *_aliases(image.files, unit))
    return {each.path: image.dated(each) for each in found if each.masks}


def _masked(image: Image, unit: UnitFile) -> Diagnosis:
    return Diagnosis(
        TOPIC,
        "masked" if unit.kind == "masked" else "empty-unit-file",
        Verdict.CRITICAL,
        f"{unit.name} is masked by {image.dated(unit)}",
        _AT_BOOT,
        (image.systemctl("unmask", unit.name), image.systemctl("enable", unit.name)),
        (unit.path,),
    )


def _masked_alias(image: Image, unit: UnitFile, alias: UnitFile) -> Diagnosis:
    return Diagnosis(
        TOPIC,
        "masked-alias",
        Verdict.WARNING,
        f"{alias.name}, another name of {unit.name}, is masked by {image.dated(alias)}",
        _BY_NAME,
        (image.systemctl("unmask", alias.name),),
        (alias.path,),
    )


def _twin(image: Image, unit: UnitFile) -> Iterator[Diagnosis]:
    """The unit of the other name, when it is a second real one."""
    for name in _REAL_NAMES:
        twin = unitfiles.find(image.files, name)
        if name == unit.name or twin.kind != "file":
            continue
        if unitfiles.boot_links(image.files, name):
            yield Diagnosis(
                TOPIC,
                "contradictory-names",
                Verdict.WARNING,
                f"{name} and {unit.name} are two units for one daemon, and both are enabled",
                "Which of them starts first decides; the other one fails.",
                (image.systemctl("disable", name),),
                (twin.path, unit.path),
            )


def _aliases(files: Files, unit: UnitFile) -> Iterator[UnitFile]:
    names = dict.fromkeys((*unitfiles.aliases(files, unit.name), *_REAL_NAMES))
    for name in names:
        if name != unit.name:
            yield unitfiles.find(files, name)


def _not_enabled(image: Image, unit: UnitFile, masked: Tuple[str, ...]) -> Diagnosis:
    files = image.files
    remedy = tuple(image.systemctl("unmask", name) for name in masked)
    remedy += tuple(map(image.set_aside, unitfiles.obstacles(files, unit.name)))
    remedy += (image.systemctl("enable", unit.name),)
    by_preset = () if unit.masks else tuple(presets.will_enable(image, TOPIC, unit.name, remedy))
    if by_preset:
        return by_preset[0]
    idle = unitfiles.idle_links(files, unit.name)
    return Diagnosis(
        TOPIC,
        "disabled",
        Verdict.CRITICAL,
        f"{unit.name} is disabled: no target pulls it in"
        + (f"; {idle[0]} looks like a boot link, but leads to nothing" if idle else ""),
        _AT_BOOT,
        remedy,
        (unit.path, *idle),
    )


def _without_unit(image: Image, unit: UnitFile) -> Diagnosis:
    files = image.files
    script = next((path for path in _INIT_SCRIPTS if files.entry(path).kind == "file"), "")
    if script:
        return _init_script(files, script)
    if unit.kind == "dangling":
        return Diagnosis(
            TOPIC,
            "dangling-unit",
            Verdict.CRITICAL,
            f"{image.dated(unit)} leads nowhere: chronyd's unit file is gone",
            _AT_BOOT,
            (f"# reinstall the chrony package{image.inside}",),
            (unit.path,),
        )
    program_path = _program(files)
    seen = f"no unit starts {program_path}" if program_path else "chrony is not installed"
    return Diagnosis(
        TOPIC,
        "not-found" if program_path else "not-installed",
        Verdict.CRITICAL,
        f"{seen}: there is neither chronyd.service nor chrony.service",
        _AT_BOOT,
        (f"# install the chrony package{image.inside}",),
        (f"{unitfiles.SEARCH[4]}/chronyd.service",),
    )


def _init_script(files: Files, script: str) -> Diagnosis:
    name = script.rpartition("/")[2]
    links = [
        f"/etc/rc{level}.d/{each}"
        for level in "2345"
        for each in files.names(f"/etc/rc{level}.d")
        if each[:1] == "S" and each.endswith(name)
    ]
    well = bool(links) and files.entry(_SYSV_GENERATOR).kind == "file"
    return Diagnosis(
        TOPIC,
        "init-script-only",
        Verdict.WARNING if well else Verdict.CRITICAL,
        f"only the init script {script} starts chronyd"
        + ("" if well else ", and nothing in this image turns it into a unit at boot"),
        "systemd cannot tell whether a daemon started by a script lives. " * well or _AT_BOOT,
        ("# reinstall the chrony package: it brings a unit file",),
        (script, *links),
    )


def _program(files: Files) -> str:
    return next((path for path in _places("chronyd") if _executable(files, path)), "")


def program(image: Image) -> Iterator[Diagnosis]:
    """Whether what the unit starts is there, after its drop-ins have had their say."""
    unit = main_unit(image.files)
    if unit.kind != "file":
        return
    if image.files.read(unit.path) is None:
        yield Diagnosis(
            TOPIC,
            "unreadable-unit",
            Verdict.UNKNOWN,
            f"you may not read {unit.path}",
            "What the unit starts is not known.",
            ("# run doctor as a user who may read the image",),
            (unit.path,),
        )
        return
    files = image.files
    settings = unitfiles.settings(files, unit.name)
    paths = " ".join(map(image.outside, settings.paths))
    starts = settings.get("Service", "ExecStart")
    if not starts:
        yield Diagnosis(
            TOPIC,
            "bad-setting",
            Verdict.CRITICAL,
            f"{unit.name} has no ExecStart= left once its drop-ins are applied",
            _AT_BOOT,
            (f"cat {paths}", "# mend the file that empties it"),
            settings.paths,
        )
        return
    start = starts[0].lstrip("@-:+!|").split(" ")[0].strip('"')
    if not any(_executable(files, path) for path in _places(start)):
        yield Diagnosis(
            TOPIC,
            "program-missing",
            Verdict.CRITICAL,
            f"{unit.name} starts {start}, which is not there or cannot be run",
            _AT_BOOT,
            (f"# reinstall the chrony package{image.inside}",),
            (_places(start)[0], *settings.paths),
        )


def _places(program: str) -> Tuple[str, ...]:
    """Where ``program`` may be."""
    return (program,) if program.startswith("/") else tuple(f"{d}/{program}" for d in _PATH)


def _executable(files: Files, path: str) -> bool:
    entry = files.entry(files.resolve(path) or path)
    return entry.kind == "file" and entry.executable


def rivals(image: Image) -> Iterator[Diagnosis]:
    """Other time daemons that would start beside chronyd."""
    files = image.files
    chrony = main_unit(files).name
    for name in OTHER_UNITS:
        unit = unitfiles.find(files, name)
        links = unitfiles.boot_links(files, name)
        by_preset, rule = unitfiles.preset_enables(files, name)
        if unit.kind != "file" or not (links or by_preset):
            continue
        how = "enabled" if links else f"will be enabled by the first boot ({rule or 'no preset'})"
        yield Diagnosis(
            TOPIC,
            "second-discipliner",
            Verdict.WARNING,
            f"{name} is installed and {how} beside {chrony}",
            "Two daemons steer one clock, or systemd stops one of them, and not always the same.",
            (image.systemctl("disable" if links else "mask", name),),
            (unit.path, *links),
        )
