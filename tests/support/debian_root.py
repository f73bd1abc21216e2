"""Owns one small Debian with systemd and chrony in a directory: made once, cached, never changed.

Its chronyd can only be started through a wrapper that adds ``-x`` (it never sets a clock), and
synchronises within a second to a server of its own on loopback, so tests need no network.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable, List, Tuple

from tests.support import needs

PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "chrony",
    "procps",
    "python3",
    "ca-certificates",
)

#: Runs inside, once. The server is not called chronyd, so that only one thing there is.
RECIPE = r"""
set -eu
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
apt-get update -qq
apt-get install -qq --reinstall --download-only chrony
mkdir -p /usr/lib/realbin /usr/lib/systemd/system/chrony.service.d
dpkg-divert --quiet --local --rename --divert /usr/lib/realbin/chronyd --add /usr/sbin/chronyd
cp /usr/lib/realbin/chronyd /usr/lib/realbin/upstream
printf '#!/bin/sh\nexec /usr/lib/realbin/chronyd -x "$@"\n' >/usr/sbin/chronyd
chmod 755 /usr/sbin/chronyd
cat >/etc/chrony/chrony.conf <<END
server 127.0.0.1 port 1123 iburst minpoll -2 maxpoll 0
server 127.0.0.2 port 1123 iburst minpoll -2 maxpoll 0
makestep 1 3
rtcsync
driftfile /var/lib/chrony/chrony.drift
END
cp /etc/chrony/chrony.conf /etc/chrony.conf
cat >/etc/systemd/system/upstream.service <<END
[Service]
ExecStart=/usr/lib/realbin/upstream -x -d -U -u root 'port 1123' 'local stratum 1' allow \
    'cmdport 0' 'bindcmdaddress /' 'pidfile /run/upstream.pid'
[Install]
WantedBy=multi-user.target
END
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -sf ../upstream.service /etc/systemd/system/multi-user.target.wants/upstream.service
cat >/usr/bin/clock-agent <<END
#!/bin/sh
exec /usr/bin/python3 -ISB -c 'import sys
sys.path[:0] = ["/usr/lib/clock-agent", "/usr/lib/clock-agent/vendor"]
from agent.cli import main
sys.exit(main())' "\$@"
END
chmod 755 /usr/bin/clock-agent
mkdir -p /usr/lib/clock-agent/agent /usr/lib/clock-agent/vendor
mkdir -p /root/pristine
cp -a /usr/lib/systemd/system/chrony.service /root/pristine/
cp -a /etc/init.d/chrony /root/pristine/chrony.init
rm -f /etc/machine-id
systemd-machine-id-setup
"""


def debian_root() -> Path:
    """The directory of the cached root; built if this is the first time. Needs root."""
    needs.root()
    needs.program("systemd-nspawn")
    return cached(f"debian-{_key(PACKAGES, RECIPE)}", _build)


def plain_root() -> Path:
    """The same Debian without anything of ours in it: neither booted nor changed by anybody."""
    needs.root()
    needs.program("debootstrap")
    return cached(f"plain-{_key(PACKAGES)}", _bootstrap)


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """The directory ``name`` in the cache; ``build`` fills it if this is the first time."""
    cache = _cache()
    cache.mkdir(parents=True, exist_ok=True)
    root, unfinished = cache / name, cache / f"{name}.unfinished"
    with open(cache / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
            build(unfinished)
            unfinished.rename(root)
    return root


def _key(*recipe: object) -> str:
    return hashlib.sha256(repr(recipe).encode()).hexdigest()[:12]


def _bootstrap(unfinished: Path) -> None:
    suite, mirror = _release()
    include = f"--include={','.join(PACKAGES)}"
    must(["debootstrap", "--variant=minbase", include, suite, str(unfinished), mirror])


def _build(unfinished: Path) -> None:
    must(["cp", "-a", str(plain_root()), str(unfinished)])
    must(["chroot", str(unfinished), "/bin/sh", "-c", RECIPE])


def must(command: List[str]) -> None:
    """Run a command that has to succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    project = Path(__file__).resolve().parents[2] / ".cache"
    return (Path(base) / "clock-agent" if base else project) / "roots"


def _release() -> Tuple[str, str]:
    """This machine's own release, and where its apt gets it from."""
    lines = Path("/etc/os-release").read_text("utf-8").splitlines()
    suite = next(line.split("=")[1].strip('"') for line in lines if "VERSION_CODENAME" in line)
    shown = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for line in shown.splitlines():
        release, _, uri = line.partition(" ")
        if release == suite and uri:
            return suite, uri
    return needs.missing(f"apt knows no source of {suite}")
