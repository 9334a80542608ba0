"""The web server behind a page: on this computer only by default, for its own page only, quiet."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from linkwork.core.checks import shown
from linkwork.core.messages.extras import needed
from linkwork.errors import LinkworkError

LOCAL = "127.0.0.1"
PORT = 8080  # the first one tried
HERE = ("127.0.0.1", "localhost", "[::1]", "::1")
_opening = threading.Lock()


def viser_library() -> Any:
    """viser, or an error that says what to install."""
    return needed("viser", "the viewer needs viser; install it with: pip install '.[viewer]'")


def open_server(host: str = LOCAL, port: int = PORT, title: str = "Linkwork") -> Any:
    """A viser server that listens on `host`, at `port` or the next one that is free."""
    viser = viser_library()
    port = _free_port(host, port)
    guard = _Guard(host)
    with _opening, guard, contextlib.redirect_stdout(io.StringIO()):  # viser prints a table of its own
        server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
    if not guard.is_used:
        server.stop()
        raise LinkworkError(
            f"viser {viser.__version__} starts its server in a way that Linkwork does not know, so pages of other sites "
            "could not be kept out. Install another version: pip install 'viser>=1,<2'."
        )
    server.request_share_url = lambda verbose=True: None  # a page may not ask for a tunnel to the outside
    return server


def address(server: Any) -> str:
    host = server.get_host()
    return f"http://{'localhost' if host in ('0.0.0.0', '::') else host}:{server.get_port()}"


def _free_port(host: str, port: int) -> int:
    """The given port or one of the next that is free; viser tries others too, but forever where none can be."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
        raise LinkworkError(f"port is {shown(port)}; it must be a number from 0 (any that is free) to 65535.")
    if not isinstance(host, str):
        raise LinkworkError(f"host is {shown(host)}; it must be a name or address such as '127.0.0.1'.")
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise LinkworkError(
            f"there is no host '{host}' to listen on ({error}); leave it out for this computer."
        ) from None
    refused: OSError | None = None
    for candidate in [port] if port == 0 else range(port, min(port + 100, 65536)):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((place[0], candidate))
                return candidate if candidate else int(probe.getsockname()[1])
            except OSError as error:
                refused = error
    raise LinkworkError(f"no port from {port} on is free at '{host}' ({refused}); choose another with port=.")


class _Guard:
    """Wraps what viser calls to serve, so that requests of foreign pages are refused before anything else gets them."""

    def __init__(self, host: str):
        self._host, self.is_used = host, False
        self._module: Any = None
        self._serve: Callable[..., Any] | None = None

    def __enter__(self) -> None:
        import websockets.asyncio.server as module

        self._module, self._serve = module, module.serve
        module.serve = self._guarded  # type: ignore[assignment,misc]

    def __exit__(self, *error: object) -> None:
        self._module.serve = self._serve

    def _guarded(self, handler: Any, *places: Any, process_request: Any = None, **options: Any) -> Any:
        self.is_used = True

        def checked(connection: Any, request: Any) -> Any:
            if is_foreign(request.headers.get_all("Host"), request.headers.get_all("Origin"), self._host):
                return connection.respond(HTTPStatus.FORBIDDEN, "This viewer serves its own page only.\n")
            return process_request(connection, request) if process_request is not None else None

        assert self._serve is not None
        return self._serve(handler, *places, process_request=checked, **options)


def is_foreign(hosts: list[str], origins: list[str], listens_on: str = LOCAL) -> bool:
    """Whether a request comes from a page of another site, by its headers `Host` and `Origin`.

    The name in `Host` must be one of this computer's where only it is listened to: a site whose name was made to point here
    would show another. A browser always sends the origin of a page that opens a socket; programs need not.
    """
    if len(hosts) != 1 or len(origins) > 1:
        return True
    name = urlsplit(f"//{hosts[0]}").hostname or ""
    if listens_on in HERE and name not in HERE:
        return True
    return bool(origins) and origins[0] not in (f"http://{hosts[0]}", f"https://{hosts[0]}")
