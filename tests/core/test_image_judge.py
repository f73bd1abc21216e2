"""Owns the tests of judging images: every fault is found with its path, a healthy tree has none."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Callable, Dict, NamedTuple, Tuple

import pytest

from agent.core import image_judge
from agent.core.diagnosis import Diagnosis, worst
from agent.core.image import Image as Judged
from agent.core.model import Verdict
from agent.tree import Tree
from tests.support.trees import HEALTHY_CONF, UNIT, WANTS, Image, debian, red_hat

ETC = "etc/systemd/system"
LIB = "usr/lib/systemd/system"
Makers = Dict[str, Callable[[Path], Image]]
MAKERS: Makers = {"debian": debian, "red-hat": red_hat}
REAL = {"debian": "chrony.service", "red-hat": "chronyd.service"}


def judged(image: Image) -> Dict[str, Diagnosis]:
    """Findings that are not simply well, by topic and cause."""
    found = image_judge.judge(Judged(Tree(str(image.root)), root=str(image.root)))
    return {f"{each.topic} {each.cause}": each for each in found}


def verdict(image: Image) -> Verdict:
    return worst(tuple(judged(image).values()))


class Fault(NamedTuple):
    """One way to break an image."""

    name: str
    makers: Tuple[str, ...]
    #: ``{unit}`` in paths and texts is the real unit's name.
    breaks: Callable[[Image, str], None]
    finding: str
    verdict: Verdict
    path: str


BOTH = ("debian", "red-hat")
WARNING, CRITICAL, OK = Verdict.WARNING, Verdict.CRITICAL, Verdict.OK


def incident(image: Image, unit: str) -> None:
    """The clean-up loop, where ntpd.service is a vendor's alias."""
    image.link(f"{LIB}/ntpd.service", unit)
    image.remove(f"{WANTS}/{unit}")
    image.mask("ntpd.service")


def run_mask(image: Image, unit: str) -> None:
    image.link(f"run/systemd/system/{unit}", "/dev/null")


def relative_mask(image: Image, unit: str) -> None:
    image.link(f"{ETC}/{unit}", "../../../dev/null")


def second_daemon(image: Image, unit: str) -> None:
    image.write(f"{LIB}/systemd-timesyncd.service", "[Service]\nExecStart=/x\n")
    image.link(f"{ETC}/sysinit.target.wants/systemd-timesyncd.service", "/x")


def no_unit(image: Image, unit: str) -> None:
    image.remove(f"{LIB}/{unit}")
    (image.root / ETC / "chronyd.service").unlink(missing_ok=True)
    (image.root / "etc/init.d/chrony").unlink(missing_ok=True)


def no_package(image: Image, unit: str) -> None:
    no_unit(image, unit)
    image.remove("usr/sbin/chronyd")


def only_script(image: Image, unit: str) -> None:
    no_unit(image, unit)
    image.write("etc/init.d/chrony", "#!/bin/sh\n", executable=True)


def two_units(image: Image, unit: str) -> None:
    other = "chrony.service" if unit == "chronyd.service" else "chronyd.service"
    (image.root / ETC / other).unlink(missing_ok=True)
    image.write(f"{LIB}/{other}", UNIT)
    image.link(f"{WANTS}/{other}", f"/{LIB}/{other}")


def first_boot_disables(image: Image, unit: str) -> None:
    image.remove("etc/machine-id")
    image.write("etc/systemd/system-preset/00-ours.preset", "# ours\ndisable chron*\n")


FAULTS: Tuple[Fault, ...] = (
    Fault("incident", BOTH, incident, "service disabled", CRITICAL, f"{LIB}/{{unit}}"),
    Fault("incident", BOTH, incident, "service masked-alias", WARNING, f"{ETC}/ntpd.service"),
    Fault(
        "masked",
        BOTH,
        lambda image, unit: image.mask(unit),
        "service masked",
        CRITICAL,
        f"{ETC}/{{unit}}",
    ),
    Fault(
        "masked in /run", BOTH, run_mask, "service masked", CRITICAL, "run/systemd/system/{unit}"
    ),
    Fault("relative mask", BOTH, relative_mask, "service masked", CRITICAL, f"{ETC}/{{unit}}"),
    Fault(
        "alias masked",
        ("debian",),
        lambda image, _: image.mask("chronyd.service"),
        "service masked-alias",
        WARNING,
        f"{ETC}/chronyd.service",
    ),
    Fault(
        "empty unit file",
        BOTH,
        lambda image, unit: image.write(f"{ETC}/{unit}", ""),
        "service empty-unit-file",
        CRITICAL,
        f"{ETC}/{{unit}}",
    ),
    Fault(
        "disabled",
        BOTH,
        lambda image, unit: image.remove(f"{WANTS}/{unit}"),
        "service disabled",
        CRITICAL,
        f"{LIB}/{{unit}}",
    ),
    Fault("no unit", BOTH, no_unit, "service not-found", CRITICAL, f"{LIB}/chronyd.service"),
    Fault(
        "no package", BOTH, no_package, "service not-installed", CRITICAL, f"{LIB}/chronyd.service"
    ),
    Fault(
        "script only", BOTH, only_script, "service init-script-only", CRITICAL, "etc/init.d/chrony"
    ),
    Fault(
        "program missing",
        BOTH,
        lambda image, _: image.remove("usr/sbin/chronyd"),
        "service program-missing",
        CRITICAL,
        "usr/sbin/chronyd",
    ),
    Fault(
        "program emptied by a drop-in",
        BOTH,
        lambda image, unit: image.write(f"{ETC}/{unit}.d/x.conf", "[Service]\nExecStart=\n"),
        "service bad-setting",
        CRITICAL,
        f"{ETC}/{{unit}}.d/x.conf",
    ),
    Fault(
        "two units",
        BOTH,
        two_units,
        "service contradictory-names",
        WARNING,
        f"{LIB}/{{unit}}",
    ),
    Fault(
        "second daemon",
        BOTH,
        second_daemon,
        "service second-discipliner",
        WARNING,
        f"{ETC}/sysinit.target.wants/systemd-timesyncd.service",
    ),
    Fault(
        "preset disables it at first boot",
        BOTH,
        first_boot_disables,
        "service disabled-by-preset",
        WARNING,
        "etc/systemd/system-preset/00-ours.preset",
    ),
    Fault(
        "no source",
        ("red-hat",),
        lambda image, _: image.write("etc/chrony.conf", "makestep 1 3\nrtcsync\n"),
        "chrony.conf no-source",
        CRITICAL,
        "etc/chrony.conf",
    ),
    Fault(
        "no configuration",
        ("red-hat",),
        lambda image, _: image.remove("etc/chrony.conf"),
        "chrony.conf missing",
        CRITICAL,
        "etc/chrony/chrony.conf",
    ),
    Fault(
        "agent disabled",
        BOTH,
        lambda image, _: image.remove(f"{WANTS}/clock-agent.service"),
        "clock-agent disabled",
        WARNING,
        f"{LIB}/clock-agent.service",
    ),
    Fault(
        "agent masked",
        BOTH,
        lambda image, _: image.mask("clock-agent.service"),
        "clock-agent masked",
        WARNING,
        f"{ETC}/clock-agent.service",
    ),
)
CASES = [(fault, maker) for fault in FAULTS for maker in fault.makers]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_healthy_image_passes(tmp_path: Path, maker: str) -> None:
    image = MAKERS[maker](tmp_path)
    assert verdict(image) is Verdict.OK, judged(image)
    assert judged(image)["service enabled"].where == (f"/{WANTS}/{REAL[maker]}",)


@pytest.mark.parametrize(
    ("fault", "maker"), CASES, ids=[f"{fault.finding}: {fault.name}-{m}" for fault, m in CASES]
)
def test_every_fault_is_found_with_its_path(tmp_path: Path, fault: Fault, maker: str) -> None:
    image = MAKERS[maker](tmp_path)
    fault.breaks(image, REAL[maker])
    found = judged(image)
    assert fault.finding in found, list(found)
    finding = found[fault.finding]
    assert finding.verdict is fault.verdict
    assert "/" + fault.path.format(unit=REAL[maker]) in finding.where
    assert finding.remedy
    assert finding.why


def test_a_mask_is_dated_and_known_to_belong_to_no_package(tmp_path: Path) -> None:
    image = debian(tmp_path)
    image.mask("chrony.service")
    os.utime(tmp_path / ETC / "chrony.service", (1786000000, 1786000000), follow_symlinks=False)
    seen = judged(image)["service masked"].seen
    assert "made 2026-08-06" in seen
    assert "no package owns it" in seen


def test_without_a_package_database_nothing_is_said_about_owners(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.mask("chronyd.service")
    assert "package" not in judged(image)["service masked"].seen


def test_a_file_of_a_package_is_said_to_be_one(tmp_path: Path) -> None:
    image = debian(tmp_path)
    image.write("var/lib/dpkg/info/odd.list", "/etc/systemd/system/chrony.service\n")
    image.mask("chrony.service")
    assert "from package odd" in judged(image)["service masked"].seen


def test_the_remedy_is_aimed_at_the_image(tmp_path: Path) -> None:
    image = debian(tmp_path)
    image.mask("chrony.service")
    assert judged(image)["service masked"].remedy == (
        f"systemctl --root={tmp_path} unmask chrony.service",
        f"systemctl --root={tmp_path} enable chrony.service",
    )


def test_an_image_whose_first_boot_applies_presets_may_lack_the_boot_link(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.remove(f"{WANTS}/chronyd.service")
    image.write("etc/machine-id", "uninitialized\n")
    found = judged(image)
    assert found["service enabled-by-preset"].verdict is Verdict.OK
    assert "90-default.preset" in found["service enabled-by-preset"].seen


def test_presets_decide_about_clock_agent_and_about_rivals_as_well(tmp_path: Path) -> None:
    image = debian(tmp_path)  # without any preset, everything is enabled
    image.remove("etc/machine-id")
    agent = f"{LIB}/clock-agent.service"
    image.write(agent, UNIT.replace("Type=forking\n", ""))
    image.remove(f"{WANTS}/clock-agent.service")
    image.write(f"{LIB}/systemd-timesyncd.service", UNIT)
    found = judged(image)
    assert found["clock-agent enabled-by-preset"].verdict is Verdict.OK
    rival = found["service second-discipliner"]
    assert "first boot" in rival.seen
    assert rival.remedy == (f"systemctl --root={tmp_path} mask systemd-timesyncd.service",)
    image.write("etc/systemd/system-preset/00-x.preset", "disable *\n")
    found = judged(image)
    assert found["clock-agent disabled"].verdict is Verdict.WARNING
    assert "service second-discipliner" not in found


def test_a_preset_that_disables_is_outdone_by_the_printed_commands(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    first_boot_disables(image, "chronyd.service")
    for line in judged(image)["service disabled-by-preset"].remedy:
        subprocess.run(["sh", "-c", line], check=True)
    assert "service disabled-by-preset" not in judged(image)


def test_a_program_without_its_directory_is_searched_as_systemd_does(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.write(f"{LIB}/chronyd.service", UNIT.replace("/usr/sbin/chronyd", "chronyd"))
    assert verdict(image) is Verdict.OK
    image.remove("usr/sbin/chronyd")
    assert judged(image)["service program-missing"].where[0].endswith("/chronyd")


def test_a_boot_link_that_leads_to_nothing_is_named(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.link(f"{WANTS}/chronyd.service", "/dev/null")
    found = judged(image)["service disabled"]
    assert f"/{WANTS}/chronyd.service" in found.where
    assert "leads to nothing" in found.seen


def test_names_in_an_image_cannot_slip_commands_into_a_remedy(tmp_path: Path) -> None:
    image = red_hat(tmp_path / "my image")
    image.link(f"{LIB}/$(touch x);'.service", "chronyd.service")
    image.mask("$(touch x);'.service")
    image.write("etc/chrony.conf", HEALTHY_CONF + "include /etc/$(id).conf\n")
    image.write("etc/$(id).conf", "local\n")
    found = judged(image)
    (unmask,) = found["service masked-alias"].remedy
    assert shlex.split(unmask)[-1] == "$(touch x);'.service"
    assert "$(" not in re.sub("'[^']*'", "", unmask)
    orphan = found["chrony.conf local-without-orphan"].remedy
    assert f" '{image.root}/etc/$(id).conf'" in orphan[-1]


def test_a_remedy_writes_into_the_image_where_an_absolute_link_leads(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.write("etc/chrony/real.conf", HEALTHY_CONF + "local\n")
    image.remove("etc/chrony.conf")
    image.link("etc/chrony.conf", "/etc/chrony/real.conf")
    orphan = judged(image)["chrony.conf local-without-orphan"].remedy
    assert f" {image.root}/etc/chrony/real.conf " in orphan[-1]


def test_an_empty_machine_id_is_no_first_boot(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.remove(f"{WANTS}/chronyd.service")
    image.write("etc/machine-id", "")
    assert "service disabled" in judged(image)


def test_a_unit_that_the_administrator_replaced_is_the_unit(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.write(f"{ETC}/chronyd.service", UNIT.replace("/usr/sbin/chronyd", "/opt/chronyd"))
    image.write("opt/chronyd", "\x7fELF", executable=True)
    assert verdict(image) is Verdict.OK


def test_a_configuration_named_by_the_unit_is_the_one_that_is_read(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.write(
        f"{ETC}/chronyd.service.d/conf.conf",
        "[Service]\nExecStart=\nExecStart=/usr/sbin/chronyd -f /etc/ours.conf\n",
    )
    image.write("etc/ours.conf", "makestep 1 3\n")
    assert judged(image)["chrony.conf no-source"].where == ("/etc/ours.conf",)


def test_a_tree_without_systemd_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    found = judged(Image(tmp_path))
    assert found["image no-systemd"].verdict is Verdict.UNKNOWN


def test_links_out_of_the_image_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "chrony.conf").write_text("this-is-outside\n", "utf-8")
    image = red_hat(tmp_path / "image")
    image.link("etc/chrony.conf", str(outside / "chrony.conf"))
    found = judged(image)
    assert not any("this-is-outside" in each.seen for each in found.values())
    assert found["chrony.conf unreadable-file"].where == ("/etc/chrony.conf",)
    image.link("etc/chrony.conf", "/etc/shadow")
    assert "root:" not in str(judged(image))


def test_a_loop_of_links_in_place_of_the_unit_is_a_finding(tmp_path: Path) -> None:
    image = red_hat(tmp_path)
    image.remove(f"{LIB}/chronyd.service")
    image.link(f"{ETC}/chronyd.service", "chrony.service")
    image.link(f"{ETC}/chrony.service", "chronyd.service")
    assert verdict(image) is Verdict.CRITICAL


def test_an_alias_that_leads_nowhere_is_a_finding(tmp_path: Path) -> None:
    image = debian(tmp_path)
    image.remove(f"{LIB}/chrony.service")
    image.remove("etc/init.d/chrony")
    assert judged(image)["service dangling-unit"].where == (f"/{ETC}/chronyd.service",)
