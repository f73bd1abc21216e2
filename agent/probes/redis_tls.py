"""Owns TLS to a Redis server: the context, the handshake, and what its errors mean.

Imported only for rediss:// URLs, because ``ssl`` costs 15 ms and more.
"""

from __future__ import annotations

import _socket
import os
import socket
import ssl
import time
from typing import Dict, Mapping, Optional, Tuple

from agent import clock
from agent.core.redis_url import HostPort
from agent.core.settings import ReferenceSettings
from agent.probes.redis_wire import Trouble, Wire, time_left

#: OpenSSL's verification codes (x509_vfy.h) that have a cause of their own.
_VERIFY_CAUSES: Mapping[int, str] = {
    9: "tls-not-yet-valid",
    10: "tls-expired",
    18: "tls-untrusted",
    19: "tls-untrusted",
    20: "tls-untrusted",
    21: "tls-untrusted",
    62: "tls-name",
    64: "tls-name",
}
#: Parts of OpenSSL's reason names; the first match wins.
_REASON_CAUSES: Tuple[Tuple[str, str, str], ...] = (
    (
        "WRONG_VERSION_NUMBER",
        "tls-mismatch",
        "the port answers in plain text, and the url says TLS",
    ),
    ("CERTIFICATE_REQUIRED", "tls-client", "it refuses a client without one"),
    ("HANDSHAKE_FAILURE", "tls-client", "it ended the handshake, as without one it may"),
    ("ALERT_UNKNOWN_CA", "tls-client", "it does not know who signed the one it was shown"),
    ("ALERT_BAD_CERTIFICATE", "tls-client", "it refuses the one it was shown"),
    ("ALERT_CERTIFICATE_EXPIRED", "tls-client", "the one it was shown has expired by its clock"),
)
#: The files of a context -> what they were when it was made, and the context.
_CONTEXTS: Dict[Tuple[Optional[str], ...], Tuple[Tuple[object, ...], ssl.SSLContext]] = {}
_PLAIN_HINT = "a port without TLS does the same (then use redis://)"


def secure(
    sock: _socket.socket, settings: ReferenceSettings, server: HostPort, deadline: float
) -> Wire:
    """Take ``sock`` through the handshake. Raises Trouble; the socket is then closed."""
    plain = socket.socket(fileno=sock.detach())  # the only class that ``ssl`` can wrap
    try:
        context = _context(settings)
        plain.settimeout(time_left(deadline, "before the TLS handshake"))
        name = settings.server_name or server.host.partition("%")[0]
        return Wire(context.wrap_socket(plain, server_hostname=name), deadline, explain=explain)
    except Trouble:
        plain.close()
        raise
    except (OSError, ValueError) as error:  # ValueError: a server name that cannot be one
        plain.close()
        raise _handshake_trouble(error) from None


def explain(error: OSError) -> Trouble:
    """The trouble behind an error on an encrypted connection."""
    if isinstance(error, ssl.SSLCertVerificationError):
        cause = _VERIFY_CAUSES.get(error.verify_code, "tls")
        if cause in ("tls-not-yet-valid", "tls-expired"):
            now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(clock.wall()))
            return Trouble(cause, f"says {now}")
        return Trouble(cause, error.verify_message)
    if isinstance(error, ssl.SSLError):
        reason = error.reason or str(error)
        for part, cause, seen in _REASON_CAUSES:
            if part in reason:
                return Trouble(cause, seen)
        return Trouble("tls", reason.lower().replace("_", " "))
    return Trouble("tls", os.strerror(error.errno or 0))


def _context(settings: ReferenceSettings) -> ssl.SSLContext:
    """A context that verifies the server; kept until one of its files changes.

    Kept because reading the system's authorities costs 50 ms of CPU time.
    """
    files = (settings.ca_file, settings.cert_file, settings.key_file)
    authorities = settings.ca_file or ssl.get_default_verify_paths().cafile
    stamps = tuple(_stamp(path) for path in (authorities, *files[1:]))
    kept = _CONTEXTS.get(files)
    if kept is None or kept[0] != stamps:
        kept = _CONTEXTS[files] = (stamps, _new_context(settings))
    return kept[1]


def _stamp(path: Optional[str]) -> Optional[Tuple[int, int, int]]:
    """What changes when the file does; None when there is none."""
    try:
        state = os.stat(path or "")
    except (OSError, ValueError):
        return None
    return (state.st_mtime_ns, state.st_ino, state.st_size)


def _new_context(settings: ReferenceSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        raise Trouble("tls-file", f"ca_file {settings.ca_file}: {_file_reason(error)}") from None
    # Strict since Python 3.13 only: it refuses certificates that redis-cli and OpenSSL accept.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if settings.cert_file:
        files = f"cert_file {settings.cert_file}, key_file {settings.key_file or '(none)'}"
        try:
            # An empty passphrase: OpenSSL would otherwise ask for one on the terminal, and wait.
            context.load_cert_chain(settings.cert_file, settings.key_file, password="")
        except OSError as error:
            raise Trouble("tls-file", f"{files}: {_file_reason(error)}") from None
    return context


def _file_reason(error: OSError) -> str:
    """Why a certificate or key cannot be used."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "not a PEM file").lower().replace("_", " ")
    return os.strerror(error.errno or 0)


def _handshake_trouble(error: Exception) -> Trouble:
    """The trouble behind a failed handshake."""
    if isinstance(error, _socket.timeout):
        return Trouble("timeout", f"nothing came during the TLS handshake; {_PLAIN_HINT}")
    ended = isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError))
    if ended:
        return Trouble("tls-mismatch", f"it hung up during the TLS handshake; {_PLAIN_HINT}")
    if isinstance(error, OSError):
        return explain(error)
    return Trouble("tls", str(error))
