"""Applications under gunicorn, uvicorn and Celery, where these are installed: each record is stored once, and none is lost."""

from __future__ import annotations

import http.client
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Dict, List, Set

from server import Server, reference

web_app = f"""
from promptledger import Client
ledger = Client()
ledger.prompt({reference!r})
def app(environ, start_response):
    name = environ["PATH_INFO"][1:]
    ledger.prompt({reference!r}).call(session_id=name).done(status=1, output="x")
    start_response("200 OK", [])
    return [b""]
"""

asgi_app = f"""
from promptledger import AsyncClient
async def app(scope, receive, send):
    global ledger
    if scope["type"] == "lifespan":
        await receive()
        async with AsyncClient() as ledger:
            await send({{"type": "lifespan.startup.complete"}})
            await receive()
        await send({{"type": "lifespan.shutdown.complete"}})
    else:
        prompt = await ledger.prompt({reference!r})
        prompt.call(session_id=scope["path"][1:]).done(status=1, output="x")
        await send({{"type": "http.response.start", "status": 200, "headers": []}})
        await send({{"type": "http.response.body", "body": b""}})
"""

tasks = f"""
import os
from celery import Celery
from promptledger import Client
folder = os.path.join(os.path.dirname(__file__), "broker")
folders = dict.fromkeys(("data_folder_in", "data_folder_out", "control_folder"), folder)
app = Celery("tasks", broker="filesystem://", broker_transport_options=folders)
app.conf.task_ignore_result = True
ledger = Client()
@app.task
def record(name):
    ledger.prompt({reference!r}).call(session_id=name).done(status=1, output="x")
"""


def needs(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


class Frameworks(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "broker").mkdir()
        for name, text in (("web.py", web_app), ("asgi.py", asgi_app), ("tasks.py", tasks)):
            (self.folder / name).write_text(text, "utf-8")

    def settings(self) -> Dict[str, str]:
        return {**self.server.settings(), "C_FORCE_ROOT": "1"}

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments], cwd=self.folder, env=self.settings(), stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def ask(self, name: str) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("GET", f"/{name}")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def serve(self, *arguments: str) -> "subprocess.Popen[bytes]":
        free = Server()
        free.close()
        self.port = int(free.url.rpartition(":")[2])
        process = self.start(*(argument.replace("PORT", str(self.port)) for argument in arguments))
        deadline = time.monotonic() + 120
        while not self.ask(f"start-{time.monotonic()}") and time.monotonic() < deadline:
            time.sleep(0.05)
        return process

    def end(self, process: "subprocess.Popen[bytes]", names: Set[str]) -> None:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
        self.assertEqual(names - set(self.server.records), set())
        self.assertEqual(max(self.server.records.values()), 1)

    @unittest.skipUnless(needs("gunicorn"), "gunicorn is not installed")
    def test_gunicorn(self) -> None:
        for options in ([], ["--preload"], ["--max-requests", "9"]):
            process = self.serve("gunicorn", "-b", "127.0.0.1:PORT", "-w", "3", *options, "web:app")
            names: List[str] = []
            for number in range(60):
                names.append(f"{number} {options}".replace(" ", "-"))
                self.assertTrue(self.ask(names[-1]) or "--max-requests" in options)
                if number == 9:
                    process.send_signal(signal.SIGHUP)
                # A worker that has just been forked would miss the signal to end.
                time.sleep(0.05)
            self.end(process, set(names))

    @unittest.skipUnless(needs("uvicorn"), "uvicorn is not installed")
    def test_uvicorn(self) -> None:
        process = self.serve("uvicorn", "--port", "PORT", "asgi:app")
        names = {str(number) for number in range(100)}
        self.assertTrue(all(self.ask(name) for name in names))
        self.end(process, names)

    @unittest.skipUnless(needs("celery"), "celery is not installed")
    def test_celery(self) -> None:
        code = "import tasks\nfor number in range(40): tasks.record.delay(str(number))"
        subprocess.run([sys.executable, "-c", code], cwd=self.folder, env=self.settings(), check=True)
        process = self.start("celery", "-A", "tasks", "worker", "-c", "2", "--max-tasks-per-child", "7")
        deadline = time.monotonic() + 120
        while len(self.server.records) < 35 and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(2)
        self.end(process, {str(number) for number in range(40)})


if __name__ == "__main__":
    unittest.main()
