"""Owns hand-made images: small directory trees that look like an installed Debian or Red Hat."""

from __future__ import annotations

from pathlib import Path

WANTS = "etc/systemd/system/multi-user.target.wants"
HEALTHY_CONF = """\
pool ntp.example iburst
driftfile /var/lib/chrony/drift
makestep 1.0 3
rtcsync
"""
UNIT = """\
[Unit]
Description=NTP client/server
[Service]
Type=forking
ExecStart=/usr/sbin/chronyd $OPTIONS
[Install]
WantedBy=multi-user.target
"""


class Image:
    """A directory that becomes ``/``; paths are given without their leading slash."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str, executable: bool = False) -> None:
        """Make a file and the directories above it."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        file.chmod(0o755 if executable else 0o644)

    def link(self, path: str, target: str) -> None:
        """Make a link, in place of what is there."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.symlink_to(target)

    def remove(self, path: str) -> None:
        """Remove a file or link."""
        (self.root / path).unlink()

    def mask(self, name: str) -> None:
        """What ``systemctl mask`` leaves behind."""
        self.link(f"etc/systemd/system/{name}", "/dev/null")


def red_hat(root: Path) -> Image:
    """chronyd.service, /etc/chrony.conf, presets that enable it."""
    image = _base(root, "chronyd.service", UNIT)
    image.write("etc/chrony.conf", HEALTHY_CONF + "sourcedir /run/chrony-dhcp\n")
    image.write(
        "usr/lib/systemd/system-preset/90-default.preset",
        "enable chronyd.service\ndisable systemd-timesyncd.service\n",
    )
    image.write("usr/lib/systemd/system-preset/99-default-disable.preset", "disable *\n")
    return image


def debian(root: Path) -> Image:
    """chrony.service with the alias chronyd.service, and dpkg's lists of who owns what."""
    unit = UNIT.replace("[Install]\n", "[Install]\nAlias=chronyd.service\n")
    image = _base(root, "chrony.service", unit)
    image.link("etc/systemd/system/chronyd.service", "/lib/systemd/system/chrony.service")
    image.write("etc/chrony/chrony.conf", "confdir /etc/chrony/conf.d\n" + HEALTHY_CONF)
    image.write("etc/chrony/conf.d/README", "fragments go here")
    image.write(
        "var/lib/dpkg/info/chrony.list",
        "/.\n/usr/sbin/chronyd\n/lib/systemd/system/chrony.service\n",
    )
    image.write("etc/init.d/chrony", "#!/bin/sh\n", executable=True)
    return image


def _base(root: Path, unit: str, text: str) -> Image:
    image = Image(root)
    image.write(f"usr/lib/systemd/system/{unit}", text)
    image.link("lib", "usr/lib")
    image.link(f"{WANTS}/{unit}", f"/usr/lib/systemd/system/{unit}")
    image.write("usr/sbin/chronyd", "\x7fELF", executable=True)
    image.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
    image.write("usr/lib/systemd/system/clock-agent.service", "[Service]\nExecStart=/x\n")
    image.link(f"{WANTS}/clock-agent.service", "/usr/lib/systemd/system/clock-agent.service")
    return image
