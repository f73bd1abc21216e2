"""Owns what the settings shared by all HTTP sinks mean: url, headers, token, signature, CA."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

from agent.core.http_answer import Reply
from agent.http_post import LookUp, Request, post
from agent.secret_file import read_secret

SIGNATURE = "X-Clock-Agent-Signature"


class Receiver:
    """One configured receiver. Secrets are read at each message and not kept."""

    def __init__(self, options: Mapping[str, Any], look_up: LookUp) -> None:
        """``options`` are those of the sink; what its type does not have is left out."""
        self._options = options
        self._look_up = look_up

    def post(
        self,
        body: bytes,
        timeout: float,
        *,
        path: str = "",
        headers: Mapping[str, str] = {},
        secrets: Sequence[str] = (),
    ) -> Union[Reply, str]:
        """Send ``body`` to the URL, extended by ``path``; as ``http_post.post``."""
        try:
            own, hidden = self._headers(body)
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
        url = self._options["url"]
        request = Request(
            url=url.rstrip("/") + path if path else url,
            body=body,
            headers={**own, **headers},
            ca_file=self._options.get("ca_file"),
            secrets=(*hidden, *secrets),
        )
        return post(request, timeout, self._look_up)

    def _headers(self, body: bytes) -> Tuple[Dict[str, str], List[str]]:
        """The configured headers, and what must not be repeated. Raises OSError."""
        headers: Dict[str, str] = dict(self._options.get("headers") or {})
        hidden = list(headers.values())
        if self._options.get("token_file"):
            token = read_secret(self._options["token_file"])
            headers["Authorization"] = f"Bearer {token}"
            hidden.append(token)
        if self._options.get("secret_file"):
            key = read_secret(self._options["secret_file"])
            digest = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
            headers[SIGNATURE] = f"sha256={digest}"
            hidden.append(key)
        return headers, hidden
