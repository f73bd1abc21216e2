"""The .rpm in an image and on a booted system: installed, upgraded, erased.

The system is the same small Debian with an empty rpm database and stand-ins for what the package
depends on; its presets disable everything, as those of the distributions that use rpm do.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Iterator, List

import pytest

from tests.packages.conftest import Built
from tests.packages.test_build import rpm_files
from tests.support import dist, needs
from tests.support.dist import OLD_VERSION
from tests.support.nspawn import Machine
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.nspawn, pytest.mark.timeout(600)]

CONFIG = "/etc/clock-agent/config.yaml"
STAND_INS = {"python3": "3.9.0", "systemd": "252", "util-linux": "2.37"}
UNIT = "clock-agent.service"
WANTED = "etc/systemd/system/multi-user.target.wants/clock-agent.service"


def stand_in(directory: Path, name: str, version: str) -> Path:
    """An empty package of that name and version."""
    (directory / "nfpm.yaml").write_text(
        f"name: {name}\narch: all\nversion: {version}\nversion_schema: none\nrelease: '1'\n"
        f"maintainer: tests <tests@example.org>\ndescription: stands in for {name}\n",
        "utf-8",
    )
    dist.nfpm(directory, directory, "rpm")
    return next(directory.glob(f"{name}-{version}-1.*.rpm"))


@pytest.fixture(scope="module")
def repository(built: Built, older: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both versions and the stand-ins."""
    directory = tmp_path_factory.mktemp("repository")
    for name, version in STAND_INS.items():
        stand_in(directory, name, version)
    for package in (built.rpm, older.rpm):
        (directory / package.name).write_bytes(package.read_bytes())
    return directory


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A root that no rpm has touched, and where nothing is enabled by default."""
    with dist.root_copy(tmp_path / "root") as copy:
        presets = copy / "usr/lib/systemd/system-preset"
        (presets / "99-default-disable.preset").write_text("disable *\n", "utf-8")
        yield copy


def rpm(root: Path, *arguments: str, ok: bool = True) -> str:
    """Run rpm on a root from outside, as an image build does."""
    done = subprocess.run(
        [needs.program("rpm"), "--root", str(root), "--dbpath", "/var/lib/rpm", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is ok, done.stdout + done.stderr
    return done.stdout + done.stderr


def stand_ins(repository: Path) -> List[str]:
    return [str(path) for name in STAND_INS for path in repository.glob(f"{name}-*.rpm")]


def test_an_image_build_with_rpm_installs_upgrades_and_erases(
    built: Built, root: Path, older: Built, repository: Path, tmp_path: Path
) -> None:
    rpm(root, "-i", *stand_ins(repository))

    rpm(root, "-i", str(older.rpm))
    assert (root / WANTED).is_symlink()
    assert "clock-agent:" in (root / "etc/passwd").read_text("utf-8")
    with open(root / CONFIG[1:], "a", encoding="utf-8") as config:
        config.write("interval: 7m\n")

    rpm(root, "-U", str(built.rpm))
    assert (root / WANTED).is_symlink()
    assert (root / CONFIG[1:]).read_text("utf-8").endswith("interval: 7m\n")
    changed = [line for line in rpm(root, "-V", "clock-agent", ok=False).splitlines() if line]
    assert [line.split()[-1] for line in changed] == [CONFIG]

    rpm(root, "-e", "clock-agent")
    assert not (root / WANTED).is_symlink()
    assert not (root / "usr/lib/clock-agent").exists()
    assert (root / f"{CONFIG[1:]}.rpmsave").exists()


def test_a_fresh_installation_is_exactly_what_the_package_says(
    built: Built, root: Path, repository: Path, tmp_path: Path
) -> None:
    rpm(root, "-i", *stand_ins(repository), str(built.rpm))
    assert rpm(root, "-V", "clock-agent") == ""
    for line in rpm_files(built.rpm):
        mode, path = line.split()[0], line.split()[-1]
        assert oct((root / path[1:]).lstat().st_mode & 0o777) == oct(_bits(mode)), line


def _bits(mode: str) -> int:
    return int("".join("0" if letter == "-" else "1" for letter in mode[1:]), 2)


def test_dnf_installs_it_into_an_image(
    built: Built, root: Path, repository: Path, tmp_path: Path
) -> None:
    subprocess.run(
        [needs.program("createrepo_c"), "--quiet", str(repository)], check=True, capture_output=True
    )
    done = subprocess.run(
        [
            needs.program("dnf"),
            "--assumeyes",
            "--quiet",
            f"--installroot={root}",
            f"--repofrompath=here,{repository}",
            "--repo=here",
            "--releasever=9",
            "--nogpgcheck",
            f"--setopt=cachedir={tmp_path / 'cache'}",
            "install",
            "clock-agent",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (root / WANTED).is_symlink()
    assert (root / "usr/lib/clock-agent/agent/cli.py").exists()


def test_a_python_that_is_too_old_stops_the_installation(
    built: Built, root: Path, repository: Path, tmp_path: Path
) -> None:
    newer = [path for path in stand_ins(repository) if "python3" not in path]
    rpm(root, "-i", *newer, str(stand_in(tmp_path, "python3", "3.6.8")))
    said = rpm(root, "-i", str(built.rpm), ok=False)
    assert "python3 >= 3.9 is needed by clock-agent" in said
    assert not (root / "usr/lib/clock-agent").exists()


def test_on_a_booted_system_the_customs_of_rpm_hold(
    built: Built, root: Path, older: Built, repository: Path, tmp_path: Path
) -> None:
    machine = Machine(tmp_path / "console.log", root, {"/packages": repository})

    def state() -> str:
        return " ".join(
            machine.shell(f"systemctl is-active {UNIT}; systemctl is-enabled {UNIT}").stdout.split()
        )

    def install(package: Path, how: str = "-U") -> None:
        machine.must(f"rpm --dbpath /var/lib/rpm {how} /packages/{package.name}", timeout=120)

    try:
        machine.must(
            "rpm --dbpath /var/lib/rpm -i "
            + " ".join(f"/packages/{Path(path).name}" for path in stand_ins(repository))
        )
        # Enabled by our preset, but only started at the next boot or by hand.
        install(older.rpm, "-i")
        assert state() == "inactive enabled"
        machine.must(f"systemctl start {UNIT}; echo 'interval: 7m' >>{CONFIG}")
        before = machine.must(f"systemctl show -p MainPID {UNIT}")

        install(built.rpm)
        wait_for(lambda: state() == "active enabled", what="the restart")
        assert machine.must(f"systemctl show -p MainPID {UNIT}") != before
        assert OLD_VERSION not in machine.must("clock-agent --version")
        assert "\ninterval: 7m\n" in machine.must("clock-agent config show")

        machine.must(f"systemctl disable --now {UNIT}")
        install(older.rpm, "-U --oldpackage")
        assert state() == "inactive disabled"
        assert OLD_VERSION in machine.must("clock-agent --version")
        machine.must(f"systemctl mask {UNIT}")
        install(built.rpm)
        assert state() == "inactive masked"

        machine.must(f"systemctl unmask {UNIT}; systemctl enable --now {UNIT}")
        machine.must("rpm --dbpath /var/lib/rpm -e clock-agent", timeout=60)
        assert machine.shell(f"systemctl is-active {UNIT}").stdout == "inactive\n"
        assert machine.must(f"ls -d /var/lib/clock-agent {CONFIG}.rpmsave").split()
    finally:
        machine.stop()
