"""Processes that end: in `__del__`, in functions of atexit, with threads that go on, with a service that is silent. None hangs, and
what is lost is told."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import unittest
from typing import List

from server import Server, reference
from stage import is_full

preamble = f"""
import atexit
if "early" in globals(): atexit.register(lambda: early())  # runs last
import asyncio, os, sys, threading, time
from promptledger import AsyncClient, Client
reference = {reference!r}
fallback = {{"messages": []}}
def record(name): return {{"deployId": reference, "sessionId": name, "status": 1, "content": {{"output": "x"}}}}
def drive(coroutine):
    try: coroutine.send(None)
    except StopIteration as end: return end.value
"""

ended = "The interpreter is shutting down: nothing can be sent any more"

#: What `__del__` may call, and what comes of it.
calls = {
    "wait(client.close())": "Totals(sent=0, dropped=0, failed=0)",
    "wait(client.prompt('other', fallback=fallback)).source": "fallback",
    "wait(client.prompt('other'))": ended,
    "wait(client.submit(record('1')))": ended,
    "wait(client.flush())": "None",
    "client.record(record('2')) or client.stats().dropped": "1",
    "client.feedback('order-4711', name='thumb', value=True) or client.stats().dropped": "1",
    "client.on('error', print) and 'on'": "on",
}


class Leaving(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.close)

    def run_code(self, code: str, seconds: float = 60, early: str = "") -> "subprocess.CompletedProcess[str]":
        """Runs a program, which must end. `early` is a function that the process calls at its end, after the client has left."""
        done = self.server.run(early + preamble + code, seconds=seconds)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def assert_calls_in_del(self, make: str, wait: str, use: str) -> None:
        methods = "".join(f"    def call{nth}(self, client): return {call}\n" for nth, call in enumerate(calls))
        code = f"""
wait = {wait}
class Thing:
    def __init__(self, nth): self.client, self.nth = {make}, nth
    def __del__(self):
        try: result = getattr(self, f"call{{self.nth}}")(self.client)
        except Exception as error: result = error
        os.write(1, f"{{self.nth}} {{result}}\\n".encode())
{methods}
things = [Thing(nth) for nth in range({len(calls)})]
for thing in things: {use}
del thing
"""
        done = self.run_code(code)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"{nth} {result}" for nth, result in enumerate(calls.values())])
        # Two drops, and a fallback.
        self.assertEqual(done.stderr, 3 * f"promptledger: {ended}\n")

    def test_any_call_returns_in_del_as_the_interpreter_ends(self) -> None:
        for make, wait, uses in (
            ("Client()", "lambda value: value", "thing.client.prompt(reference)"),
            # As the interpreter ends, asyncio cannot start.
            ("AsyncClient()", "drive", "asyncio.run(thing.client.prompt(reference))"),
        ):
            for use in ("pass", uses, "thing.itself = thing"):
                with self.subTest(make=make, use=use):
                    self.assert_calls_in_del(make, wait, use)

    def test_what_is_queued_as_the_interpreter_ends_is_told(self) -> None:
        self.server.is_silent = True
        code = """
class Thing:
    def __init__(self): self.client = Client(submit_timeout_seconds=1)
    def __del__(self): print(self.client.close(), flush=True)
thing = Thing()
thing.client.record(record("1"))
"""
        done = self.run_code(code)
        self.assertEqual(done.stdout, "Totals(sent=0, dropped=1, failed=0)\n")
        self.assertEqual(done.stderr.splitlines()[-1], "promptledger: Closed with records left: 1")

    def test_a_lock_that_a_thread_has_taken_to_its_end_holds_up_nothing(self) -> None:
        code = """
import logging, types
class Thing:
    client = Client()
    def __del__(self):
        self.client.record(record("1"))
        self.client.flush()
        self.client.close()
Thing.client.prompt(reference)
# What this module has is never collected, as the frame of the thread has it too.
sys.modules["other"] = types.ModuleType("other")
sys.modules["other"].thing = Thing()
def take(loop):
    go.wait()
    with loop, logging.getLogger().handlers[0].lock:
        taken.set()
        time.sleep(1_000)
logging.basicConfig()
go, taken = threading.Event(), threading.Event()
threading.Thread(target=take, args=(Thing.client._engine.loop,), daemon=True).start()
"""
        done = self.run_code(code, early="def early(): go.set(); taken.wait()")
        self.assertIn(f"promptledger: {ended}\n", done.stderr)

    @unittest.skipUnless(is_full, "it runs in full alone")
    def test_threads_that_go_on_hold_up_nothing(self) -> None:
        for _ in range(3):
            self.run_code("""
class Thing:
    def __init__(self): self.client = Client()
    def __del__(self):
        self.client.prompt(reference, fallback=fallback)
        self.client.record(record("last"))
        self.client.close()
thing = Thing()
def work(client):
    while True: client.prompt(reference).call().done(status=1, output="x")
for _ in range(4): threading.Thread(target=work, args=(thing.client,), daemon=True).start()
time.sleep(0.1)
""")
        self.assertGreater(len(self.server.records), 3)

    @unittest.skipUnless(is_full, "it runs in full alone")
    def test_functions_of_atexit_may_use_the_client(self) -> None:
        for name, make, wait in (("Client", "Client()", ""), ("AsyncClient", "AsyncClient()", "asyncio.run")):
            for used in ("", f"{wait}(ledger.prompt(reference))"):
                for is_early in (True, False):
                    with self.subTest(client=name, used=used, is_early=is_early):
                        self.server.records.clear()
                        use = f"""
    ledger.record(record("1"))
    print({wait}(ledger.prompt(reference)).source in ("server", "cache"), {wait}(ledger.submit(record("2"))))
    ledger.record(record("3"))
    {wait}(ledger.flush())
    if {is_early}: ledger.record(record("4"))
"""
                        # The last one is left to the client.
                        early = f"def early():{use}" if is_early else ""
                        code = f"ledger = {make}\n{used}\n"
                        if not is_early:
                            code += f"@atexit.register\ndef late():{use}\n    ledger.record(record('4'))"
                        done = self.run_code(code, early=early)
                        self.assertEqual((done.stdout, done.stderr), ("True diag_1\n", ""))
                        self.assertEqual(self.server.records, dict.fromkeys("1234", 1))

    @unittest.skipUnless(is_full, "it runs in full alone")
    def test_a_thread_that_outlives_the_main_one_may_use_the_client(self) -> None:
        for used in ("", "ledger.prompt(reference)"):
            self.server.records.clear()
            done = self.run_code(f"""
ledger = Client()
{used}
def work():
    threading.main_thread().join()
    time.sleep(0.05)
    assert ledger.prompt(reference).version == 1
    ledger.record(record("1"))
threading.Thread(target=work).start()
""")
            self.assertEqual((done.stdout, done.stderr, self.server.records), ("", "", {"1": 1}))

    @unittest.skipUnless(is_full, "it runs in full alone")
    def test_clients_of_a_silent_service_leave_at_the_same_time(self) -> None:
        self.server.is_silent = True
        began = time.monotonic()
        done = self.run_code("""
clients = [Client() for _ in range(20)]
for nth, client in enumerate(clients): client.record(record(str(nth)))
""")
        # One after the other would take 100 s.
        self.assertLess(time.monotonic() - began, 40)
        self.assertEqual(done.stderr.splitlines().count("promptledger: Closed with records left: 1"), 20)

    def test_what_a_function_of_atexit_records_after_the_last_attempt_is_told(self) -> None:
        code = "ledger = Client(url='http://127.0.0.1:9')\nledger.record(record('1'))"
        done = self.run_code(code, early="def early(): ledger.record(record('2')); print(ledger.stats().dropped)")
        self.assertEqual(done.stdout, "2\n")
        told = done.stderr.splitlines()
        self.assertEqual(told[1:], ["promptledger: Closed with records left: 1", "promptledger: The client is closed"])

    def test_a_client_that_was_not_used_closes_without_a_thread_and_without_a_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_code(f"""
before = threading.active_count()
def never(*_): os._exit(9)
threading.Thread.start = never
print(Client(snapshot={folder + '/prompts.json'!r}).close())
print(asyncio.run(AsyncClient(snapshot={folder + '/prompts.json'!r}).close()))
""")
            self.assertEqual(done.stdout, 2 * "Totals(sent=0, dropped=0, failed=0)\n")
            self.assertEqual(os.listdir(folder), [])

    def test_a_process_without_room_for_threads_goes_on(self) -> None:
        done = self.run_code("""
import _thread
def no_room(*_, **__): raise RuntimeError("can't start new thread")
start, threading._start_new_thread, threading._start_joinable_thread = threading.Thread.start, no_room, no_room
_thread.start_new_thread = no_room
ledger = Client()
print(ledger.prompt(reference).source)
ledger.record(record("1"))
print(ledger.submit(record("2")))
ledger.flush()
print(ledger.close())
away = Client(url="http://127.0.0.1:9", read_timeout_seconds=0.5)
print(away.prompt(reference, fallback=fallback).source)
print(asyncio.run(AsyncClient().prompt(reference)).source)
""")
        self.assertEqual(
            done.stdout, "server\ndiag_1\nTotals(sent=1, dropped=0, failed=0)\nfallback\nserver\n"
        )
        self.assertEqual(self.server.records, {"1": 1, "2": 1})

    @unittest.skipUnless(is_full, "it runs in full alone")
    def test_pools_of_processes_send_what_their_workers_have_recorded(self) -> None:
        program = preamble + """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
ledger = Client()
def work(name):
    ledger.record(record(name))
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    pool = context.Pool(2)
    pool.map(work, [f"pool-{nth}" for nth in range(10)])
    pool.close()
    pool.join()
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        list(executor.map(work, [f"executor-{nth}" for nth in range(10)]))
    # Its workers are killed.
    with context.Pool(2) as pool: pool.map(work, ["killed"])
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "app.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program)
            for method in multiprocessing.get_all_start_methods():
                self.server.records.clear()
                done = subprocess.run(
                    [sys.executable, path, method],
                    env=self.server.settings(), capture_output=True, text=True, timeout=120, check=False,
                )
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                names: List[str] = sorted(name for name in self.server.records if name != "killed")
                expected = [f"{kind}-{nth}" for kind in ("executor", "pool") for nth in range(10)]
                self.assertEqual((names, max(self.server.records.values())), (expected, 1))


if __name__ == "__main__":
    unittest.main()
