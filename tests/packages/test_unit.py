"""The packaged service in its sandbox: all it has to do works as its own user, and nothing more."""

from __future__ import annotations

import json
import textwrap
from typing import Any, Dict, Iterator

import pytest

from tests.packages.conftest import Built
from tests.support.dist import packaged_machine
from tests.support.nspawn import Machine
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.nspawn, pytest.mark.timeout(600)]

#: Redis by TCP, TLS and unix socket, where only the group of redis may use the socket; two StatsD
#: receivers that keep what they get; a program to be told of alerts.
SURROUNDINGS = r"""
mkdir -p /etc/tls /srv/seen /etc/systemd/system/clock-agent.service.d
chmod 777 /srv/seen
cd /etc/tls
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=lab \
    -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem 2>/dev/null
chmod 644 key.pem
cat >/etc/redis/lab.conf <<END
port 6379
tls-port 6380
tls-cert-file /etc/tls/cert.pem
tls-key-file /etc/tls/key.pem
tls-ca-cert-file /etc/tls/cert.pem
tls-auth-clients no
unixsocket /run/redis-lab/redis.sock
unixsocketperm 770
save ""
dir /tmp
user default on >default-secret ~* +@all
END
cat >/etc/systemd/system/redis-lab.service <<END
[Service]
User=redis
RuntimeDirectory=redis-lab
ExecStart=/usr/bin/redis-server /etc/redis/lab.conf
END
cat >/usr/local/bin/statsd-lab <<END
#!/usr/bin/python3
import socket, sys
kind, address = (socket.AF_UNIX, sys.argv[1]) if sys.argv[1][0] == "/" else (
    socket.AF_INET, ("127.0.0.1", int(sys.argv[1])))
server = socket.socket(kind, socket.SOCK_DGRAM)
server.bind(address)
if kind == socket.AF_UNIX:
    import os
    os.chmod(address, 0o777)
while True:
    with open(sys.argv[2], "ab") as seen:
        seen.write(server.recv(65536) + b"\n")
END
cat >/usr/local/bin/page <<END
#!/bin/sh
# Its private /tmp can be written to, and the state directory; nothing else.
id -un >/tmp/told
cat >/var/lib/clock-agent/told.json
touch /srv/seen/forbidden 2>>/var/lib/clock-agent/refused
touch /etc/clock-agent/forbidden 2>>/var/lib/clock-agent/refused
touch /home/forbidden 2>>/var/lib/clock-agent/refused
date --set=2020-01-01 2>>/var/lib/clock-agent/refused
exit 0
END
chmod 755 /usr/local/bin/page /usr/local/bin/statsd-lab
printf default-secret >/etc/clock-agent/redis-password
chgrp clock-agent /etc/clock-agent/redis-password
chmod 640 /etc/clock-agent/redis-password
printf default-secret >/root/redis-password
printf '[Service]\nSupplementaryGroups=redis\nLoadCredential=redis:/root/redis-password\n' \
    >/etc/systemd/system/clock-agent.service.d/redis.conf
systemctl daemon-reload
systemctl start redis-lab
systemd-run --quiet --unit=statsd-udp /usr/local/bin/statsd-lab 8125 /srv/seen/udp
systemd-run --quiet --unit=statsd-unix /usr/local/bin/statsd-lab /run/statsd.sock /srv/seen/unix
"""
CONFIG = """
interval: 1s
confirm_interval: 300ms
statsd: {address: "%s"}
references:
- {name: tcp, url: "redis://127.0.0.1", password_file: /etc/clock-agent/redis-password}
- {name: tls, url: "rediss://127.0.0.1:6380", ca_file: /etc/tls/cert.pem,
   password_file: /run/credentials/clock-agent.service/redis}
- {name: socket, url: "unix:///run/redis-lab/redis.sock",
   password_file: /etc/clock-agent/redis-password}
alerts:
- {type: log}
- {type: command, argv: [/usr/local/bin/page]}
"""


def configure(machine: Machine, text: str) -> None:
    """Put ``text`` in force."""
    script = f"cat >/etc/clock-agent/config.yaml <<'END'\n{textwrap.dedent(text)}END\n"
    machine.must(script + "clock-agent config check && systemctl restart clock-agent")


@pytest.fixture(scope="module")
def machine(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A booted Debian with the package, Redis, StatsD and a synchronised chronyd."""
    log = tmp_path_factory.mktemp("nspawn") / "console.log"
    with packaged_machine(log, built.deb) as booted:
        booted.must("systemctl stop clock-agent\n" + SURROUNDINGS, timeout=60)
        yield booted


def readings(machine: Machine) -> Dict[str, Any]:
    """What the daemon published last, by source."""
    text = machine.shell("cat /run/clock-agent/status.json").stdout
    return {r["source"]: r for r in json.loads(text)["readings"]} if text else {}


def test_every_source_is_read_inside_the_sandbox(machine: Machine) -> None:
    configure(machine, CONFIG % "127.0.0.1:8125")

    seen = wait_for(
        lambda: readings(machine) if len(readings(machine)) == 4 else None, what="four readings"
    )

    assert {name: reading["trusted"] for name, reading in seen.items()} == {
        "chronyd": True,
        "tcp": True,
        "tls": True,
        "socket": True,
    }
    document = json.loads(machine.must("cat /run/clock-agent/status.json"))
    assert (document["service"]["active_state"], document["verdict"]) == ("active", "ok")


@pytest.mark.parametrize(
    ("address", "file"), [("127.0.0.1:8125", "udp"), ("unix:///run/statsd.sock", "unix")]
)
def test_gauges_leave_it_by_udp_and_by_unix_datagram(
    machine: Machine, address: str, file: str
) -> None:
    configure(machine, CONFIG % address)
    wait_for(
        lambda: "clock.verdict:0|g" in machine.shell(f"cat /srv/seen/{file}").stdout,
        what="a gauge",
    )


def test_an_alert_program_runs_inside_and_can_change_nothing_outside(machine: Machine) -> None:
    configure(machine, CONFIG % "127.0.0.1:8125")
    wait_for(lambda: len(readings(machine)) == 4, what="readings")
    machine.must("systemctl stop chrony")
    try:
        told = wait_for(
            lambda: machine.shell("cat /var/lib/clock-agent/told.json").stdout, what="an alert"
        )
        assert json.loads(told)["kind"] == "raise"
        refused = wait_for(
            lambda: machine.shell("grep date: /var/lib/clock-agent/refused").stdout, what="date"
        )
        assert "Operation not permitted" in refused
        refused = machine.must("cat /var/lib/clock-agent/refused")
        assert refused.count("Read-only file system") >= 2, refused
        left = machine.shell("ls /srv/seen/forbidden /etc/clock-agent/forbidden /home/forbidden")
        assert left.stdout == ""
    finally:
        machine.must("systemctl start chrony; chronyc -n waitsync 20 0.1 0 0.5 >/dev/null")


def test_processes_and_ports_behind_systemds_back_can_be_seen(machine: Machine) -> None:
    """A chronyd that is alive without its unit is told from one that is not there."""
    configure(machine, CONFIG % "127.0.0.1:8125")
    wait_for(lambda: len(readings(machine)) == 4, what="readings")
    machine.must("pkill -STOP -x chronyd")
    try:
        hung = wait_for(
            lambda: (
                readings(machine)["chronyd"] if not readings(machine)["chronyd"]["trusted"] else {}
            ),
            what="the hung chronyd",
        )
        assert hung["cause"] == "hung"
    finally:
        machine.must("pkill -CONT -x chronyd")


def test_children_get_no_way_to_speak_for_the_service(machine: Machine) -> None:
    """Neither through the environment nor by rights: NotifyAccess=main."""
    shown = machine.must("systemctl show clock-agent -p NotifyAccess -p WatchdogUSec --value")
    assert shown.split() == ["main", "30s"]


def test_its_exposure_is_what_the_design_allows(machine: Machine) -> None:
    judged = machine.shell("systemd-analyze security --threshold=16 clock-agent.service")
    assert judged.status == 0, judged.stdout[-300:]


def test_no_call_was_refused_but_those_of_the_alert_program(machine: Machine) -> None:
    said = machine.must("journalctl -u clock-agent -o cat")
    for word in ("EPERM", "not permitted", "Address family", "Traceback", "internal error"):
        assert word not in said
