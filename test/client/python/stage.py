"""Clients on a virtual clock: nothing waits in real time. Their calls are made by threads, or on an event loop."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
import math
import os
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any, Awaitable, Callable, Deque, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

root = Path(__file__).resolve().parents[3]
if not os.environ.get("PROMPTLEDGER_INSTALLED"):
    sys.path.insert(0, str(root / "src/client/python/src"))

from promptledger import AsyncClient, Client, PromptLedgerError, Request, Response  # noqa: E402
from promptledger.runtime import SteadyClock  # noqa: E402

#: Servers of tests are on this machine.
os.environ["no_proxy"] = "*"

NOON = 1_795_176_000_000  # 2026-11-20T12:00:00Z, in ms

#: Whether tests run in full, as in CI.
is_full = os.environ.get("TEST_SCOPE") == "full"

names = {
    "GET /v1/prompts": "read",
    "GET /v1/revisions": "look",
    "POST /v1/diagnosis": "submit",
    "POST /v1/diagnoses": "batch",
    "POST /v1/feedback": "feedback",
}


def name_of(request: Request) -> str:
    """How a request is called in tests."""
    return names[f"{request.method} {urlsplit(request.url).path}"]


def load(name: str) -> Any:
    return json.loads((root / "test/client" / name).read_text("utf-8"))


class Silence(BaseException):
    """What a transport raises whose response never comes."""


def silent(_: Request) -> Response:
    raise Silence


def answer(status: int, body: object = None, headers: Optional[Dict[str, str]] = None) -> Response:
    text = "" if status in (204, 205, 304) else body if isinstance(body, str) else json.dumps(body)
    return Response(status, headers or {}, text.encode())


class Outcome:
    """What a call has come to."""

    def __init__(self) -> None:
        self.is_done = False
        self.value: Any = None
        self.latch: Any = None

    def end(self, value: Any) -> None:
        self.value = value
        self.is_done = True

    @property
    def is_running(self) -> bool:
        """Whether it goes on without the clock."""
        return not self.is_done and (self.latch is None or self.latch.is_open)


class Clock:
    """A runtime whose time only tests move."""

    def __init__(self, start: int = NOON) -> None:
        self.time = start
        self._timers: List[Tuple[int, int, List[Callable[[], None]]]] = []
        self._numbers = itertools.count()
        self._jobs: Deque[Callable[[], None]] = deque()
        self._callers: Dict[threading.Thread, Outcome] = {}
        self._aio: Optional[asyncio.AbstractEventLoop] = None
        self._steady = SteadyClock()

    def wall(self) -> int:
        return self.time

    def now(self) -> int:
        return self._steady.read(self.time)

    def start_timer(self, call: Callable[[], None], ms: float) -> Callable[[], None]:
        calls = [call]
        heapq.heappush(self._timers, (self.time + math.ceil(ms), next(self._numbers), calls))
        return calls.clear

    def run(self, call: Callable[[], None]) -> None:
        self._jobs.append(call)

    def deliver(self, calls: List[Callable[[], None]]) -> None:
        for call in calls:
            call()

    def is_alone(self) -> bool:
        return False

    def is_ending(self) -> bool:
        return False

    def wait(self, latch: Any, seconds: float = math.inf) -> None:
        caller = self._callers.get(threading.current_thread())
        # As the process ends, nobody moves the clock.
        if caller is not None:
            caller.latch = latch
            latch.wait()
            caller.latch = None

    def shield(self, call: Callable[[], Any]) -> Any:
        return call()

    def end(self) -> None:
        pass

    def reset(self) -> None:
        self._timers.clear()
        self._jobs.clear()

    def settle(self) -> None:
        """Runs what does not wait for time."""
        while True:
            if self._jobs:
                try:
                    self._jobs.popleft()()
                except Silence:
                    pass
            elif any(caller.is_running for caller in self._callers.values()):
                time.sleep(0.000_02)
            elif self._aio is None or not self._run_tasks():
                break

    def _run_tasks(self) -> bool:
        """Whether that led to anything that must be run."""
        assert self._aio is not None
        for _ in range(4):
            self._aio.run_until_complete(asyncio.sleep(0))
        return bool(self._jobs)

    def pass_(self, ms: float) -> None:
        """Lets time pass: timers fire in their order, and what they begin is settled before the next one."""
        end = self.time + ms
        if ms < 0:
            # Timers do not follow a clock that is set back.
            self._timers = [(at + int(ms), number, calls) for at, number, calls in self._timers]
        self.settle()
        while True:
            if not self._timers or self._timers[0][0] > end:
                break
            at, _, calls = heapq.heappop(self._timers)
            self.time = max(self.time, at)
            for call in list(calls):
                call()
                self.settle()
        self.time = int(end)

    def call(self, call: Callable[[], Any]) -> Outcome:
        """Makes a call on a thread of its own, or on the event loop if it gives something to await."""
        outcome = Outcome()

        def run() -> None:
            try:
                outcome.end(call())
            except BaseException as error:
                outcome.end(error)

        thread = threading.Thread(target=run, daemon=True)
        self._callers = {other: known for other, known in self._callers.items() if not known.is_done}
        self._callers[thread] = outcome
        thread.start()
        return outcome

    def call_async(self, awaitable: Callable[[], Awaitable[Any]]) -> Outcome:
        outcome = Outcome()
        if self._aio is None:
            self._aio = asyncio.new_event_loop()

        async def run() -> None:
            try:
                outcome.end(await awaitable())
            except Exception as error:
                outcome.end(error)

        task = self._aio.create_task(run())
        setattr(outcome, "task", task)  # or it could be collected
        return outcome

    def close(self) -> None:
        if self._aio is not None:
            for task in asyncio.all_tasks(self._aio):
                task.cancel()
                self._aio.run_until_complete(asyncio.gather(task, return_exceptions=True))
            self._aio.close()


class Stage:
    """A client of one of the two kinds."""

    def __init__(self, transport: Callable[[Request], Response], is_async: bool = False, **options: Any) -> None:
        self.clock: Clock = options.pop("clock", None) or Clock()
        kind = AsyncClient if is_async else Client
        clock = self.clock
        made = type("Virtual", (kind,), {"_runtime": staticmethod(lambda: clock)})
        self.client = made(**{"api_key": "pl_key", "transport": transport, **options})
        self.told: List[Any] = []
        for event in ("change", "stale", "error", "recover", "drop"):
            self.client.on(event, self.told.append)
        self._is_async = is_async

    def call(self, name: str, *args: Any, **options: Any) -> Outcome:
        """Calls a method that waits."""
        method = getattr(self.client, name)
        start = self.clock.call_async if self._is_async else self.clock.call
        outcome = start(lambda: method(*args, **options))
        self.clock.settle()
        return outcome

    def ask(self, deploy_id: str = "support/assistant@production", **options: Any) -> Any:
        return self.call("prompt", deploy_id, **options).value


def describe(outcome: Outcome) -> Any:
    """What cases say of an outcome."""
    if not outcome.is_done:
        return "pending"
    value = outcome.value
    if isinstance(value, PromptLedgerError):
        found: Dict[str, Any] = {"error": value.code, "retryable": value.retryable}
        if hasattr(value, "reset_at"):
            reset = value.reset_at.strftime("%Y-%m-%dT%H:%M:%S.000Z")
            found.update(limit=value.limit, used=value.used, resetAt=reset, upgradeUrl=value.upgrade_url)
        return found
    if isinstance(value, BaseException):
        raise value
    if hasattr(value, "source"):
        return [value.source, value.version, *([value.rollout] if value.rollout else [])]
    return value._asdict() if hasattr(value, "_asdict") else value
