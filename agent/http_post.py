"""Owns one HTTP POST that ends on time, whatever the other side does.

The total deadline covers the look-up of the name, connecting, TLS, sending, and an answer that
trickles in one byte a second. Redirects are not followed, proxies of the environment are not used,
of the answer only the beginning is read, and nothing said about it holds a secret.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import io
import socket
import ssl
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Tuple, Union
from urllib.parse import urlsplit

from agent import __version__, clock
from agent.core import http_answer, wording
from agent.core.http_answer import Reply
from agent.resolve import Address, resolve

#: Bytes of an answer that are looked at.
MAX_BODY = 4096
#: As ``agent.resolve.resolve``.
LookUp = Callable[[str, int, float], Union[Tuple[Address, ...], str]]
_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_CLOCK_TROUBLE: Mapping[int, str] = {
    9: "its certificate is not yet valid: so it looks when this host's clock is behind",
    10: "its certificate has expired, or this host's clock is ahead",
}
_NAME_TROUBLE = (62, 64)


class Request(NamedTuple):
    """What to send where."""

    #: http:// or https://, without user and password.
    url: str
    body: bytes
    headers: Mapping[str, str] = {}
    #: Certificates to trust (PEM); None trusts those of the system.
    ca_file: Optional[str] = None
    #: Texts that must not be repeated when the answer holds them.
    secrets: Sequence[str] = ()


def post(request: Request, timeout: float, look_up: LookUp = resolve) -> Union[Reply, str]:
    """Send ``request`` within ``timeout`` seconds, everything included. Never raises.

    Returns the answer, or one sentence that says why there is none.
    """
    try:
        attempt = _Attempt(request, clock.monotonic() + timeout, look_up)
    except (ValueError, KeyError):
        return "its URL cannot be used"
    try:
        return attempt.run()
    except (TimeoutError, socket.timeout):  # two classes until Python 3.10
        return f"{attempt.where} gave no answer within {timeout:g} s (while {attempt.doing})"
    except ssl.SSLCertVerificationError as error:
        return f"{attempt.where} is not trusted: {_distrust(error, attempt.host)}"
    except ssl.SSLError as error:
        what = wording.plain(error.reason or "broken", 60).lower().replace("_", " ")
        return f"{attempt.where} does not speak TLS ({what})"
    except (ConnectionResetError, BrokenPipeError):
        return f"{attempt.where} closed the connection without an answer"
    except (http.client.HTTPException, ValueError):  # ValueError: numbers that are none
        return f"{attempt.where} does not answer in HTTP"
    except OSError as error:
        return f"{attempt.where}: {error.strerror or error} (while {attempt.doing})"
    finally:
        attempt.close()


class _Attempt:
    """One request under way, and what it is doing at the moment."""

    def __init__(self, request: Request, deadline: float, look_up: LookUp) -> None:
        parts = urlsplit(request.url)
        self._request = request
        self._deadline = deadline
        self._look_up = look_up
        self._tls = parts.scheme == "https"
        self._netloc = parts.netloc
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._port = parts.port or _PORTS[parts.scheme]
        self._socket: Optional[socket.socket] = None
        self.host = parts.hostname or ""
        #: For messages: the path of a URL is a secret with many chat services.
        self.where = f"{parts.scheme}://{parts.netloc}"
        self.doing = "looking up the name"

    def run(self) -> Union[Reply, str]:
        """The whole exchange. Raises OSError, ssl.SSLError, HTTPException, ValueError."""
        context = self._context()
        addresses = self._look_up(self.host, self._port, self._deadline)
        if isinstance(addresses, str):
            return f"{self.where}: the name cannot be resolved: {addresses}"
        self.doing = "connecting"
        self._socket = self._connect(addresses)
        if context is not None:
            self.doing = "beginning TLS"
            self._socket.settimeout(self._left())
            self._socket = context.wrap_socket(self._socket, server_hostname=self.host)
        self.doing = "sending"
        connection = http.client.HTTPConnection(self.host, self._port)
        connection.sock = _TimedSocket(self._socket, self._left)
        connection.request("POST", self._target, self._request.body, self._headers())
        self.doing = "waiting for its answer"
        answer = connection.getresponse()
        return Reply(
            where=self.where,
            status=answer.status,
            text=self._excerpt(answer),
            headers={name.lower(): value for name, value in answer.getheaders()},
        )

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()

    def _left(self) -> float:
        left = self._deadline - clock.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _context(self) -> Optional[ssl.SSLContext]:
        if not self._tls:
            return None
        self.doing = f"reading {self._request.ca_file or 'the certificates of the system'}"
        try:
            context = ssl.create_default_context(cafile=self._request.ca_file)
        except ssl.SSLError:
            raise OSError(errno.EINVAL, "no certificates could be read") from None
        # Python 3.13 refuses private authorities that all versions before it have trusted: an
        # upgrade of the image must not be what stops the alerts
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context

    def _connect(self, addresses: Sequence[Address]) -> socket.socket:
        """Connect to the first address that answers, each with its share of the time left."""
        trouble = OSError("it has no address")
        for number, address in enumerate(addresses):
            opened = socket.socket(address.family, socket.SOCK_STREAM)
            try:
                opened.settimeout(self._left() / (len(addresses) - number))
                opened.connect(address.sockaddr)
            except OSError as error:
                opened.close()
                trouble = error
            else:
                return opened
        raise trouble

    def _headers(self) -> Mapping[str, str]:
        return {
            "Host": self._netloc,
            "User-Agent": f"clock-agent/{__version__}",
            "Content-Type": "application/json",
            "Connection": "close",
            **self._request.headers,
        }

    def _excerpt(self, answer: http.client.HTTPResponse) -> str:
        """The beginning of what came with a refusal; a success needs no waiting for its text."""
        if http_answer.is_success(answer.status):
            return ""
        body = b""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            body = answer.read(MAX_BODY)
        text = body.decode("utf-8", "replace")
        path, _, query = self._target.partition("?")
        # the longest first: the parts are hidden where the whole does not stand
        for secret in (*self._request.secrets, self._target, path, query):
            if len(secret) > 1:
                text = text.replace(secret, "***")
        return text


class _TimedSocket:
    """What ``http.client`` takes for a socket: each operation ends at the one deadline."""

    def __init__(self, raw: socket.socket, left: Callable[[], float]) -> None:
        self._raw = raw
        self._left = left

    def sendall(self, content: Any) -> None:  # Any: whatever has the buffer interface
        """Send all of it, or raise at the deadline."""
        rest = memoryview(content)
        while rest:
            self._raw.settimeout(self._left())
            rest = rest[self._raw.send(rest) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        """The answer as a file."""
        return io.BufferedReader(_TimedReader(self._raw, self._left))

    def close(self) -> None:
        """The attempt that opened the socket closes it."""


class _TimedReader(io.RawIOBase):
    """Reads from a socket until the deadline, however little comes at a time."""

    def __init__(self, raw: socket.socket, left: Callable[[], float]) -> None:
        self._raw = raw
        self._left = left

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:  # Any: whatever has the buffer interface
        """Read what is there, waiting no longer than until the deadline."""
        self._raw.settimeout(self._left())
        return self._raw.recv_into(buffer)


def _distrust(error: ssl.SSLCertVerificationError, host: str) -> str:
    if error.verify_code in _NAME_TROUBLE:
        return f"its certificate is for another name than {host}"
    if error.verify_code in _CLOCK_TROUBLE:
        return f"{_CLOCK_TROUBLE[error.verify_code]} (it says {wording.utc(clock.wall())})"
    return wording.plain(error.verify_message or "its certificate cannot be verified", 100)
