"""Owns judging a tree of files before it boots: its time service, its chrony.conf, its clock-agent.

Nothing is run; ``agent.core.files`` answers for the tree.
"""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

from agent.core import chrony_conf, chrony_conf_advice, unitfiles
from agent.core import image_presets as presets
from agent.core.diagnosis import Diagnosis
from agent.core.files import Files
from agent.core.image import Image
from agent.core.image_service import main_unit, program, rivals, service
from agent.core.model import Verdict

AGENT_UNIT = "clock-agent.service"


def judge(image: Image) -> Tuple[Diagnosis, ...]:
    """Everything found in an unbooted tree."""
    files = image.files
    if not any(files.names(d) for d in (*unitfiles.VENDOR, "/etc/systemd")):
        return (
            Diagnosis(
                "image",
                "no-systemd",
                Verdict.UNKNOWN,
                "there is no systemd in this tree: nothing can be said about what it will start",
                "It is empty, only a part of a system, or a system with another init.",
                ("# give the directory that becomes / of the image",),
                unitfiles.SEARCH[:1],
            ),
        )
    if unitfiles.closed(files):
        return (*time_service(image), *configuration(image))
    return (
        *time_service(image),
        *rivals(image),
        *configuration(image),
        *agent(image),
    )


def time_service(image: Image) -> Tuple[Diagnosis, ...]:
    """What the unit files say about chronyd, or that whoever asks may not see them."""
    closed = unitfiles.closed(image.files)
    return (_closed(closed),) if closed else (*service(image), *program(image))


def _closed(directories: Tuple[str, ...]) -> Diagnosis:
    return Diagnosis(
        "service",
        "no-permission",
        Verdict.UNKNOWN,
        f"you may not look into {' and '.join(directories)}",
        "What starts at boot is decided by what is in there.",
        ("# run doctor as root",),
        directories,
    )


def configuration(
    image: Image, path: str = "", restart: Tuple[str, ...] = ()
) -> Iterator[Diagnosis]:
    """chrony.conf, as the image's chronyd will read it; ``restart`` makes a running one do so."""
    files = image.files
    found = path or conf_path(files)
    if found is None:
        if main_unit(files).kind != "missing":
            yield Diagnosis(
                chrony_conf_advice.TOPIC,
                "missing",
                Verdict.CRITICAL,
                f"there is neither {' nor '.join(chrony_conf.PLACES)}",
                "chronyd does not start without its configuration.",
                ("# reinstall the chrony package, or write one with a server or pool line",),
                chrony_conf.PLACES[:1],
            )
        return
    conf = chrony_conf.read(files, found)
    yield from chrony_conf_advice.judge(conf, True, image.outside, restart)


def conf_path(files: Files) -> Optional[str]:
    """The configuration file: what the unit's ``-f`` says, else where packages put it."""
    unit = main_unit(files)
    for start in unitfiles.settings(files, unit.name).get("Service", "ExecStart"):
        words = start.split()
        if "-f" in words[:-1]:
            return words[words.index("-f") + 1]
    return next((path for path in chrony_conf.PLACES if files.entry(path).kind != "missing"), None)


def agent(image: Image) -> Iterator[Diagnosis]:
    """Whether the hosts will be watched."""
    files = image.files
    unit = unitfiles.find(files, AGENT_UNIT)
    why = "Nothing will say so when the clock of such a host goes wrong."
    if unit.masks:
        yield Diagnosis(
            "clock-agent",
            "masked",
            Verdict.WARNING,
            f"{AGENT_UNIT} is masked by {image.dated(unit)}",
            why,
            (image.systemctl("unmask", AGENT_UNIT), image.systemctl("enable", AGENT_UNIT)),
            (unit.path,),
        )
    elif unit.kind == "missing":
        yield Diagnosis(
            "clock-agent",
            "not-installed",
            Verdict.OK,
            "clock-agent is not installed here",
            why,
            (f"# install the clock-agent package{image.inside}",),
        )
    elif unitfiles.boot_links(files, AGENT_UNIT):
        yield Diagnosis("clock-agent", "enabled", Verdict.OK, f"{AGENT_UNIT} is enabled")
        yield from presets.will_disable(image, "clock-agent", AGENT_UNIT)
    else:
        enable = (image.systemctl("enable", AGENT_UNIT),)
        disabled = Diagnosis(
            "clock-agent",
            "disabled",
            Verdict.WARNING,
            f"{AGENT_UNIT} is installed but disabled",
            why,
            enable,
            (unit.path,),
        )
        yield from (
            tuple(presets.will_enable(image, "clock-agent", AGENT_UNIT, enable)) or (disabled,)
        )
