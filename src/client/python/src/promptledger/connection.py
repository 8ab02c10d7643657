"""Sends requests over http.client: one kept-alive connection for each thread."""

from __future__ import annotations

# Python imports codecs when they are first used. An import that another thread has begun never ends in a process that is forked
# meanwhile, so nothing is imported later.
import encodings.idna  # noqa: F401
import encodings.utf_8_sig  # noqa: F401
import encodings.utf_16_le  # noqa: F401
import http.client
import os
import select
import socket
import threading
import time
from functools import partial
from typing import Callable, Dict, Mapping, Optional
from urllib.parse import urlsplit

from .limits import MAX_RESPONSE_BYTES
from .proxy import find_proxy

try:
    import ssl
except ImportError:
    # Some builds of Python have none.
    pass


class Request:
    """A request as a transport gets it."""

    def __init__(
        self, method: str, url: str, headers: Dict[str, str], body: Optional[bytes], timeout_seconds: float
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        #: The client does not wait longer for the response.
        self.timeout_seconds = timeout_seconds
        self.is_abandoned = False
        self._on_abandon: Optional[Callable[[], None]] = None

    def on_abandon(self, call: Callable[[], None]) -> None:
        """What a transport does once the client no longer waits for the response, which happens on another thread."""
        self._on_abandon = call
        if self.is_abandoned:
            call()

    def abandon(self) -> None:
        self.is_abandoned = True
        if self._on_abandon is not None:
            self._on_abandon()


class Response:
    """A response as a transport gives it."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body


#: Sends a request, on a thread of the client, and raises if there is no response.
Transport = Callable[[Request], Response]


class _Kept:
    """The connection of a thread, which is closed when the thread ends."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection: Optional[http.client.HTTPConnection] = connection

    def take(self) -> Optional[http.client.HTTPConnection]:
        connection, self.connection = self.connection, None
        return connection

    def __del__(self) -> None:
        if self.connection is not None:
            self.connection.close()


class _Gone(Exception):
    """The service has closed a connection that was kept alive."""


class HttpTransport:
    """Keeps one connection per thread, and follows no redirect: that could send the key in plain text."""

    def __init__(self, url: str, proxy: Optional[str] = None, ca_bundle: Optional[str] = None) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._is_tls = parts.scheme.lower() == "https"
        self._port = parts.port or (443 if self._is_tls else 80)
        self._proxy = find_proxy(url, proxy)
        self._ca_bundle = ca_bundle
        # A proxy for plain requests gets the whole URL.
        is_whole = self._proxy is not None and not self._is_tls
        self._start = "" if is_whole else f"{parts.scheme}://{parts.netloc}"
        self._headers = self._proxy.headers if self._proxy is not None and is_whole else {}
        self._threads = threading.local()

    def __call__(self, request: Request) -> Response:
        deadline = time.monotonic() + request.timeout_seconds
        known: Optional[_Kept] = getattr(self._threads, "kept", None)
        kept = known.take() if known is not None else None
        if kept is not None and kept.sock is not None:
            if not _is_readable(kept.sock):
                try:
                    return self._exchange(kept, request, deadline, True)
                except _Gone:
                    # Each request can be sent again: a submit has its key.
                    pass
            kept.close()
        return self._exchange(self._connect(), request, deadline, False)

    def _connect(self) -> http.client.HTTPConnection:
        proxy = self._proxy
        host, port = (self._host, self._port) if proxy is None else (proxy.host, proxy.port)
        if not self._is_tls:
            return http.client.HTTPConnection(host, port)
        connection = http.client.HTTPSConnection(host, port, context=self._trust())
        if proxy is not None:
            connection.set_tunnel(self._host, self._port, proxy.headers)
        return connection

    def _trust(self) -> ssl.SSLContext:
        path = self._ca_bundle or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
        if not path:
            # SSL_CERT_FILE, SSL_CERT_DIR or the system name the certificates.
            return ssl.create_default_context()
        try:
            if os.path.isdir(path):
                return ssl.create_default_context(capath=path)
            return ssl.create_default_context(cafile=path)
        except OSError as error:
            raise OSError(f"Cannot read the certificates in {path}: {error}") from error

    def _exchange(
        self, connection: http.client.HTTPConnection, request: Request, deadline: float, is_kept: bool
    ) -> Response:
        keeps = False
        try:
            left = deadline - time.monotonic()
            if left <= 0 or request.is_abandoned:
                raise TimeoutError("timed out")
            connection.timeout = left
            if connection.sock is None:
                connection.connect()
            sock = connection.sock
            assert sock is not None
            sock.settimeout(left)
            request.on_abandon(partial(_shut, sock))
            try:
                path = request.url[len(self._start) :]
                connection.request(request.method, path, request.body, {**request.headers, **self._headers})
                response = connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
                if is_kept and not request.is_abandoned:
                    raise _Gone from error
                raise
            body = response.read(MAX_RESPONSE_BYTES + 1)
            if len(body) > MAX_RESPONSE_BYTES:
                body = b""
            elif response.status >= 200 and response.isclosed() and not response.will_close:
                # After an informational response comes another, which would be taken for that of the next request.
                keeps = True
            return Response(response.status, dict(response.headers.items()), body)
        finally:
            request.on_abandon(_nothing)
            if keeps:
                self._threads.kept = _Kept(connection)
            else:
                connection.close()


def _nothing() -> None:
    pass


def _is_readable(sock: socket.socket) -> bool:
    """Whether a connection that is kept has been closed by the other side, which nothing else makes readable."""
    try:
        if hasattr(select, "poll"):
            # select takes no descriptors beyond 1,024.
            poll = select.poll()
            poll.register(sock, select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _shut(sock: socket.socket) -> None:
    """Ends what another thread waits for."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
