"""Proxies and certificates: as options name them, or the environment as curl and requests read it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import os
import select
import socket
import threading
import unittest
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional
from unittest import mock
from urllib.parse import urlsplit

from server import Server, reference
from promptledger import AsyncClient, Client, PromptLedgerError, UnavailableError
from promptledger.proxy import find_proxy, is_excepted

folder = Path(__file__).parent
authority = str(folder / "authority.pem")
fallback = {"messages": [{"role": "user", "content": "Hello"}]}
body = {"deployId": reference, "sessionId": "1", "status": 1, "content": {"output": "x"}}


class ProxyServer:
    """A proxy that leads to a port of this machine, whatever name is asked for."""

    def __init__(self, port: int, credentials: Optional[str] = None, refusal: Optional[bytes] = None) -> None:
        self.lines: List[str] = []
        self._port, self._refusal = port, refusal
        self._expected = credentials and f"Basic {base64.b64encode(credentials.encode()).decode()}"
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as incoming, contextlib.suppress(OSError):
            while True:
                line = incoming.readline().decode().rstrip("\r\n")
                if not line:
                    return
                headers = dict(http.client.parse_headers(incoming).items())
                data = incoming.read(int(headers.get("Content-Length", "0")))
                self.lines.append(line)
                method, target, _ = line.split(" ")
                if self._refusal is not None:
                    client.sendall(self._refusal)
                    return
                if headers.pop("Proxy-Authorization", None) != self._expected:
                    client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                elif method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    with socket.create_connection(("127.0.0.1", self._port)) as server:
                        self._join(client, server)
                    return
                else:
                    client.sendall(self._pass_on(method, target, headers, data))

    def _pass_on(self, method: str, target: str, headers: Dict[str, str], data: bytes) -> bytes:
        parts = urlsplit(target)
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request(method, f"{parts.path}?{parts.query}", data, headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return f"HTTP/1.1 {response.status} \r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    def _join(self, one: socket.socket, other: socket.socket) -> None:
        while True:
            for ready in select.select([one, other], [], [], 60)[0]:
                data = ready.recv(65_536)
                if not data:
                    return
                (other if ready is one else one).sendall(data)

    def close(self) -> None:
        self._socket.close()


class Proxies(unittest.TestCase):
    def setUp(self) -> None:
        names = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "requests_ca_bundle", "curl_ca_bundle", "ssl_cert_file")
        clean = {name: value for name, value in os.environ.items() if name.lower() not in names}
        self.enterContext(mock.patch.dict(os.environ, clean, clear=True))

    def enterContext(self, context: Any) -> Any:  # Python 3.11 has it
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def serve(self, is_tls: bool = False) -> Server:
        server = Server(str(folder / "server.pem") if is_tls else None)
        self.addCleanup(server.close)
        return server

    def proxy(self, server: Server, **options: Any) -> ProxyServer:
        proxy = ProxyServer(server.port, **options)
        self.addCleanup(proxy.close)
        return proxy

    @contextlib.contextmanager
    def environment(self, **variables: str) -> Iterator[None]:
        with mock.patch.dict(os.environ, variables):
            yield

    def use(self, **options: Any) -> Dict[str, int]:
        """Reads a prompt and stores a record. Gives what was stored."""
        client = Client(api_key="pl_key", retries=0, **options)
        try:
            self.assertEqual(client.prompt(reference).source, "server")
            client.record(body)
            return client.close()._asdict()
        finally:
            client.close(timeout_seconds=0)

    def failure(self, **options: Any) -> str:
        client = Client(api_key="pl_key", retries=0, **options)
        try:
            with self.assertRaises(UnavailableError) as caught:
                client.prompt(reference)
            self.assertEqual(client.prompt(reference, fallback=fallback).source, "fallback")
            return str(caught.exception)
        finally:
            client.close(timeout_seconds=0)

    def test_plain_requests_pass_the_proxy_of_the_environment_with_their_whole_url(self) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            server = self.serve()
            proxy = self.proxy(server)
            with self.environment(**{name: f"http://{proxy.address}", "HTTPS_PROXY": "http://127.0.0.1:9"}):
                self.assertEqual(self.use(url="http://ledger.example.com")["sent"], 1)
            self.assertEqual(proxy.lines[0].split("?")[0], "GET http://ledger.example.com/v1/prompts")
            self.assertIn("POST http://ledger.example.com/v1/diagnoses HTTP/1.1", proxy.lines)
            self.assertEqual(set(server.hosts), {"ledger.example.com"})

    def test_requests_over_tls_pass_it_in_a_tunnel(self) -> None:
        server = self.serve(True)
        proxy = self.proxy(server)
        with self.environment(HTTPS_PROXY=proxy.address, HTTP_PROXY="http://127.0.0.1:9", REQUESTS_CA_BUNDLE=authority):
            self.assertEqual(self.use(url="https://ledger.example.com:8443/base")["sent"], 1)
        self.assertEqual({line.rpartition(" ")[0] for line in proxy.lines}, {"CONNECT ledger.example.com:8443"})
        self.assertEqual(set(server.hosts), {"ledger.example.com:8443"})
        # One tunnel serves the requests of a thread.
        self.assertLess(len(proxy.lines), len(server.requests) + 1)

    def test_the_client_for_asyncio_passes_it_too(self) -> None:
        server = self.serve()
        proxy = self.proxy(server)

        async def ask() -> str:
            async with AsyncClient(url="http://ledger.example.com", api_key="pl_key") as client:
                return (await client.prompt(reference)).source

        with self.environment(HTTP_PROXY=f"http://{proxy.address}/"):
            self.assertEqual(asyncio.run(ask()), "server")
        self.assertEqual(len(proxy.lines), 1)

    def test_a_proxy_gets_the_user_and_the_password_of_its_url_and_the_service_does_not(self) -> None:
        for is_tls in (False, True):
            server = self.serve(is_tls)
            proxy = self.proxy(server, credentials="ada:p@ss wörd")
            url = f"http{'s' if is_tls else ''}://ledger.example.com"
            known = f"http://ada:p%40ss%20w%C3%B6rd@{proxy.address}"
            self.assertEqual(self.use(url=url, proxy=known, ca_bundle=authority)["sent"], 1)
            message = self.failure(url=url, proxy=f"http://ada:wrong@{proxy.address}", ca_bundle=authority)
            self.assertIn("407", message)
            self.assertNotIn("wrong", message)

    def test_the_option_comes_before_the_environment(self) -> None:
        server = self.serve()
        proxy = self.proxy(server)
        with self.environment(HTTP_PROXY="http://127.0.0.1:9", NO_PROXY="*"):
            self.use(url="http://ledger.example.com", proxy=f"http://{proxy.address}")
        with self.environment(HTTP_PROXY="http://127.0.0.1:9"):
            self.use(url=server.url, proxy="")
            with self.environment(NO_PROXY="localhost, 127.0.0.0/8"):
                self.use(url=server.url)
            with self.environment(http_proxy=""):
                self.use(url=server.url)
            self.assertIn("Cannot reach", self.failure(url=server.url))
            # What is behind a web server could be sent to any proxy by a header of a request.
            with self.environment(REQUEST_METHOD="GET"):
                self.use(url=server.url)

    def test_a_proxy_that_refuses_or_is_none_is_a_service_that_is_away(self) -> None:
        server = self.serve(True)
        for refusal in (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", b"SSH-2.0\r\n", b""):
            proxy = self.proxy(server, refusal=refusal)
            for url in ("https://ledger.example.com", "http://ledger.example.com"):
                self.failure(url=url, proxy=f"http://{proxy.address}", ca_bundle=authority)

    def test_a_proxy_that_cannot_be_used_is_told_at_once_without_its_password(self) -> None:
        for url in ("socks5://ada:secret@127.0.0.1:1080", "http://ada:secret@:80", "http://ada:secret@a:b", "https://ada:secret@b"):
            with self.assertRaisesRegex(PromptLedgerError, "^proxy must be http://HOST:PORT") as caught:
                Client(url="http://ledger.example.com", api_key="pl_key", proxy=url)
            self.assertNotIn("secret", str(caught.exception))
        with self.environment(ALL_PROXY="socks5h://127.0.0.1:1080"):
            with self.assertRaisesRegex(PromptLedgerError, "^ALL_PROXY must be"):
                Client(url="http://ledger.example.com", api_key="pl_key")
            # These do not pass it.
            Client(url="http://ledger.example.com", api_key="pl_key", transport=lambda _: None)  # type: ignore[arg-type,return-value]
            Client(url="http://ledger.example.com", api_key="pl_key", proxy="")

    def test_certificates_are_those_of_the_option_or_the_environment(self) -> None:
        server = self.serve(True)
        self.assertIn("CERTIFICATE_VERIFY_FAILED", self.failure(url=server.url))
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            with self.environment(**{name: authority}):
                self.use(url=server.url)
        with self.environment(REQUESTS_CA_BUNDLE=str(folder / "missing.pem"), CURL_CA_BUNDLE=authority):
            self.assertRegex(self.failure(url=server.url), "Cannot read the certificates in .*missing.pem")
            self.use(url=server.url, ca_bundle=Path(authority))
        # The folder has no certificate by the name of its hash.
        self.assertIn("CERTIFICATE_VERIFY_FAILED", self.failure(url=server.url, ca_bundle=str(folder)))
        # It is for another name.
        proxy = f"http://{self.proxy(server).address}"
        message = self.failure(url="https://another.example.com", proxy=proxy, ca_bundle=authority)
        self.assertIn("CERTIFICATE_VERIFY_FAILED", message)

    def test_no_proxy_lists_names_domains_addresses_ranges_and_ports(self) -> None:
        cases = {
            "example.com": {"example.com": True, "a.example.com": True, "EXAMPLE.com.": True, "notexample.com": False, "com": False},
            ".example.com": {"example.com": True, "a.b.example.com": True, "badexample.com": False},
            "*.example.com": {"a.example.com": True, "example.org": False},
            "*": {"example.com": True, "10.0.0.1": True, "[::1]": True},
            "": {"example.com": False},
            " a.test,\tb.test\nc.test ,, ": {"a.test": True, "b.test": True, "c.test": True, "d.test": False},
            "example.com:8080": {"example.com:8080": True, "example.com": False, "a.example.com:8080": True},
            "127.0.0.1": {"127.0.0.1": True, "127.0.0.1:99": True, "127.0.0.11": False, "x.127.0.0.1.test": False},
            "10.0.0.0/8,192.168.1.0/24": {"10.9.8.7": True, "192.168.1.7": True, "192.168.2.7": False, "10.test": False},
            "10.0.0.0/8:80": {"10.9.8.7": True, "10.9.8.7:81": False},
            "::1": {"[::1]": True, "[0:0:0:0:0:0:0:1]": True, "[::2]": False, "0.0.0.1": False},
            "[::1]:8080": {"[::1]:8080": True, "[::1]": False},
            "fd00::/8": {"[fd12::1]": True, "[fe80::1]": False},
            ". *. :80 [ / 1.2.3.4/99": {"example.com": False, "1.2.3.4": False},
        }
        for exceptions, hosts in cases.items():
            for host, expected in hosts.items():
                env = {"HTTP_PROXY": "http://proxy.test:3128", "NO_PROXY": exceptions}
                with self.subTest(exceptions=exceptions, host=host):
                    self.assertEqual(find_proxy(f"http://{host}/base", None, env) is None, expected)
        self.assertTrue(is_excepted("example.com", 443, "example.com:443"))
        self.assertIsNone(find_proxy("https://a.test", None, {"https_proxy": "proxy.test", "no_proxy": "a.test:443"}))
        self.assertEqual(find_proxy("https://a.test", None, {"https_proxy": "proxy.test", "no_proxy": "a.test:80"}), ("proxy.test", 80, {}))


if __name__ == "__main__":
    unittest.main()
