"""Owns the recipes of ``docs/health-probes.md`` in tests, and the node they are carried out on.

Every fenced block of the page is a recipe, known by the heading above it. Where the text names the
block's file in the line before, that is where it is put.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Dict, Mapping, NamedTuple

from tests.support.debian_root import cached, must
from tests.support.dist import PROJECT, package_root
from tests.support.nspawn import Done, Machine
from tests.support.waiting import wait_for

DOCUMENT = PROJECT / "docs" / "health-probes.md"
#: Where the machine sees the files a test has written for it.
SHARED = "/recipes"
#: Debian's packages of the programs the recipes are for, as far as Debian has them.
PROGRAMS = (
    "cron",
    "exim4-daemon-light",
    "monit",
    "nagios-nrpe-server",
    "nagios-nrpe-plugin",
    "nagios4-core",
    "crun",
    "openssh-server",
    "packer",
)
SERVICES = ("cron", "exim4", "monit", "nagios-nrpe-server", "nagios4", "ssh")
#: Users, and a job that leaves a line behind each time it runs.
PREPARED = """
useradd --create-home app
useradd --create-home baker
useradd --system consul
printf '#!/bin/sh\\necho ran >>/srv/ran\\n' >/usr/local/bin/payout
chmod 755 /usr/local/bin/payout
install -m 666 /dev/null /srv/ran
"""
#: Fast readings; nothing to send them to.
SETTINGS = "interval: 1s\nconfirm_interval: 1s\nstatsd: {enabled: false}\n"


class Recipe(NamedTuple):
    """One block of the document."""

    #: Where it belongs, or ``""`` when it is no file.
    path: str
    language: str
    text: str


def recipes() -> Dict[str, Recipe]:
    """Every block of the document by its heading; a heading has one at most."""
    found: Dict[str, Recipe] = {}
    heading, path, fence, block = "", "", "", []
    for line in DOCUMENT.read_text("utf-8").splitlines(keepends=True):
        word = line.strip()
        if fence and word != "```":
            block.append(line)
        elif fence:
            assert heading not in found, f"two recipes under {heading!r}"
            found[heading] = Recipe(path, fence, textwrap.dedent("".join(block)))
            fence, block = "", []
        elif word.startswith("```"):
            fence = word[3:]
        elif line.startswith("#"):
            heading, path = word.lstrip("# "), ""
        elif named := re.match(r"`(/[^`]+)`.*:$", word):
            path = named[1]
    return found


def recipes_root() -> Path:
    """The Debian for packages with the programs of the recipes, none of them started."""
    base = package_root()
    script = f"""
set -eu
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get install -qq --no-install-recommends {" ".join(PROGRAMS)}
rm /usr/sbin/policy-rc.d
systemctl disable --quiet {" ".join(SERVICES)}
"""

    def fill(unfinished: Path) -> None:
        must(["cp", "-a", str(base), str(unfinished)])
        must(["chroot", str(unfinished), "/bin/sh", "-c", script])

    return cached(f"{base.name.replace('packages-', 'recipes-')}-{len(script)}", fill)


class State(NamedTuple):
    """One state of a node's clock."""

    #: Exit status of ``clock-agent check`` as root.
    status: int
    #: What is added to the configuration.
    settings: str = ""
    #: What is done to the node.
    script: str = ""
    #: Whether there is a daemon that says so.
    published: bool = True

    @property
    def fails(self) -> bool:
        """Whether this is a failure where a warning is none."""
        return self.status > 1


STATES: Mapping[str, State] = {
    "healthy": State(0),
    "warning": State(1, "references: [{name: locks, url: 'redis://127.0.0.1:1'}]\n"),
    "critical": State(2, script="systemctl stop chrony"),
    "unknown": State(3, "max_drift_ppm: 100000\noffset: {warning: 0.1ms, critical: 0.2ms}\n"),
    "hung": State(2, script="pkill -STOP -x chronyd; systemctl stop clock-agent", published=False),
}


class Node:
    """A booted machine with the package, whose clock can be put into any state."""

    def __init__(self, machine: Machine, shared: Path) -> None:
        """``shared`` is what the machine sees as ``/recipes``."""
        self.machine = machine
        self._shared = shared
        self.state = ""
        machine.must(PREPARED)

    def be(self, name: str) -> State:
        """Bring the clock into that state, and wait until the agent says so."""
        state = STATES[name]
        if name != self.state:
            self.state = ""
            self.write("/etc/clock-agent/config.yaml", SETTINGS + state.settings)
            self.machine.must(
                "chgrp clock-agent /etc/clock-agent/config.yaml\n"
                "chmod 640 /etc/clock-agent/config.yaml\n"
                "pkill -CONT -x chronyd || true\n"
                "systemctl start chrony; chronyc -n waitsync 100 0.1 0 0.1 >/dev/null\n"
                f"systemctl restart clock-agent\n{state.script}"
            )
            if state.published:
                wait_for(lambda: self._says(state), timeout=30.0, every=0.2, what=name)
            self.state = name
        return state

    def put(self, recipe: Recipe, text: str = "") -> None:
        """Put a recipe's block where the document says; ``text`` in place of its own."""
        assert recipe.path, recipe
        self.write(recipe.path, text or recipe.text)

    def write(self, path: str, text: str) -> None:
        """Make a file on the node."""
        draft = self._shared / "draft"
        draft.write_text(text, "utf-8")
        self.machine.must(f"install -D -m 644 {SHARED}/draft {path}")

    @property
    def runs(self) -> int:
        """How often the job has run."""
        return len(self.machine.must("cat /srv/ran").split())

    def as_user(self, user: str, *command: str, timeout: float = 30.0) -> Done:
        """Run a command as another user."""
        return self.machine.run("runuser", "-u", user, "--", *command, timeout=timeout)

    def _says(self, state: State) -> bool:
        done = self.as_user("nobody", "clock-agent", "check")
        return done.status == state.status and "Permission" not in done.stdout
