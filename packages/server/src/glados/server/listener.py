"""The socket that the daemon listens on; every way in which it cannot be had is one sentence."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket

from glados.core import ConfigurationError

BACKLOG = 512
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


def bind(host: str, port: int, *, has_token: bool) -> socket.socket:
    """A listening socket; an address that others can reach needs a token that was chosen on purpose."""
    family, address = _resolve(host, port)
    if not has_token and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise ConfigurationError(
            f"{host} can be reached from other machines: set SERVER_TOKEN, or listen on 127.0.0.1.", host=host
        )
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let two programs share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise ConfigurationError(_told(host, port, error), host=host, port=port) from None
    return listener


def url_of(host: str, port: int) -> str:
    """Where a client on this machine finds the server."""
    host = WILDCARDS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str | int | bytes, ...]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ConfigurationError(_not_ours(host), host=host) from None
    family, _, _, _, address = found[0]
    return family, address


def _told(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is taken: stop the other program or set SERVER_PORT (or --port)."
    if error.errno == errno.EACCES:
        return f"Port {port} on {host} is not for this user: set SERVER_PORT (or --port) to one above 1023."
    if error.errno == errno.EADDRNOTAVAIL:
        return _not_ours(host)
    return f"Port {port} on {host} cannot be opened ({error.strerror}): set SERVER_HOST and SERVER_PORT."


def _not_ours(host: str) -> str:
    return f"{host!r} is no address of this machine: set SERVER_HOST (or --host), 127.0.0.1 is always there."
