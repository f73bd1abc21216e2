"""Owns the built packages in tests: built once per run, and an older one to upgrade from."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Mapping

from tests.support.debian_root import cached, debian_root, must
from tests.support.nspawn import Machine

PROJECT = Path(__file__).resolve().parents[2]
TOOLS = PROJECT / ".cache" / "dist" / "bin"
OLD_VERSION = "0.0.9"
#: What the root for packages has beyond the small Debian; the agent itself comes from a package.
EXTRA = ("rpm", "redis-server", "openssl", "netcat-openbsd")


def build(source: Path, target: Path, epoch: int) -> Path:
    """Build everything from the tree ``source``; the directory with the results."""
    must(["make", "--quiet", "-C", str(PROJECT), ".cache/dist/.ready"])
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    done = subprocess.run(
        [str(TOOLS / "python"), str(source / "packaging" / "build.py"), str(target)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target / "dist"


def build_older(stage: Path, target: Path) -> Path:
    """Package the files of ``stage`` again, as an older version whose code says so."""
    shutil.copytree(stage, target / "stage")
    package = target / "stage" / "lib" / "agent"
    init = package / "__init__.py"
    text = init.read_text("utf-8")
    older = re.sub(r'__version__ = ".*"', f'__version__ = "{OLD_VERSION}"', text)
    assert older != text
    init.write_text(older, "utf-8")
    for cached_code in package.glob("__pycache__/__init__.*.pyc"):
        cached_code.unlink()
    must(
        [
            "/usr/bin/python3",
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode=unchecked-hash",
            "-s",
            str(target / "stage" / "lib"),
            "-p",
            "/usr/lib/clock-agent",
            str(init),
        ]
    )
    environment = {"ARCH": "amd64", "VERSION": OLD_VERSION, "SOURCE_DATE_EPOCH": "1000000000"}
    for kind in ("deb", "rpm"):
        nfpm(target / "stage", target, kind, environment)
    return target


def nfpm(stage: Path, target: Path, kind: str, environment: Mapping[str, str] = {}) -> None:
    """Make one package of what ``nfpm.yaml`` in ``stage`` describes."""
    subprocess.run(
        [str(TOOLS / "nfpm"), "package", "--packager", kind, "--target", str(target)],
        cwd=stage,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
    )


def package_root() -> Path:
    """The small Debian with what packages need around them, and without any agent."""
    base = debian_root()
    recipe = f"""
set -eu
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
rm -rf /usr/lib/clock-agent /usr/bin/clock-agent
printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get install -qq --no-install-recommends {" ".join(EXTRA)}
rm /usr/sbin/policy-rc.d
systemctl disable --quiet redis-server
# Debian's own unit asks for the right to set the clock, which no container here has.
printf '[Unit]\\nConditionCapability=\\n' >/usr/lib/systemd/system/chrony.service.d/lab.conf
"""

    def fill(unfinished: Path) -> None:
        must(["cp", "-a", str(base), str(unfinished)])
        must(["chroot", str(unfinished), "/bin/sh", "-c", recipe])

    key = f"{base.name.replace('debian-', 'packages-')}-{len(recipe)}"
    return cached(key, fill)


@contextmanager
def root_copy(target: Path) -> Iterator[Path]:
    """A copy of the package root that can be changed; gone afterwards, for it is large."""
    must(["cp", "-a", "--reflink=auto", str(package_root()), str(target)])
    try:
        yield target
    finally:
        shutil.rmtree(target, ignore_errors=True)


@contextmanager
def packaged_machine(log: Path, deb: Path) -> Iterator[Machine]:
    """A booted Debian with the package installed and running, and a synchronised chronyd."""
    machine = Machine(log, package_root(), {"/packages": deb.parent})
    try:
        machine.must("chronyc -n waitsync 20 0.1 0 0.5 >/dev/null")
        machine.must(f"dpkg -i /packages/{deb.name}", timeout=60)
        yield machine
    finally:
        machine.stop()
