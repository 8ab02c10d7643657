"""The real service for a day of applications: started, killed and started again, behind a network that drops replies."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import select
import socket
import subprocess
import threading
import urllib.request
from typing import IO, Any, Dict, List, Optional, Tuple

from stage import root

token = "owner-token-of-the-python-day-1234567890"


class Service:
    """promptledger on a file, as a process of its own."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        command = os.environ.get("PROMPTLEDGER_COMMAND")
        tsx = ["node", "--import", "tsx", "src/cli.ts"]
        self._command: List[str] = [*(json.loads(command) if command else tsx), "serve"]
        self._process: Optional["subprocess.Popen[str]"] = None
        self.port = 0
        self.start()

    def start(self) -> None:
        settings = {
            "DATABASE_URL": f"file:{self._folder}/ledger.db",
            "ADMIN_TOKEN": token,
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
        }
        process = subprocess.Popen(
            self._command, cwd=root, env={**os.environ, **settings}, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        said = ""
        while "Listening" not in said:
            line = process.stderr.readline()
            if not line:
                raise RuntimeError(f"The service has not started: {said}")
            said += line
        self._process = process
        self.port = int(said.split("127.0.0.1:")[1].split()[0].strip("/,"))
        threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def manage(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.port}/admin/v1{path}"
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=20) as reply:
            text = reply.read().decode()
        return text if "csv" in path else json.loads(text)

    def records(self, workspace: str) -> List[Dict[str, str]]:
        text = self.manage("GET", f"/workspaces/{workspace}/diagnoses/export?format=csv")
        return list(csv.DictReader(io.StringIO(text)))


class Network:
    """Passes connections on to the service, and drops some of its replies, of which it has taken the request. What is live it lets
    pass: without that reply, promotions arrive with the next one."""

    def __init__(self, service: Service, lost: float) -> None:
        self._service, self._lost = service, lost
        self.dropped = self.passed = 0
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client:
            try:
                with socket.create_connection(("127.0.0.1", self._service.port)) as server:
                    is_look = False
                    while True:
                        for ready in select.select([client, server], [], [])[0]:
                            data = ready.recv(65_536)
                            if not data:
                                return
                            if ready is client:
                                is_look = data.startswith(b"GET /v1/revisions")
                                server.sendall(data)
                            elif not is_look and random.random() < self._lost:
                                self.dropped += 1
                                return
                            else:
                                self.passed += 1
                                client.sendall(data)
            except OSError:
                pass

    def close(self) -> None:
        self._socket.close()


class History:
    """Which version of each prompt is live from when on, and when nothing can be told of that."""

    def __init__(self) -> None:
        self.live: Dict[str, List[Tuple[int, float]]] = {}
        self.troubles: List[Tuple[float, float]] = []

    def lag(self, reference: str, version: int, asked_at: float) -> float:
        """For how long another version than that had been live."""
        later = [since for newer, since in self.live[reference] if newer > version]
        return max(0.0, asked_at - later[0]) if later else 0.0

    def is_calm(self, at: float, after: float) -> bool:
        """After a trouble clients may wait for as long as it has lasted, and what was asked for just before it may meet it."""
        return all(not begin - 1 <= at < end + (end - begin) + after for begin, end in self.troubles)


def _drain(stream: IO[str]) -> None:
    with stream:
        stream.read()
