"""Owns every reason why a Redis server gives no usable time: its word, its sentence, its remedy."""

from __future__ import annotations

from agent.core.model import Miss
from agent.core.redis_url import HostPort, RedisUrl, cli, shown_url
from agent.core.resp import ErrorReply
from agent.core.settings import ReferenceSettings
from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.core.wording import shell_word

if TYPE_CHECKING:
    from typing import Mapping, Optional, Tuple


class Cause(NamedTuple):
    """A sentence and its remedies, as templates over the fields that ``miss`` fills in."""

    what: str
    advice: Tuple[str, ...]


#: Cause word -> what people read. Fields: where (the server), seen (what exactly happened), host,
#: cli (the redis-cli command for it, admin_cli without the configured login), user, as_user
#: (" of user x" or ""), path, service; user_word and path_word are fit for a shell.
CAUSES: Mapping[str, Cause] = {
    # getting there
    "bad-url": Cause(
        "the url of this reference cannot be used: {seen}",
        ("clock-agent config check",),
    ),
    "name": Cause(
        "the name {host} cannot be looked up: {seen}",
        ("getent ahosts {host}", "Check the host in the reference's url, and /etc/resolv.conf."),
    ),
    "refused": Cause(
        "{where} refused the connection",
        (
            "{cli} TIME",
            "See whether Redis runs there, and listens on this address (bind) and port.",
        ),
    ),
    "unreachable": Cause(
        "{where} cannot be reached: {seen}",
        ("ip route get {host}", "Check the network and the host in the reference's url."),
    ),
    "no-access": Cause(
        "this program may not connect to {where}: {seen}",
        (
            "systemctl show -p IPAddressDeny -p RestrictAddressFamilies clock-agent",
            "Look for a rule of the local firewall: nft list ruleset",
        ),
    ),
    "no-such-file": Cause(
        "there is no socket file {path}",
        ("See whether Redis runs, and its unixsocket setting: grep unixsocket /etc/redis/*.conf",),
    ),
    "socket-file": Cause(
        "the socket file {path} cannot be used: {seen}",
        (
            "ls -l {path_word}",
            "Add clock-agent's user to the group that may write to it (unixsocketperm 770).",
        ),
    ),
    "timeout": Cause(
        "{where} gave no answer in time: {seen}",
        (
            "{cli} TIME",
            "A firewall that drops packets looks like this, and so does a stopped Redis.",
            "If it is only far away, raise the reference's timeout.",
        ),
    ),
    "closed": Cause(
        "{where} closed the connection {seen}",
        (
            "{cli} TIME",
            "Look into Redis's log, and at proxies or firewalls on the way.",
            "If it is a port with TLS, write rediss:// in the reference's url.",
        ),
    ),
    # TLS
    "tls": Cause(
        "TLS with {where} failed: {seen}",
        ("{cli} TIME", "Check ca_file, cert_file, key_file and server_name of the reference."),
    ),
    "tls-not-yet-valid": Cause(
        "the certificate of {where} is not valid yet by this host's clock, which {seen}",
        (
            "This clock may be far behind. Compare it with another one: date -u",
            "If the clock is right, the certificate was issued for a later start.",
        ),
    ),
    "tls-expired": Cause(
        "the certificate of {where} has expired by this host's clock, which {seen}",
        (
            "This clock may be far ahead. Compare it with another one: date -u",
            "If the clock is right, renew the certificate.",
        ),
    ),
    "tls-name": Cause(
        "the certificate of {where} is for another name: {seen}",
        ("Set the reference's server_name to a name that the certificate carries.",),
    ),
    "tls-untrusted": Cause(
        "the certificate of {where} is signed by nobody this host trusts: {seen}",
        ("Set the reference's ca_file to the certificate of the authority that signed it.",),
    ),
    "tls-mismatch": Cause(
        "{where} and the url disagree about TLS: {seen}",
        ("Use rediss:// for a port with TLS and redis:// for one without.",),
    ),
    "tls-client": Cause(
        "{where} wants a client certificate: {seen}",
        ("Set the reference's cert_file and key_file to a certificate that the server accepts.",),
    ),
    "tls-file": Cause(
        "a file for TLS cannot be used: {seen}",
        ("Check the paths, owners and contents of ca_file, cert_file and key_file.",),
    ),
    # logging in
    "password-file": Cause(
        "the password file cannot be used: {seen}",
        ("Its first line must be the password, and clock-agent's user must be able to read it.",),
    ),
    "auth-refused": Cause(
        "{where} refused the authentication{as_user}: wrong password, or no such user",
        (
            "Compare the configured user and password with the server's: {cli} TIME",
            "{cli} ACL LIST",
        ),
    ),
    "auth-missing": Cause(
        "{where} asks for authentication, and no password is configured",
        ("Set the reference's password_file, or a user and a password in its url.",),
    ),
    "auth-unset": Cause(
        "a password is configured, but {where} has none set for its default user",
        ("Remove the password from the reference, or set one there (requirepass).",),
    ),
    "auth-users": Cause(
        "{where} does not know the authentication of users: it is older than Redis 6, or a proxy",
        ("Leave the user out of the reference's url: redis://:PASSWORD@host",),
    ),
    "auth-error": Cause(
        "{where} answered the authentication with an error of the kind {seen}",
        ("{cli} TIME", "Point the reference at Redis itself if this is a proxy."),
    ),
    "no-permission": Cause(
        "the user '{user}' has no permission to run TIME on {where} (its ACL lacks +time)",
        ("{admin_cli} ACL SETUSER {user_word} +time", "Make it last: {admin_cli} ACL SAVE"),
    ),
    # answers
    "loading": Cause(
        "{where} is still loading its data",
        ("Wait: it answers when it is done ({cli} INFO persistence).",),
    ),
    "busy": Cause(
        "{where} is busy with a script",
        ("{cli} SCRIPT KILL ends a script that only reads.",),
    ),
    "server-full": Cause(
        "{where} is full: it has as many clients as it allows",
        (
            "{cli} CLIENT LIST shows who they are",
            "Raise maxclients, or find who leaks connections.",
        ),
    ),
    "protected": Cause(
        "{where} is in protected mode and answers its own host only",
        ("Set a password for its default user (requirepass), or its bind and protected-mode.",),
    ),
    "not-redis": Cause(
        "{where} does not speak Redis's protocol: {seen}",
        ("Check the port in the reference's url.",),
    ),
    "no-time": Cause(
        "{where} does not serve TIME, it answered {seen}",
        ("Point the reference at Redis itself: proxies often know only some commands.",),
    ),
    "absurd": Cause(
        "{where} answered TIME with what is no time: {seen}",
        ("{cli} TIME", "Point the reference at Redis itself if this is a proxy."),
    ),
    "clock-stepped": Cause(
        "this host's clock was stepped, or the host paused, during each exchange with {where}",
        ("See who sets the clock: journalctl -t chronyd -t systemd-timesyncd --since -1h",),
    ),
    "unsteady": Cause(
        "between two answers of {where} its clock or this one jumped, or the answers are not fresh",
        (
            "{cli} TIME",
            "See who sets the clock: journalctl -t chronyd -t systemd-timesyncd --since -1h",
            "Point the reference at Redis itself if this is a proxy: it may answer from a cache.",
        ),
    ),
    # Sentinel
    "no-master": Cause(
        "{where} knows no master called '{service}'",
        ("{cli} SENTINEL MASTERS", "Check the name at the end of the reference's url."),
    ),
    "not-sentinel": Cause(
        "{where} does not answer like one: {seen}",
        ("Check the port (Sentinels use 26379), or use redis:// for Redis itself.",),
    ),
}

#: What the text of an error reply tells, the first match wins. Texts of Redis 2.8 to 8, Valkey and
#: Sentinel; lower case, since proxies change it.
_ERRORS: Tuple[Tuple[bytes, str], ...] = (
    (b"noauth", "auth-missing"),
    (b"operation not permitted", "auth-missing"),
    (b"wrongpass", "auth-refused"),
    (b"invalid password", "auth-refused"),
    (b"without any password configured", "auth-unset"),
    (b"no password is set", "auth-unset"),
    (b"wrong number of arguments for 'auth'", "auth-users"),
    (b"noperm", "no-permission"),
    (b"loading", "loading"),
    (b"busy", "busy"),
    (b"max number of clients", "server-full"),
    (b"protected mode", "protected"),
    (b"idontknow", "no-master"),
)


def error_cause(reply: ErrorReply, otherwise: str) -> str:
    """The cause an error reply stands for; ``otherwise`` when it is none of the known ones."""
    text = reply.text.lower()
    return next((cause for part, cause in _ERRORS if part in text), otherwise)


def error_kind(reply: ErrorReply) -> str:
    """The first word of an error, ``ERR`` for one: all that is safe to quote of an answer to AUTH,
    for some servers repeat the arguments of a command they do not know."""
    word = reply.text.split(b" ", 1)[0]
    return word.decode() if word.isalpha() and word.isupper() and len(word) <= 20 else "unknown"


def miss(
    settings: ReferenceSettings,
    url: Optional[RedisUrl],
    cause: str,
    seen: str = "",
    *,
    where: str = "",
    server: Optional[HostPort] = None,
) -> Miss:
    """The miss for one cause; ``url`` is None when the configured one cannot be read.

    ``where`` and ``server`` say which server it was, when it is not the one the URL names (a
    Sentinel, or the master it pointed to). ``seen`` must be free of secrets already.
    """
    url = url or RedisUrl(scheme="")
    server = server or (url.servers[0] if url.servers else None)
    fields = {
        "where": where or f"Redis at {url.where}",
        "seen": seen,
        "host": server.host if server else "",
        "cli": cli(url, server, settings.ca_file),
        "admin_cli": cli(url._replace(user="", password=None), server, settings.ca_file),
        "user": url.user or "default",
        "user_word": shell_word(url.user or "default"),
        "as_user": f" of user '{url.user}'" if url.user else "",
        "path": url.path,
        "path_word": shell_word(url.path),
        "service": url.service,
    }
    entry = CAUSES[cause]
    return Miss(
        source=settings.name,
        cause=cause,
        what=entry.what.format_map(fields),
        advice=tuple(line.format_map(fields) for line in entry.advice),
        detail={"url": shown_url(settings.url)},
    )
