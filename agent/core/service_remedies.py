"""Owns the steps that mend a time service: each makes the commands for one host's units.

Advice is written for a root shell: every line is one command that works as printed, in the order
given; what is no command starts with ``#``. The commands were tried on systemd 252. That starting
chronyd may step the clock is said by ``core.judge``, which knows by how much.
"""

from __future__ import annotations

from agent.core.service_view import View
from agent.core.typed import TYPE_CHECKING
from agent.core.wording import plain, shell_word

if TYPE_CHECKING:
    from typing import Callable, Tuple

    from typing_extensions import TypeAlias

Step: TypeAlias = "Callable[[View], Tuple[str, ...]]"


def unmask(view: View) -> Tuple[str, ...]:
    """Unmask the unit and its masked aliases."""
    runtime = " --runtime" if view.unit.unit_file_state == "masked-runtime" else ""
    lines = (f"systemctl unmask{runtime} {view.unit.id}",)
    return lines + unmask_aliases(view)


def unmask_aliases(view: View) -> Tuple[str, ...]:
    """Unmask the masked other names."""
    return (f"systemctl unmask {' '.join(view.masked)}",) if view.masked else ()


def reload(_: View) -> Tuple[str, ...]:
    """Make systemd read the unit files again."""
    return ("systemctl daemon-reload",)


def set_aside(path: str) -> str:
    """Move a file out of the way."""
    return f"mv {shell_word(path)} {shell_word(path + '.set-aside')}"


def enable(view: View) -> Tuple[str, ...]:
    """Restore the boot link; what is no link and stands in its place is set aside."""
    lines = tuple(set_aside(path) for path in view.look.obstacles)
    return (*lines, f"systemctl enable {view.unit.id}")


def enable_now(view: View) -> Tuple[str, ...]:
    """Restore the boot link and start it."""
    *lines, last = enable(view)
    return (*lines, last.replace("enable", "enable --now", 1))


def enable_afresh(view: View) -> Tuple[str, ...]:
    """The same for a unit that failed: systemd may have had enough of starting it."""
    return (f"systemctl reset-failed {view.unit.id}", *enable_now(view))


def restart(view: View) -> Tuple[str, ...]:
    """Start it afresh."""
    return (f"systemctl restart {view.unit.id}",)


def journal(view: View) -> Tuple[str, ...]:
    """Read why it ended."""
    return (f"journalctl --no-pager -n 20 -u {view.unit.id}", "# mend what it names, then:")


def status(view: View) -> Tuple[str, ...]:
    """See more of it."""
    return (f"systemctl status --no-pager {view.unit.id}",)


def end_strays(view: View) -> Tuple[str, ...]:
    """End the chronyds systemd does not know, and wait until they are gone."""
    return tuple(f"kill {p.pid} && tail --pid={p.pid} -f /dev/null" for p in view.strays)


def end_others(view: View) -> Tuple[str, ...]:
    """Stop the other daemons, now and at boot."""
    return tuple(f"systemctl disable --now {name}" for name in view.others)


_INSTALL = {
    "apt-get": ("apt-get install --reinstall chrony", "chrony.service"),
    "dnf": ("dnf reinstall chrony; dnf install chrony", "chronyd.service"),
    "yum": ("yum reinstall chrony; yum install chrony", "chronyd.service"),
    "zypper": ("zypper install --force chrony", "chronyd.service"),
}


def install(view: View) -> Tuple[str, ...]:
    """Bring back the package's unit and start it."""
    command, unit = _INSTALL.get(
        view.look.installer, ("# install this system's chrony package", view.unit.id)
    )
    return (command, "systemctl daemon-reload", f"systemctl enable --now {unit}")


def reinstall(view: View) -> Tuple[str, ...]:
    """Bring back the package's files."""
    return (install(view)[0],)


def verify(view: View) -> Tuple[str, ...]:
    """Find the line systemd refuses."""
    return (
        f"systemd-analyze verify {view.unit.id}",
        f"# mend the line it names (`systemctl cat {view.unit.id}` says in which file), then:",
        "systemctl daemon-reload",
    )


def allow_clock(_: View) -> Tuple[str, ...]:
    """What to do where the clock may not be set."""
    return (
        "# run chronyd where the clock may be set (a container needs CAP_SYS_TIME), or leave the"
        " clock to the container's host and set service.enabled: false and chrony.enabled: false",
    )


def use_auto(view: View) -> Tuple[str, ...]:
    """Let the agent find the unit."""
    return (f"# the configuration names {plain(view.wanted)}: set service.unit: auto",)


def judge_other(view: View) -> Tuple[str, ...]:
    """The alternative to chronyd."""
    return (
        f"# or keep {view.others[0]}: set service.unit: {view.others[0]}, chrony.enabled: false",
    )


def resume(view: View) -> Tuple[str, ...]:
    """Let a stopped process go on, and the helper it forked: the one waits for the other."""
    if view.main is None:
        return ()
    helpers = [p.pid for p in view.look.chronyds if p.parent == view.main.pid and p.state in "Tt"]
    return (" ".join(map(str, ("kill -CONT", view.main.pid, *helpers))),)


def look_at_unit(view: View) -> Tuple[str, ...]:
    """See what the unit runs."""
    return (
        f"systemctl cat {view.unit.id}",
        "# make ExecStart= run chronyd itself, then:",
        "systemctl daemon-reload",
    )


def keep_one(view: View) -> Tuple[str, ...]:
    """Leave one unit for the one daemon: a file of the administrator's own is set aside."""
    lines = [f"systemctl disable --now {twin.id}" for twin in view.twins]
    for twin in view.twins:
        if twin.fragment_path.startswith("/etc/"):
            lines.append(set_aside(twin.fragment_path))
    return (*lines, "systemctl daemon-reload")
