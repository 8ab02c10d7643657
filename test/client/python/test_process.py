"""Clients in real threads and processes, over real connections: what ends, forks and waits."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, List

from server import Server, reference
from stage import is_full
from promptledger import AsyncClient, Client, Request, Response
from promptledger.connection import HttpTransport

preamble = f"""
import os, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
from promptledger import AsyncClient, Client
reference = {reference!r}
def record(name): return {{"deployId": reference, "sessionId": name, "status": 1, "content": {{"output": "x"}}}}
"""


class Processes(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.close)

    def connect(self, **options: Any) -> Client:
        client = Client(url=self.server.url, api_key="pl_key", **options)
        self.addCleanup(lambda: client.close(timeout_seconds=0))
        return client

    def run_code(self, code: str, **settings: str) -> None:
        """Runs a program, which prints nothing."""
        ended = self.server.run(preamble + code, settings)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))

    def assert_quick(self, seconds: float, code: str, **settings: str) -> None:
        """Fails if a program never ends in this time. On a busy machine it may take several tries."""
        times: List[float] = []
        while min(times, default=seconds) >= seconds and len(times) < 5:
            began = time.monotonic()
            self.run_code(code, **settings)
            times.append(time.monotonic() - began)
        self.assertLess(min(times), seconds)

    def test_requests_of_a_thread_share_a_connection(self) -> None:
        client = self.connect()
        client.prompt(reference)
        for number in range(20):
            client.submit({"deployId": reference, "sessionId": str(number), "status": 1, "content": {"output": ""}})
        self.assertEqual(len(self.server.requests), 21)
        # A thread that has just brought a response may not be free yet.
        self.assertLess(self.server.connections, 4)

    def test_a_connection_that_the_service_has_closed_costs_nothing(self) -> None:
        self.server.closes_connections = True
        client = self.connect(retries=0)
        for number in range(5):
            client.submit({"deployId": reference, "sessionId": str(number), "status": 1, "content": {"output": ""}})
            time.sleep(0.01)
        self.assertEqual(list(self.server.records.values()), [1] * 5)

    def test_what_follows_an_informational_response_is_not_taken_for_another(self) -> None:
        def answer(connection: socket.socket) -> None:
            with connection:
                # The first request gets what belongs to it once another one has come.
                for text in (b"103 Early Hints\r\n\r\n", b"200 OK\r\nContent-Length: 2\r\n\r\n{}"):
                    if connection.recv(65_536):
                        connection.sendall(b"HTTP/1.1 " + text)

        with socket.create_server(("127.0.0.1", 0)) as listener:
            transport = HttpTransport("http://127.0.0.1:%d" % listener.getsockname()[1])
            statuses = []
            for _ in range(2):
                thread = threading.Thread(target=lambda: answer(listener.accept()[0]), daemon=True)
                thread.start()
                statuses.append(transport(Request("GET", "http://127.0.0.1:%d/" % listener.getsockname()[1], {}, None, 5)).status)
        self.assertEqual(statuses, [103, 103])

    def test_threads_share_one_read_and_each_record_is_stored_once(self) -> None:
        client = self.connect()
        barrier = threading.Barrier(20)

        def work(number: int) -> None:
            barrier.wait()
            for nth in range(50):
                client.prompt(reference).call(session_id=f"{number}-{nth}").done(status=1, output="x")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(client.close(), (1_000, 0, 0))
        self.assertEqual((len(self.server.records), max(self.server.records.values())), (1_000, 1))
        self.assertEqual(self.server.requests.count("/v1/prompts"), 1)

    def test_tasks_share_one_read_and_may_be_cancelled(self) -> None:
        async def main() -> None:
            async with AsyncClient(url=self.server.url, api_key="pl_key") as client:
                prompts = await asyncio.gather(*(client.prompt(reference) for _ in range(100)))
                self.assertEqual({prompt.version for prompt in prompts}, {1})
                self.server.is_silent = True
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.prompt("another@production"), 0.05)
                self.server.is_silent = False
                self.server.delay.set()
                prompts[0].call().done(status=1, output="x")

        asyncio.run(main())
        self.assertEqual(len(self.server.records), 1)

    def test_a_listener_may_wait_for_the_client(self) -> None:
        client = self.connect(submit_timeout_seconds=0.05)
        flushed = threading.Event()

        def on_error(_: object) -> None:
            client.flush(timeout_seconds=0.1)
            flushed.set()

        client.on("error", on_error)
        self.server.is_silent = True
        client.record({"deployId": reference, "sessionId": "1", "status": 1, "content": {"output": ""}})
        client.flush(timeout_seconds=0.2)
        self.assertTrue(flushed.wait(120))

    def test_a_transport_that_raises_is_a_service_that_is_away(self) -> None:
        def broken(_: Request) -> Response:
            raise ValueError("no network")

        client = self.connect(transport=broken, retries=0)
        with self.assertRaisesRegex(Exception, "Cannot reach .*: no network") as caught:
            client.prompt(reference)
        self.assertIsInstance(caught.exception.__cause__, ValueError)

    def test_a_process_sends_what_it_has_just_recorded_before_it_ends(self) -> None:
        self.run_code("Client().record(record('1'))")
        self.run_code("import asyncio\nasync def main(): AsyncClient().record(record('2'))\nasyncio.run(main())")
        self.run_code("ledger = Client()\nledger.prompt(reference).call(session_id='3').done(status=1)\nsys.exit()")
        self.assertEqual(sorted(self.server.records.items()), [("1", 1), ("2", 1), ("3", 1)])

    @unittest.skipUnless(is_full, "it runs in full alone")
    def test_a_process_waits_neither_for_a_service_that_is_away_nor_long_for_a_silent_one(self) -> None:
        code = "import logging\nlogging.disable()\nfor n in range(99): ledger = Client(); ledger.record(record('1'))"
        self.assert_quick(4, code, PROMPTLEDGER_URL="http://127.0.0.1:9")
        self.server.is_silent = True
        code = "import logging\nlogging.disable()\nledger = Client()\nledger.record(record('1'))"
        # 5 s, and what a busy machine takes to start Python.
        self.assert_quick(9, code)

    def test_a_process_that_exits_on_a_signal_sends_what_it_has_recorded(self) -> None:
        ended = self.server.run(preamble + """
import atexit, signal
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
ledger = Client()
made = 0
atexit.register(lambda: print(made))
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
while True:
    ledger.record(record(str(made)))
    made += 1
    time.sleep(0.0001)
""")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        made = int(ended.stdout)
        self.assertGreater(made, 10)
        self.assertIn(len(self.server.records), (made, made + 1))
        self.assertEqual(max(self.server.records.values()), 1)

    def test_nothing_is_imported_later_which_a_fork_could_interrupt(self) -> None:
        self.run_code("""
from datetime import timedelta
import tempfile
with tempfile.TemporaryDirectory() as folder:
    before = set(sys.modules)
    ledger = Client(snapshot=folder + "/prompts.json")
    prompt = ledger.prompt(reference)
    call = prompt.call()
    call.done(status=1, input=prompt.fill({"shop": "Acme", "question": "Where?"}), output="x")
    call.feedback(name="thumb", value=True)
    call.feedback_token(names=["thumb"], expires=timedelta(hours=1))
    ledger.submit(record("1"))
    ledger.close()
    assert set(sys.modules) == before, set(sys.modules) - before
""")

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_forked_process_keeps_what_is_cached_and_sends_its_own_records(self) -> None:
        self.run_code("""
ledger = Client()
ledger.prompt(reference)
for n in range(10): ledger.record(record(f"parent-{n}"))
children = []
for child in range(4):
    pid = os.fork()
    if pid == 0:
        assert ledger.stats().queued == 0, ledger.stats()
        for n in range(120): ledger.prompt(reference).call(session_id=f"{child}-{n}").done(status=1, output="x")
        sys.exit()
    children.append(pid)
ledger.prompt(reference).call(session_id="parent-last").done(status=1)
assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
""")
        self.assertEqual((len(self.server.records), max(self.server.records.values())), (491, 1))
        self.assertEqual(self.server.requests.count("/v1/prompts"), 1)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_process_may_fork_at_any_moment(self) -> None:
        self.run_code("""
ledger = Client()
stop = threading.Event()
def work(name):
    n = 0
    while not stop.is_set():
        ledger.prompt(reference).call(session_id=f"{name}-{n}").done(status=1, output="x")
        n += 1
        time.sleep(0.0005)
    with lock: made.append(n)
lock, made = threading.Lock(), []
threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
for thread in threads: thread.start()
for child in range(30):
    pid = os.fork()
    if pid == 0:
        ledger.prompt(reference).call(session_id=f"child-{child}").done(status=1, output="x")
        ledger.close()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for thread in threads: thread.join()
totals = ledger.close(timeout_seconds=20)
assert totals == (sum(made), 0, 0), (totals, made)
""")
        children = [name for name in self.server.records if name.startswith("child-")]
        self.assertEqual((len(children), max(self.server.records.values())), (30, 1))

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_process_of_celery_sends_what_it_has_recorded(self) -> None:
        self.run_code("""
import types
class Signal:
    def connect(self, receiver, weak): self.receiver = receiver
signals = sys.modules["celery.signals"] = types.ModuleType("celery.signals")
signals.worker_process_shutdown = Signal()
ledger = Client()
ledger.prompt(reference)
pid = os.fork()
if pid == 0:
    ledger.record(record("1"))
    signals.worker_process_shutdown.receiver(signal=signals.worker_process_shutdown, sender=None, pid=1, exitcode=0)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
""")
        self.assertEqual(self.server.records, {"1": 1})

    @unittest.skipUnless(is_full, "it runs in full alone")
    def test_a_process_of_multiprocessing_sends_what_it_has_recorded(self) -> None:
        program = preamble + """
import multiprocessing
ledger = Client()
def work(name):
    ledger.record(record(name))
if __name__ == "__main__":
    for method in multiprocessing.get_all_start_methods():
        process = multiprocessing.get_context(method).Process(target=work, args=(method,))
        process.start()
        process.join()
        assert process.exitcode == 0
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "app.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program)
            ended = subprocess.run(
                [sys.executable, path], env=self.server.settings(), capture_output=True, text=True, timeout=120, check=False
            )
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))
        self.assertEqual(sorted(self.server.records), sorted(multiprocessing.get_all_start_methods()))

    def test_a_client_leaves_no_thread_for_ever(self) -> None:
        from promptledger import runtime

        patched, runtime.WORKER_IDLE_SECONDS = runtime.WORKER_IDLE_SECONDS, 0.05
        self.addCleanup(setattr, runtime, "WORKER_IDLE_SECONDS", patched)
        before = set(threading.enumerate())
        client = self.connect(watch_seconds=None)
        client.prompt(reference)
        client.close()
        deadline = time.monotonic() + 120
        left: List[threading.Thread] = list(set(threading.enumerate()) - before)
        while any("promptledger" in thread.name for thread in left) and time.monotonic() < deadline:
            time.sleep(0.05)
            left = list(set(threading.enumerate()) - before)
        self.assertEqual([thread.name for thread in left if "promptledger" in thread.name], [])


if __name__ == "__main__":
    unittest.main()
