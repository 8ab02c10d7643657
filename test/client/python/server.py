"""A small service on a real socket, in the place of promptledger, and applications in processes of their own."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Optional, Tuple

from stage import root

reference = "support/assistant@production"


class Server:
    """Serves one prompt, and keeps what is sent. With a certificate it speaks TLS, in which it is localhost."""

    def __init__(self, certificate: Optional[str] = None) -> None:
        self.requests: List[str] = []
        self.hosts: List[str] = []
        self.connections = 0
        self.records: "Counter[str]" = Counter()
        #: When each record says that its call began, in Unix ms.
        self.started: Dict[str, Any] = {}
        self.version = 1
        self.delay = threading.Event()
        self.is_silent = False
        self.closes_connections = False
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                with server._lock:
                    server.connections += 1

            def log_message(self, *_: object) -> None:
                pass

            def parse_request(self) -> bool:
                is_good = super().parse_request()
                if is_good:
                    server.hosts.append(self.headers["Host"])
                return is_good

            def do_GET(self) -> None:
                self.answer(*server.get(self.path))

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                self.answer(*server.post(self.path, json.loads(self.rfile.read(length)), self.headers))

            def answer(self, status: int, body: object) -> None:
                if server.is_silent:
                    server.delay.wait(60)
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                # Without saying so, as a service that restarts does.
                self.close_connection = server.closes_connections

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                pass

        self._http = Quiet(("127.0.0.1", 0), Handler)
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
            self.url = f"https://localhost:{self.port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def get(self, path: str) -> Tuple[int, object]:
        with self._lock:
            self.requests.append(path.split("?")[0])
        if path.startswith("/v1/revisions"):
            live = {"reference": reference, "revision": self.version, "version": self.version, "isActive": True}
            return 200, {"deployments": {"dep_1": live}}
        return 200, {
            "id": "prompt_1",
            "title": "Support assistant",
            "description": "",
            "messages": [
                {"role": "system", "content": "You answer customers of {{shop}}."},
                {"role": "user", "content": "{{question}}"},
            ],
            "deploy": {"id": "dep_1", "name": "production", "currentVersion": self.version, "isActive": True},
            "workspace": {"id": "ws_1", "name": "My team"},
            "llmConfig": {"model": "gpt-6-luna"},
        }

    def post(self, path: str, body: Dict[str, Any], headers: Any) -> Tuple[int, object]:
        with self._lock:
            self.requests.append(path.split("?")[0])
            if path.startswith("/v1/diagnosis"):
                self.records[body["sessionId"]] += 1
                return 201, {"id": "diag_1", "status": "success", "message": ""}
            for record in body.get("records", []):
                self.records[record["sessionId"]] += 1
                self.started[record["sessionId"]] = record.get("startAt")
            if "feedback" in body:
                return 200, {"results": [{"status": 200, "recordId": None}] * len(body["feedback"])}
            return 200, {"results": [{"status": 201, "id": "diag_1"}] * len(body["records"])}

    def settings(self) -> Dict[str, str]:
        source = [] if os.environ.get("PROMPTLEDGER_INSTALLED") else [str(root / "src/client/python/src")]
        settings = {"PROMPTLEDGER_URL": self.url, "PROMPTLEDGER_API_KEY": "pl_key"}
        return {**os.environ, **settings, "PYTHONPATH": os.pathsep.join(source)}

    def run(
        self, code: str, settings: Optional[Dict[str, str]] = None, seconds: float = 120
    ) -> "subprocess.CompletedProcess[str]":
        """Runs a program to its end."""
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**self.settings(), **(settings or {})},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def close(self) -> None:
        self.delay.set()
        self._http.shutdown()
        self._http.server_close()
