"""Loading a configuration: what is in force, and every reason to refuse a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import config as configuration
from agent.core.model import Policy, Protect, Verdict
from agent.core.settings import Config
from agent.errors import ConfigError, UsageError
from tests.support import needs


def write(directory: Path, text: str) -> str:
    path = directory / "config.yaml"
    path.write_bytes(text.encode())
    path.chmod(0o640)
    return str(path)


def load(directory: Path, text: str) -> Config:
    return configuration.load(write(directory, text)).config


def problems(directory: Path, text: str) -> List[str]:
    path = write(directory, text)
    with pytest.raises(ConfigError) as caught:
        configuration.load(path)
    return [problem.replace(path, "FILE") for problem in caught.value.problems]


EXAMPLE = """\
interval: 5m
confirm_interval: 30s
consecutive: 3
grace: 5m
offset: {warning: 100ms, critical: 2s}
max_drift_ppm: 50
chrony:  {enabled: true, program: chronyc, address: null, max_age: auto}
service: {enabled: true, program: systemctl, unit: auto}
references:
  - {name: locks, url: "redis://lock-store.internal:6379", password_file: null, ca_file: null,
     timeout: 1s, samples: 5}
statsd:  {enabled: true, address: "127.0.0.1:8125", prefix: clock, dialect: plain, host: auto,
          tags: {}}
alerts:
  - {type: log}
  - {type: command, argv: [/usr/local/bin/page], min_severity: critical, timeout: 10s}
protects:
  - {name: payout-reconciliation, margin: 20m}
history: {retention: 30d, max_size: 64MiB}
paths:   {state: /var/lib/clock-agent, runtime: /run/clock-agent}
tags: {}
"""


def test_the_example_of_the_design_is_the_default_and_what_it_adds(tmp_path: Path) -> None:
    config = load(tmp_path, EXAMPLE)

    plain = Config(source=config.source)
    assert config._replace(references=(), alerts=plain.alerts, policy=plain.policy) == plain
    assert config.policy == Policy(protects=(Protect(name="payout-reconciliation", margin=1200.0),))
    (reference,) = config.references
    assert (reference.name, reference.url) == ("locks", "redis://lock-store.internal:6379")
    log, command = config.alerts
    assert (log.type, log.name, log.min_severity) == ("log", "log", Verdict.UNKNOWN)
    assert command.min_severity is Verdict.CRITICAL
    assert command.options == {"argv": ("/usr/local/bin/page",)}


def test_every_key_reaches_its_place(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """\
interval: 1m
confirm_interval: 10s
consecutive: 5
grace: 0s
offset: {warning: 5ms, critical: 50ms}
max_drift_ppm: 12.5
chrony: {enabled: false, program: /opt/bin/chronyc, address: 192.0.2.1, max_age: 1h}
service: {enabled: false, program: /opt/bin/systemctl, unit: ntpsec}
references:
- name: a
  url: rediss://user:secret@[::1]:6380
  password_file: null
  timeout: 250ms
  samples: 9
  server_name: redis.internal
statsd: {enabled: false, address: "unix:///run/dsd", prefix: a.b, dialect: dogstatsd, host: none,
         tags: {team: infra, canary: no}}
alerts:
- {type: log, name: journal, tags: {a: b}}
- {type: command, argv: ["/bin/sh", "-c", "true\\nfalse"]}
- {type: command, argv: [/bin/true], timeout: 1m}
protects: [{name: "on", margin: 100ms}]
history: {retention: 1d, max_size: 1MiB}
paths: {state: /srv/state, runtime: /srv/run}
tags: {region: no}
""",
    )

    assert (config.interval, config.confirm_interval) == (60.0, 10.0)
    assert config.policy == Policy(
        offset_warning=0.005,
        offset_critical=0.05,
        consecutive=5,
        grace=0.0,
        max_drift_ppm=12.5,
        protects=(Protect(name="on", margin=0.1),),
    )
    assert config.chrony == (False, "/opt/bin/chronyc", "192.0.2.1", 3600.0)
    assert config.service == (False, "/opt/bin/systemctl", "ntpsec.service")
    (reference,) = config.references
    assert reference._asdict() == {
        "name": "a",
        "url": "rediss://user:secret@[::1]:6380",
        "password_file": None,
        "ca_file": None,
        "cert_file": None,
        "key_file": None,
        "server_name": "redis.internal",
        "timeout": 0.25,
        "samples": 9,
    }
    statsd = config.statsd
    assert statsd[:5] == (False, "unix:///run/dsd", "a.b", "dogstatsd", "none")
    assert statsd.tags == {"team": "infra", "canary": "no"}
    assert [alert.name for alert in config.alerts] == ["journal", "command", "command-2"]
    assert config.alerts[0].tags == {"a": "b"}
    assert config.alerts[1].options["argv"] == ("/bin/sh", "-c", "true\nfalse")
    assert config.alerts[2].timeout == 60.0
    assert config.history == (86400.0, 1048576)
    assert config.paths == ("/srv/state", "/srv/run")
    assert config.tags == {"region": "no"}


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n  # comments\n", "---\n", "\ufeff", "{}\n"])
def test_a_file_without_settings_means_the_defaults(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    assert configuration.load(path).config == Config(source=path)


@pytest.mark.parametrize("text", ["\ufeffinterval: 1m\n", "interval: 1m\r\nconsecutive: 3\r\n"])
def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text).interval == 60.0


def test_a_key_with_everything_below_it_commented_out_keeps_the_defaults(tmp_path: Path) -> None:
    text = (
        "offset:\n#  warning: 1s\nalerts:\nreferences:\nstatsd: {tags: }\ntags: ~\nchrony: null\n"
    )
    config = load(tmp_path, text)
    assert config == Config(source=config.source)


def test_a_shorter_interval_alone_shortens_the_confirming_one(tmp_path: Path) -> None:
    assert load(tmp_path, "interval: 10s").confirm_interval == 10.0


def test_no_way_of_telling_is_possible_but_warned_of(tmp_path: Path) -> None:
    loaded = configuration.load(write(tmp_path, "alerts: []\n"))
    assert loaded.config.alerts == ()
    assert loaded.warnings[0].endswith(
        "config.yaml:1: alerts: is empty; nobody is told of anything"
    )


REFUSED: List[Tuple[str, str]] = [
    # Text that is not the YAML we accept.
    (
        "offset:\n\twarning: 1s\n",
        "FILE:2: is not YAML: found character '\\t' that cannot start any",
    ),
    ("interval: 5m\n--- \ninterval: 1m\n", "FILE:2: starts a second document"),
    ("- interval: 5m\n", "FILE:1: holds a list; expected keys with values"),
    ("just words\n", "FILE:1: holds one value; expected keys with values"),
    ("interval: 5m\nna\x00me: x\n", "FILE:2: has the character 0x0, not allowed"),
    (
        "a: b: c\n",
        "FILE:1: is not YAML: mapping values are not allowed here; check the indentation",
    ),
    ("interval: '5m\n", "FILE:2: is not YAML: found unexpected end of stream"),
    ("offset: &a {warning: 1s}\n", "FILE:1: offset: uses an anchor or alias"),
    ("offset: *a\n", "FILE:1: offset: uses an anchor or alias"),
    ("interval: !!str 5m\n", "FILE:1: interval: uses the tag tag:yaml.org,2002:str"),
    ("a: !!python/object/apply:os.system [x]\n", "FILE:1: a: uses the tag"),
    ("chrony:\n  <<: {enabled: false}\n", "FILE:2: chrony.<<: merge keys (<<) are not accepted"),
    ("? [a, b]\n: c\n", "FILE:1: has a list or a mapping as a key"),
    ('interval: "\\uD800"\n', "FILE:1: interval: holds a control character or half of a surrogate"),
    ('interval: "\\UFFFFFFFF"\n', "cannot be read as YAML"),
    ("a: " + "[" * 5000, "FILE:1: a"),
    # Keys.
    ("interval: 5m\ninterval: 1m\n", "FILE:2: interval: is given twice, first in line 1"),
    ("redis: {}\nredis: {}\n", "FILE:2: redis: is given twice, first in line 1"),
    ("intervall: 5m\n", "FILE:1: intervall: is not a known key; did you mean 'interval'?"),
    (
        "offset: {WARNING: 1s}\n",
        "FILE:1: offset.WARNING: is not a known key; did you mean 'warning'",
    ),
    ("zzz: 1\n", "FILE:1: zzz: is not a known key; accepted here: interval, confirm_interval"),
    ("on: [1]\n", "FILE:1: on: is not a known key"),
    ('"a\\nb": 1\n', "FILE:1: a\\nb: is not a known key"),
    # Shapes.
    ("offset: 5s\n", "FILE:1: offset: holds one value; expected keys with values"),
    ("offset: [1s]\n", "FILE:1: offset: holds a list; expected keys with values"),
    ("interval: {a: 1}\n", "FILE:1: interval: holds keys with values; expected one value"),
    ("references: {name: a}\n", "FILE:1: references: holds keys with values; expected a list"),
    ("references: [a]\n", "FILE:1: references[1]: holds one value; expected keys with values"),
    ("tags: [a]\n", "FILE:1: tags: holds a list; expected names with values"),
    ("tags: {a: {b: c}}\n", "FILE:1: tags.a: holds keys with values; expected one value"),
    (
        "tags: {" + ", ".join(f"t{n}: v" for n in range(65)) + "}",
        "tags: has 65 entries; at most 64",
    ),
    ("tags: {a b: c}\n", "FILE:1: tags.a b: has an unusable name"),
    ("interval:\n", "FILE:1: interval: has no value; accepted is a duration, 100ms to 1d; without"),
    ("references: [{}]\n", "FILE:1: references[1]: lacks the key 'name'"),
    ("references:\n-\n", "FILE:2: references[1]: lacks the key 'url'; accepted is a Redis URL"),
    (
        "alerts: [{}]\n",
        "FILE:1: alerts[1]: lacks the key 'type'; accepted is log, command, webhook",
    ),
    ("protects: [" + "{name: a, margin: 1m}," * 65 + "]", "protects: has 65 entries; at most 64"),
    # Values.
    ("interval: 5\n", "FILE:1: interval: '5' has no unit; write ms, s, m, h or d, for example 5s"),
    ("interval: 10ms\n", "FILE:1: interval: 10ms is out of bounds; accepted is 100ms to 1d"),
    ("consecutive: 0\n", "FILE:1: consecutive: 0 is out of bounds; accepted is 1 to 100"),
    ("consecutive: 3.5\n", "FILE:1: consecutive: '3.5' is not a whole number"),
    ("max_drift_ppm: nan\n", "FILE:1: max_drift_ppm: 'nan' is not a number"),
    ("chrony: {program: bin/chronyc}\n", "chrony.program: 'bin/chronyc' is not an absolute path"),
    ("chrony: {address: -v}\n", "FILE:1: chrony.address: '-v' is not a host"),
    ("chrony: {program: -v}\n", "FILE:1: chrony.program: '-v' is not a program"),
    ("service: {unit: a b}\n", "FILE:1: service.unit: 'a b' is not a unit"),
    ("paths: {state: var}\n", "FILE:1: paths.state: 'var' is not an absolute path"),
    ("paths: {state: ''}\n", "FILE:1: paths.state: is empty"),
    ("statsd: {dialect: dogstatd}\n", "'dogstatd' is not known; did you mean 'dogstatsd'?"),
    ("statsd: {address: localhost}\n", "FILE:1: statsd.address: 'localhost' is not host:port"),
    ("statsd: {prefix: a..b}\n", "FILE:1: statsd.prefix: 'a..b' cannot be used"),
    ("references: [{name: a.b, url: 'redis://h'}]\n", "references[1].name: 'a.b' cannot be used"),
    ("references: [{name: a, url: 'http://h'}]\n", "references[1].url: the URL must start with"),
    ("alerts: [{type: slack}]\n", "FILE:1: alerts[1].type: 'slack' is not known; accepted is log"),
    ("alerts: [{type: log, argv: [/a]}]\n", "FILE:1: alerts[1].argv: is not a known key"),
    (
        "alerts: [{type: command, argv: []}]\n",
        "alerts[1].argv: needs the absolute path of a program",
    ),
    ("alerts: [{type: command, argv: [page]}]\n", "alerts[1].argv: needs the absolute path"),
    ("alerts: [{type: command, argv: /bin/true}]\n", "argv: holds one value; expected a list"),
    ("alerts: [{type: command}]\n", "FILE:1: alerts[1]: lacks the key 'argv'"),
    (
        "alerts: [{type: log, min_severity: crit}]\n",
        "'crit' is not known; did you mean 'critical'?",
    ),
    ("alerts: [{type: webhook, url: 'hooks/x'}]\n", "alerts[1].url: is not a URL"),
    ("alerts: [{type: webhook, url: 'http://a/b c'}]\n", "alerts[1].url: has spaces"),
    ("alerts: [{type: webhook, url: 'http://a b/c'}]\n", "alerts[1].url: has spaces"),
    ("alerts: [{type: webhook, url: 'http://h:0/'}]\n", "alerts[1].url: has a port in its URL"),
    ("alerts: [{type: webhook, url: 'http://h:65536'}]\n", "alerts[1].url: has a port in its URL"),
    (
        "alerts:\n- {type: webhook, url: 'http://h', headers: {content-length: '3'}}\n",
        "FILE:2: alerts[1].headers: content-length is set by clock-agent itself",
    ),
    (
        "alerts: [{type: webhook, url: 'http://h', headers: {X: Ж}}]\n",
        "alerts[1].headers: the value of X holds characters outside ASCII",
    ),
    (
        "alerts: [{type: webhook, url: 'http://h', token_file: /t, headers: {Authorization: x}}]\n",
        "alerts[1].headers: Authorization is set by token_file",
    ),
    ("alerts: [{type: webhook, url: 'http:///b'}]\n", "alerts[1].url: has no usable host"),
    ("alerts: [{type: webhook, url: 'http://u:p@h/'}]\n", "alerts[1].url: has a user or password"),
    # Words that other readers take for booleans.
    (
        "statsd: {enabled: on}\n",
        "statsd.enabled: 'on' is not a boolean; accepted is true or false; w",
    ),
    ("statsd: {enabled: yes}\n", "'yes' is not a boolean; accepted is true or false; write true"),
    ("statsd: {enabled: Off}\n", "'Off' is not a boolean; accepted is true or false; write false"),
    ("statsd: {enabled: n}\n", "'n' is not a boolean; accepted is true or false; write false"),
    ("statsd: {enabled: True}\n", "'True' is not a boolean; accepted is true or false; write true"),
    ('statsd: {enabled: "on"}\n', "statsd.enabled: is a text in quotes; accepted is true or false"),
    (
        'statsd: {enabled: "true"}\n',
        "is a text in quotes; accepted is true or false, without quotes",
    ),
    (
        "statsd: {host: no}\n",
        "statsd.host: 'no' may be meant as a boolean; as a text write it in qu",
    ),
    # What settings ask of each other.
    (
        "offset: {warning: 2s}\n",
        "offset.warning: the warning threshold 2s is not below the critical",
    ),
    ("offset: {critical: 50ms}\n", "FILE:1: offset.critical: the warning threshold 100ms is not"),
    (
        "interval: 1m\nconfirm_interval: 2m\n",
        "FILE:2: confirm_interval: 2m is longer than interval 1m",
    ),
    (
        "protects:\n- {name: cache, margin: 20m}\n- {name: lock, margin: 3s}\n",
        "FILE:1: protects: the critical threshold 2s is above half of the margin 3s of 'lock';"
        " accepted is at most 1.5s",
    ),
    (
        "references:\n- {name: a, url: 'redis://h'}\n- {name: A, url: 'redis://i'}\n",
        "FILE:3: references[2].name: the name 'A' is taken by an earlier entry",
    ),
    ("references: [{name: chronyd, url: 'redis://h'}]\n", "that of the local daemon"),
    ("alerts: [{type: log}, {type: command, name: log, argv: [/a]}]\n", "the name 'log' is taken"),
]


@pytest.mark.parametrize(("text", "complaint"), REFUSED, ids=[t[:40] for t, _ in REFUSED])
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    found = problems(tmp_path, text)
    assert any(complaint in problem for problem in found), found
    assert all(problem.startswith("FILE:") and "\n" not in problem for problem in found)


def test_all_problems_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        "interval: 5\n"
        "offset: {warning: x, critcal: 1s}\n"
        "statsd: {enabled: yes}\n"
        "alerts:\n"
        "- {type: slack, channel: ops}\n"
        "- {type: command}\n",
    )
    assert [":".join(problem.split(":")[1:3]) for problem in found] == [
        "1: interval",
        "2: offset.critcal",
        "2: offset.warning",
        "3: statsd.enabled",
        "5: alerts[1].type",
        "6: alerts[2]",
    ]


def test_an_alias_bomb_is_refused_without_being_expanded(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    levels += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert any("anchor or alias" in problem for problem in problems(tmp_path, "\n".join(levels)))


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    assert problems(tmp_path, "# x\n" * 524288) == ["FILE: is larger than 256 KiB; it was not read"]


def test_latin_1_is_refused_with_the_line_and_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"interval: 5m\n# f\xfcr uns\n")
    with pytest.raises(ConfigError) as caught:
        configuration.load(str(path))
    assert caught.value.problems == (f"{path}:2: is not UTF-8 (byte 0xfc); save it as UTF-8",)


def test_a_directory_a_device_and_a_fifo_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path, what in (
        (str(tmp_path), "is a directory"),
        ("/dev/zero", "is not a regular file"),
        (str(tmp_path / "fifo"), "is not a regular file"),
    ):
        with pytest.raises(ConfigError, match=f"{path}: {what}"):
            configuration.load(path)


@pytest.mark.parametrize("name", ["absent", "x" * 300, "loop", "config.yaml/below"])
def test_a_path_that_leads_nowhere_is_refused_by_name(tmp_path: Path, name: str) -> None:
    write(tmp_path, "")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ConfigError) as caught:
        configuration.load(str(tmp_path / name))
    assert len(caught.value.problems) == 1


def test_a_file_nobody_may_read_is_refused_with_a_hint(private_dir: Path) -> None:
    needs.root()
    path = write(private_dir, "interval: 5m")
    os.chmod(path, 0)
    private_dir.chmod(0o755)
    program = (
        "import os, sys\n"
        "from agent import config\n"
        "os.setuid(65534)\n"
        "try: config.load(sys.argv[1])\n"
        "except config.ForbiddenConfig as error: print(error.message, '|', error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"{path}: Permission denied | run as root")


SECRETIVE = """\
references: [{name: a, url: "redis://u:hunter2@h", password_file: PASSWORD}]
alerts: [{type: webhook, url: "http://h", headers: {Authorization: hunter2}}]
"""


def test_a_secret_that_everybody_can_read_is_warned_of_and_not_shown(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("hunter2\n")
    password.chmod(0o644)
    path = write(tmp_path, SECRETIVE.replace("PASSWORD", str(password)))
    os.chmod(path, 0o644)

    warnings = configuration.load(path).warnings

    assert [warning.replace(str(tmp_path), "DIR") for warning in warnings] == [
        "DIR/config.yaml:1: references[1].password_file: every user can read DIR/password;"
        " chmod 0640 it",
        "DIR/config.yaml:1: references[1].url: holds a secret, and every user can read this file;"
        " chmod 0640 it",
        "DIR/config.yaml:2: alerts[1].headers.Authorization: holds a secret, and every user can"
        " read this file; chmod 0640 it",
    ]


def test_a_directory_for_a_secret_is_called_no_file(tmp_path: Path) -> None:
    path = write(tmp_path, SECRETIVE.replace("PASSWORD", str(tmp_path)))
    warnings = configuration.load(path).warnings
    assert f"{path}:1: references[1].password_file: {tmp_path} is no regular file" in warnings


def test_a_reference_on_this_host_is_warned_of_because_it_is_this_very_clock(
    tmp_path: Path,
) -> None:
    urls = (
        "redis://127.0.0.1",
        "redis://LOCALHOST:6380",
        "rediss://[::1]:6379",
        "unix:///run/redis.sock",
        "redis://lock-store.internal",
        "redis+sentinel://127.0.0.1/locks",
    )
    records = "".join(f"  - {{name: r{n}, url: '{url}'}}\n" for n, url in enumerate(urls))
    warnings = configuration.load(write(tmp_path, "references:\n" + records)).warnings
    assert [line.split(": ")[1] for line in warnings] == [
        f"references[{number}].url" for number in range(1, 5)
    ]
    assert all("is this very clock" in line for line in warnings)


def test_secrets_that_only_few_can_read_are_no_reason_to_warn(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("hunter2\n")
    password.chmod(0o640)
    path = write(tmp_path, SECRETIVE.replace("PASSWORD", str(password)))
    assert configuration.load(path).warnings == ()


def test_a_missing_secret_file_is_warned_of_because_it_may_still_come(tmp_path: Path) -> None:
    path = write(tmp_path, SECRETIVE.replace("PASSWORD", "/nowhere/password"))
    (warning,) = configuration.load(path).warnings
    assert "references[1].password_file: /nowhere/password: No such file" in warning


@pytest.mark.parametrize(
    "url", ["redis://u:hunter2@h:x", "redis://u:hun/ter2@h", "http://u:hunter2@h", "hunter2"]
)
def test_a_broken_url_is_refused_without_its_password(tmp_path: Path, url: str) -> None:
    text = f"references: [{{name: a, url: '{url}'}}]\nalerts: [{{type: webhook, url: '{url}'}}]\n"
    assert not any("hunter2" in problem for problem in problems(tmp_path, text))


def test_nothing_but_comments_costs_no_yaml(tmp_path: Path) -> None:
    path = write(tmp_path, "# nothing\n")
    program = (
        "import sys; from agent import config; config.load(sys.argv[1])\n"
        "print(sorted({'yaml', 'agent.settings_table', 'argparse', 'json'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_command_line_overrides_thresholds_and_references() -> None:
    config = configuration.override(
        Config(), warning="10ms", critical="50ms", redis="redis://:hunter2@127.0.0.1"
    )
    assert (config.policy.offset_warning, config.policy.offset_critical) == (0.01, 0.05)
    assert [(r.name, r.url) for r in config.references] == [
        ("127.0.0.1:6379", "redis://:hunter2@127.0.0.1")
    ]
    assert configuration.override(Config()) == Config()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"warning": "5"}, "--warning: '5' has no unit"),
        ({"critical": "0s"}, "--critical: 0s is out of bounds"),
        ({"critical": "2d"}, "--critical: 2d is out of bounds"),
        ({"warning": "3s"}, "warning threshold 3s is not below the critical one 2s"),
        ({"redis": "http://x:hunter2@y"}, "--redis: the URL must start with"),
    ],
)
def test_an_impossible_override_is_a_usage_error(options: Dict[str, str], complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        configuration.override(Config(), **options)
    assert complaint in caught.value.message
    assert "hunter2" not in caught.value.message


def _complaints(path: Path) -> Sequence[str]:
    try:
        configuration.load(str(path))
    except ConfigError as error:
        return error.problems
    return ()


@given(st.binary(max_size=400))
def test_no_bytes_make_loading_fail_in_another_way(tmp_path_factory: Any, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(raw)
    assert all(line.isprintable() for line in _complaints(path))


_PIECES = """
interval offset warning critical references alerts name url type command argv tags protects margin
chrony max_age auto null yes 5m 2s redis://h [a] {a:b} &a *a !!str << | > ' " # - ? :
"""
_WORDS = st.sampled_from(_PIECES.split())
_SPACES = st.sampled_from(["\n", "\n  ", "\n- ", "\n    ", ": ", " ", ", ", "\t", "\r\n", "---\n"])


@given(st.lists(st.tuples(_WORDS, _SPACES), max_size=40))
def test_no_heap_of_known_words_does_either(
    tmp_path_factory: Any, pieces: List[Tuple[str, str]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "words.yaml"
    path.write_text("".join(word + space for word, space in pieces))
    assert all(line.isprintable() for line in _complaints(path))
