"""The recipes of docs/health-probes.md for programs that watch: each run as written, in every state
a clock can be in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Dict, Iterator

import pytest

from tests.support.pod import Pod
from tests.support.recipes import Node, State, recipes
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.nspawn, pytest.mark.timeout(600)]

RECIPES = recipes()
GROUP = RECIPES["What a prober has to know"]
POD = RECIPES["A pod that is ready while its node's clock is good"]
CONDITION = RECIPES["A condition of the node"]
CONSUL = RECIPES["Consul"]
NRPE = RECIPES["NRPE on the host"]
NAGIOS = RECIPES["Nagios on the server"]
MONIT = RECIPES["Monit"]

WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
NAGIOS_HOST = """
define host {
    host_name           worker-1
    address             127.0.0.1
    check_command       check-host-alive
    max_check_attempts  1
    check_period        24x7
    contact_groups      admins
}
"""
#: Seconds in place of minutes, and no host but ours.
NAGIOS_FASTER = (
    "sed -i -e /localhost.cfg/d -e 's/^interval_length=.*/interval_length=1/'"
    " -e 's/^status_update_interval=.*/status_update_interval=1/' /etc/nagios4/nagios.cfg"
)
MONIT_FASTER = "sed -i 's/^ *set daemon .*/set daemon 1/' /etc/monit/monitrc"
#: Lets a test ask Monit what it thinks.
MONIT_HTTPD = "set httpd unixsocket /run/monit.sock\n    allow monit:monit\n"
MONIT_LOG = "cat /var/log/monit.log"


def seconds(text: str) -> float:
    """A duration as Go writes it, as far as these recipes need it."""
    assert text.endswith("s")
    return float(text[:-1])


@pytest.fixture(scope="module")
def pod(node: Node) -> Iterator[Pod]:
    """The pod of the document, running."""
    started = Pod(node, POD.text)
    started.start()
    yield started
    started.stop()


def test_every_recipe_of_the_document_is_tested() -> None:
    files = Path(__file__).parent.glob("test_recipes*.py")
    used = {found for file in files for found in re.findall(r'RECIPES\["(.*)"\]', file.read_text())}
    assert used == set(RECIPES)


def test_a_pod_is_ready_and_may_start_as_its_nodes_clock_allows(pod: Pod, state: State) -> None:
    said = pod.probe()
    assert bool(said) is state.fails, said
    assert pod.may_start() is not state.fails


def test_a_pod_sees_the_agent_come_back(pod: Pod, node: Node) -> None:
    node.be("healthy")
    node.machine.must("systemctl stop clock-agent")
    assert "program-missing" in pod.probe()
    node.machine.must("systemctl start clock-agent")
    wait_for(lambda: not pod.probe(), what="a pod that is ready again", every=0.2)


def test_a_node_has_a_problem_when_its_clock_is_bad(node: Node, state: State) -> None:
    config = json.loads(CONDITION.text)
    (rule,) = config["rules"]
    (condition,) = config["conditions"]
    assert (config["plugin"], rule["type"]) == ("custom", "permanent")
    assert rule["condition"] == condition["type"]
    timeout = seconds(rule["timeout"])
    assert timeout <= seconds(config["pluginConfig"]["timeout"])

    done = node.machine.run(rule["path"], *rule["args"], timeout=timeout)

    # 0 is "no problem" and 1 "a problem"; anything else, "unknown", would move nobody.
    assert done.status == (1 if state.fails else 0)
    assert done.stdout.startswith("CLOCK ")


def test_consul_sees_passing_warning_and_critical(node: Node, state: State) -> None:
    config = json.loads(CONSUL.text)
    assert config["enable_local_script_checks"] is True
    check = config["check"]

    done = node.as_user("consul", *check["args"], timeout=seconds(check["timeout"]))

    seen, wanted = (
        {0: "passing", 1: "warning"}.get(status, "critical")
        for status in (done.status, state.status)
    )
    assert seen == wanted, done.stdout
    assert len(done.stdout) < 4096  # of what is longer, Consul keeps the end
    if not state.published:
        assert "UNKNOWN" in done.stdout
        assert "Permission denied" in done.stdout


@pytest.fixture(scope="module")
def nagios(node: Node) -> Iterator[None]:
    """NRPE and Nagios with the recipes' files."""
    node.put(NRPE)
    node.put(NAGIOS)
    node.write("/etc/nagios4/conf.d/lab.cfg", NAGIOS_HOST)
    node.machine.must(
        f"{GROUP.text}\n{NAGIOS_FASTER}\n"
        "nagios4 -v /etc/nagios4/nagios.cfg >/dev/null\n"
        "systemctl restart nagios-nrpe-server nagios4"
    )
    yield
    node.machine.must("systemctl stop nagios-nrpe-server nagios4")


def nagios_service(node: Node) -> Dict[str, str]:
    """What Nagios knows of the clock of worker-1."""
    shown = node.machine.shell("cat /var/lib/nagios4/status.dat").stdout
    block = re.search(r"^servicestatus \{$(.*?)^\t\}$", shown, re.M | re.S)
    pairs = (line.strip().partition("=") for line in block[1].splitlines()) if block else ()
    return {"plugin_output": "", **{name: value for name, _, value in pairs}}


def test_nagios_shows_the_state_its_reason_and_performance_data(
    node: Node, state: State, nagios: None
) -> None:
    def found() -> Dict[str, str]:
        service = nagios_service(node)
        return service if service["plugin_output"].startswith(word) else {}

    word = f"CLOCK {WORDS[state.status]} - "
    service = wait_for(found, timeout=60.0, every=0.5, what=f"{word!r} in Nagios")

    assert service["host_name"] == "worker-1"
    assert service["current_state"] == str(state.status)
    assert r"\n" in service["long_plugin_output"]
    known = bool(re.match(r"offset=-?[\d.]+ms;", service["performance_data"]))
    assert known is (state.status != 2)


def test_monit_fails_when_the_clock_is_bad(node: Node, state: State) -> None:
    node.put(MONIT)
    node.write("/etc/monit/conf.d/lab", MONIT_HTTPD)
    node.machine.must(
        f"{MONIT_FASTER}; monit -t >/dev/null; : >/var/log/monit.log; systemctl restart monit"
    )

    def shown() -> str:
        said = re.sub(r" +", " ", node.machine.shell("monit -B status clock").stdout)
        return said if wanted in said else ""

    wanted = f"last exit value {state.status if state.fails else 0}"
    said = wait_for(shown, timeout=30.0, every=0.5, what=wanted)

    assert ("status OK" in said) is not state.fails, said
    log = node.machine.must(f"{MONIT_LOG}; systemctl stop monit")
    assert (f"'clock' status failed ({state.status}) -- CLOCK" in log) is state.fails, log


def test_monit_ends_a_check_that_never_ends(node: Node) -> None:
    node.be("healthy")
    node.put(MONIT)
    node.machine.must(
        "printf '#!/bin/sh\\nexec sleep 60\\n' >/srv/stuck; chmod 755 /srv/stuck\n"
        "mount --bind /srv/stuck /usr/bin/clock-agent\n"
        f"{MONIT_FASTER}; : >/var/log/monit.log; systemctl restart monit"
    )
    wait_for(
        lambda: "'clock' status failed" in node.machine.must(MONIT_LOG), timeout=30.0, every=0.5
    )
    node.machine.must("systemctl stop monit; umount /usr/bin/clock-agent")
