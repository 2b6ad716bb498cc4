"""Serve a session over HTTP: loopback unless there is a token."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path

from steering._checks import whole
from steering.errors import InvalidOption
from steering.session.session import Session

RATE = 2000.0


def serve(
    directory: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token_file: str | None = None,
    rate: float = RATE,
    sync: bool = True,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a session until the process is stopped (Ctrl-C or SIGTERM).

    Parameters
    ----------
    directory
        Of the session, which stays open for writing all the time.
    host, port
        Where to listen; another address than the loopback needs a token. Port 0 takes a free one.
    token_file
        File with a token that every request must carry.
    rate
        Requests a second from one address, at most.
    sync
        Whether an answer waits until the disk holds what it rests on.
    ready
        Called with the address once requests are answered.
    """
    try:
        import uvicorn

        from steering.session.app import Service, read_token
    except ImportError:
        raise InvalidOption("a server needs two more packages: pip install 'steering-rl[lab]'.") from None
    token = read_token(token_file)
    if token is None and not _is_loopback(host):
        raise InvalidOption(f"{host} can be reached from elsewhere; give a token file as well, or use 127.0.0.1.")
    if not rate >= 1:
        raise InvalidOption(f"rate is {rate}; it must be at least 1 request a second.")
    listening = _listen(host, whole("port", port, 0, 65535))
    with listening, Session.open(directory, sync=False, wait=5.0) as session:
        app = Service(session, token, rate, sync=sync).app()
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", timeout_keep_alive=30, limit_concurrency=256
        )  # fmt: skip
        server = uvicorn.Server(config)
        name = f"[{host}]" if ":" in host else host
        if ready is not None:
            ready(f"http://{name}:{listening.getsockname()[1]}")
        server.run(sockets=[listening])


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named asyncio sends answers at once; else each waits 40 ms for more to send.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, UnicodeError) as error:
        listening.close()
        raise InvalidOption(f"cannot listen on {host}:{port} ({error}); give another address or port.") from None
    return listening
