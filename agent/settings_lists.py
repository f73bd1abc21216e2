"""Owns the rows of the lists: references, ways of telling, and what to protect."""

from __future__ import annotations

from agent.core.settings import AlertSettings, ReferenceSettings
from agent.core.typed import TYPE_CHECKING
from agent.settings_kinds import (
    ARGUMENT,
    DURATION,
    HOST,
    HTTP_URL,
    INTEGER,
    LABEL,
    NAME,
    PATH,
    REDIS_URL,
    SECRET,
    SECRET_URL,
    SEVERITY,
    TEXT,
    bounded,
    choice,
)
from agent.settings_rows import DAY, REQUIRED, Setting

if TYPE_CHECKING:
    from typing import Mapping, Tuple

_REFERENCE = ReferenceSettings(name="", url="")
_ALERT = AlertSettings(type="", name="")

_CREDENTIAL = (
    "A file whose first line is the {what}. With LoadCredential= in a drop-in of the unit it is"
    " /run/credentials/clock-agent.service/NAME."
)
_CA_FILE = Setting(
    "ca_file", PATH, None, "Certificates to trust (PEM); null trusts those of the system."
)
_HEADERS = Setting(
    "headers", SECRET, {}, "Further HTTP headers; their values are never shown.", shape="map"
)
_TOKEN_FILE = Setting(
    "token_file",
    PATH,
    None,
    _CREDENTIAL.format(what="token sent as 'Authorization: Bearer'"),
    secret_file=True,
)


REFERENCE: Tuple[Setting, ...] = (
    Setting(
        "name", NAME, REQUIRED, "Names the server in gauges and texts; unique.", example="locks"
    ),
    Setting(
        "url",
        REDIS_URL,
        REQUIRED,
        "redis://[user[:password]@]host[:port], rediss:// for TLS, unix:///path for a socket, or"
        " redis+sentinel://host[:port],.../service. A user needs only +time.",
        example="redis://lock-store.internal:6379",
    ),
    Setting(
        "password_file",
        PATH,
        _REFERENCE.password_file,
        _CREDENTIAL.format(what="password") + " It overrides the one in the URL.",
        secret_file=True,
    ),
    _CA_FILE,
    Setting("cert_file", PATH, _REFERENCE.cert_file, "Client certificate for TLS (PEM)."),
    Setting("key_file", PATH, _REFERENCE.key_file, "Its private key (PEM).", secret_file=True),
    Setting(
        "server_name",
        HOST,
        _REFERENCE.server_name,
        "The name its certificate must carry; null takes the host of the URL.",
    ),
    Setting(
        "timeout",
        bounded(DURATION, 0.01, 10.0),
        _REFERENCE.timeout,
        "For everything in one reading: name look-up, connection, log-in and all samples.",
    ),
    Setting(
        "samples",
        bounded(INTEGER, 1, 50),
        _REFERENCE.samples,
        "TIME exchanges per reading; the one with the shortest round trip counts.",
    ),
)

SINKS: Mapping[str, Tuple[Setting, ...]] = {
    "log": (),
    "command": (
        Setting(
            "argv",
            ARGUMENT,
            REQUIRED,
            "The program and its arguments, without a shell; the alert is JSON on its input.",
            example="[/usr/local/bin/page]",
            shape="list",
        ),
    ),
    "webhook": (
        Setting(
            "url",
            SECRET_URL,
            REQUIRED,
            "Where the alert is sent as JSON by POST.",
            example="https://hooks.internal/clock",
        ),
        _HEADERS,
        _TOKEN_FILE,
        Setting(
            "secret_file",
            PATH,
            None,
            _CREDENTIAL.format(what="key that signs each body with HMAC-SHA256"),
            secret_file=True,
        ),
        _CA_FILE,
    ),
    "alertmanager": (
        Setting(
            "url",
            HTTP_URL,
            REQUIRED,
            "The base URL of Prometheus Alertmanager.",
            example="http://alerts.internal:9093",
        ),
        _HEADERS,
        _TOKEN_FILE,
        _CA_FILE,
    ),
    "pagerduty": (
        Setting(
            "routing_key_file",
            PATH,
            REQUIRED,
            _CREDENTIAL.format(what="integration key (Events API v2)"),
            example="/etc/clock-agent/pagerduty.key",
            secret_file=True,
        ),
        Setting(
            "url",
            HTTP_URL,
            "https://events.pagerduty.com/v2/enqueue",
            "The Events API; change it for another region or a relay.",
        ),
        _CA_FILE,
    ),
}

ALERT: Tuple[Setting, ...] = (
    Setting("type", choice(*SINKS), REQUIRED, "The way of telling.", example="log"),
    Setting(
        "name", NAME, None, "Names it in texts; unique. By default its type and place in the list."
    ),
    Setting(
        "min_severity", SEVERITY, _ALERT.min_severity, "Alerts below this are not sent this way."
    ),
    Setting(
        "timeout",
        bounded(DURATION, 0.1, 300.0),
        _ALERT.timeout,
        "For one attempt as a whole; what fails is tried again later.",
    ),
    Setting("tags", LABEL, _ALERT.tags, "Added to the alerts sent this way.", shape="map"),
)

PROTECT: Tuple[Setting, ...] = (
    Setting("name", TEXT, REQUIRED, "What depends on the clock.", example="payout-lock"),
    Setting(
        "margin",
        bounded(DURATION, 0.001, 366 * DAY),
        REQUIRED,
        "How far the clock may be off before it breaks.",
        example="20m",
    ),
)
