"""What must not hold up a client: exceptions of signal handlers, and requests that nothing ends."""

from __future__ import annotations

import signal
import threading
import time
import unittest
from typing import List

from server import Server, reference
from stage import is_full
from promptledger import Client, Request, Response
from promptledger.connection import HttpTransport

limits = f"""
import signal, threading, time
from promptledger import Client
class Limit(Exception): pass
is_armed = False
def raise_limit(*_):
    global is_armed
    if is_armed:
        is_armed = False
        raise Limit
ledger = Client(max_queued=1_000_000)
ledger.on("drop", lambda event: None)
made = [0, 0]
def use(name):
    ledger.prompt({reference!r}).call(session_id=f"{{name}}-{{made[name]}}").done(status=1, output="x")
def work():
    while not ended.is_set():
        use(1)
        made[1] += 1
        time.sleep(0.001)
ledger.prompt({reference!r})
ended = threading.Event()
thread = threading.Thread(target=work)
thread.start()
signal.signal(signal.SIGALRM, raise_limit)
signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
raised = 0
until = time.monotonic() + SECONDS
while time.monotonic() < until:
    try:
        is_armed = True
        use(0)
        is_armed = False
    except Limit:
        raised += 1
    made[0] += 1
is_armed = False
signal.setitimer(signal.ITIMER_REAL, 0)
ended.set()
thread.join()
assert raised > 10, raised
ledger.flush(timeout_seconds=20)
stats = ledger.stats()
assert stats.queued == 0, stats
assert stats.sent > made[1], (stats, made)
"""


class Stuck(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.close)

    @unittest.skipUnless(hasattr(signal, "setitimer"), "there are no timers")
    def test_a_signal_handler_may_raise_at_any_moment(self) -> None:
        ended = self.server.run(limits.replace("SECONDS", "5" if is_full else "1"))
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))
        others = [count for name, count in self.server.records.items() if name.startswith("1-")]
        self.assertEqual(set(self.server.records.values()), {1})
        self.assertGreater(len(others), 10)

    def test_a_clock_that_is_set_back_holds_up_nothing(self) -> None:
        real = time.time_ns
        self.addCleanup(setattr, time, "time_ns", real)
        client = Client(url=self.server.url, api_key="pl_key", max_age_seconds=0.1, watch_seconds=0.1)
        self.addCleanup(client.close)
        self.assertEqual(client.prompt(reference).version, 1)
        time.time_ns = lambda: real() - 3_600_000_000_000
        self.server.version = 2
        deadline = time.monotonic() + 120
        while client.prompt(reference).version == 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(client.prompt(reference).version, 2)
        client.prompt(reference).call(session_id="1").done(status=1, output="x")
        client.flush()
        self.assertLess(self.server.started["1"], real() // 1_000_000 - 3_000_000)

    def test_a_clock_that_is_set_back_while_the_service_is_away_holds_up_nothing(self) -> None:
        real = time.time_ns
        self.addCleanup(setattr, time, "time_ns", real)
        send = HttpTransport(self.server.url)
        is_away, failed = threading.Event(), threading.Event()

        def transport(request: Request) -> Response:
            if is_away.is_set():
                raise OSError("No route")
            return send(request)

        client = Client(url=self.server.url, api_key="pl_key", transport=transport, watch_seconds=0.1)
        self.addCleanup(client.close)
        client.on("error", lambda _: failed.set())
        self.assertEqual(client.prompt(reference).version, 1)
        is_away.set()
        self.assertTrue(failed.wait(120))
        time.time_ns = lambda: real() - 3_600_000_000_000
        is_away.clear()
        self.server.version = 2
        deadline = time.monotonic() + 120
        while client.prompt(reference).version == 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(client.prompt(reference).version, 2)

    def test_a_prompt_does_not_wait_for_requests_that_never_end(self) -> None:
        ended = threading.Event()
        self.addCleanup(ended.set)
        waited_for: List[str] = []

        def hang(request: Request) -> Response:
            # As the look-up of a name does.
            if not ended.wait(120):
                waited_for.append(request.url)
            raise OSError("No address")

        client = Client(api_key="pl_key", transport=hang, read_timeout_seconds=0.2)
        fallback = {"messages": []}
        client.on("error", lambda _: None)
        sources: List[str] = []

        def ask(number: int) -> None:
            sources.append(client.prompt(f"{number}@production", fallback=fallback).source)

        threads = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sources, ["fallback"] * 50)
        client.close(timeout_seconds=0.1)
        self.assertEqual(waited_for, [])


if __name__ == "__main__":
    unittest.main()
