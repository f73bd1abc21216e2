"""Owns judging two real installations that never booted: Debian, and one like Red Hat."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Dict, Iterator, Tuple

import pytest

from agent.tree import Tree
from tests.support.command import Answer, clock_agent
from tests.support.debian_root import plain_root
from tests.support.trees import HEALTHY_CONF, UNIT, WANTS, Image

pytestmark = [pytest.mark.nspawn, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    root = tmp_path_factory.mktemp("image") / "debian"
    subprocess.run(["cp", "-a", str(plain_root()), str(root)], check=True)
    yield Image(root)
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def red_hat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """Debian's files arranged as Red Hat's package arranges them."""
    root = tmp_path_factory.mktemp("image") / "red-hat"
    subprocess.run(["cp", "-a", str(plain_root()), str(root)], check=True)
    image = Image(root)
    for path in (
        "usr/lib/systemd/system/chrony.service",
        "etc/systemd/system/chronyd.service",
        f"{WANTS}/chrony.service",
        "etc/chrony/chrony.conf",
        "etc/init.d/chrony",
    ):
        image.remove(path)
    shutil.rmtree(root / "var/lib/dpkg")
    image.write("usr/lib/systemd/system/chronyd.service", UNIT)
    image.link(f"{WANTS}/chronyd.service", "/usr/lib/systemd/system/chronyd.service")
    image.write("etc/chrony.conf", HEALTHY_CONF + "sourcedir /run/chrony-dhcp\n")
    yield image
    shutil.rmtree(root)


def doctor(image: Image) -> Answer:
    return clock_agent("doctor", "--root", str(image.root))


def test_debian_as_it_is_installed_passes(debian: Image) -> None:
    answer = doctor(debian)
    assert answer.status == 0, answer.stdout


def test_an_installation_like_red_hats_passes(red_hat: Image) -> None:
    answer = doctor(red_hat)
    assert answer.status == 0, answer.stdout


def test_the_incidents_commands_on_an_image_are_found_and_mended_as_printed(
    red_hat: Image,
) -> None:
    systemctl = ["systemctl", f"--root={red_hat.root}"]
    red_hat.link("usr/lib/systemd/system/ntpd.service", "chronyd.service")
    subprocess.run([*systemctl, "disable", "ntpd.service"], check=True, capture_output=True)
    subprocess.run([*systemctl, "mask", "ntpd.service"], check=True, capture_output=True)
    answer = doctor(red_hat)
    assert answer.status == 2
    assert "CRITICAL service disabled: chronyd.service" in answer.stdout
    assert f"{red_hat.root}/etc/systemd/system/ntpd.service" in answer.stdout
    carry_out(answer)
    assert doctor(red_hat).status == 0


def test_a_mask_in_debian_is_found_dated_and_mended_as_printed(debian: Image) -> None:
    command = ["systemctl", f"--root={debian.root}", "mask", "chrony.service"]
    subprocess.run(command, check=True, capture_output=True)
    answer = doctor(debian)
    assert answer.status == 2
    assert "no package owns it" in answer.stdout
    carry_out(answer)
    assert doctor(debian).status == 0


def test_debians_removed_boot_link_is_mended_as_printed(debian: Image) -> None:
    debian.remove(f"{WANTS}/chrony.service")
    answer = doctor(debian)
    assert answer.status == 2
    carry_out(answer)
    assert doctor(debian).status == 0


def test_judging_reads_and_changes_nothing_else(debian: Image) -> None:
    before = stamps(debian.root)
    doctor(debian)
    assert stamps(debian.root) == before


def test_a_shadow_file_behind_a_link_is_not_read(debian: Image) -> None:
    conf = debian.root / "etc/chrony/chrony.conf"
    text = conf.read_text("utf-8")
    debian.link("etc/chrony/chrony.conf", "/etc/shadow")
    inside = Tree(str(debian.root)).read("/etc/shadow")
    answer = doctor(debian)
    debian.remove("etc/chrony/chrony.conf")
    debian.write("etc/chrony/chrony.conf", text)
    assert inside is not None
    # The image's own file is what the link leads to; this machine's has other users in it.
    assert Path("/etc/shadow").read_text("utf-8") != inside
    assert answer.status == 2
    assert "root:" not in answer.stdout


def carry_out(answer: Answer) -> None:
    """Run every command of every remedy of a fault."""
    faults = answer.stdout.split("note ")[0].split("\nok ")[0]
    for line in faults.splitlines():
        if line.startswith("        "):
            subprocess.run(["sh", "-c", line], check=True, capture_output=True)


def stamps(root: Path) -> Dict[str, Tuple[float, int]]:
    found = {}
    for path in root.rglob("*"):
        status = path.lstat()
        found[str(path)] = (status.st_mtime, status.st_ctime_ns)
    return found
