"""The clock, timers and threads of a process. All threads are daemons and start when they are first needed."""

from __future__ import annotations

import heapq
import itertools
import _thread
import logging
import math
import queue
import sys
import threading
import time
from collections import deque
from typing import Callable, Deque, List, Optional, Tuple, TypeVar

from .limits import MAX_WORKERS, WORKER_IDLE_SECONDS
from .loop import Call, Latch

T = TypeVar("T")

logger = logging.getLogger("promptledger")


class _Timer:
    def __init__(self, call: Call) -> None:
        self.call: Optional[Call] = call

    def cancel(self) -> None:
        self.call = None


class SteadyClock:
    """Goes on where another clock is set back. Both are in Unix ms."""

    def __init__(self) -> None:
        self._last = self._ahead = 0

    def read(self, wall: int) -> int:
        self._ahead = max(self._ahead, self._last - wall)
        self._last = wall + self._ahead
        return self._last


class HostRuntime:
    """One thread for timers, up to 32 that send requests, and one for the calls of the main thread."""

    def __init__(self) -> None:
        self._steady = SteadyClock()
        self.reset()

    def reset(self) -> None:
        self._timers: List[Tuple[float, int, _Timer]] = []
        self._numbers = itertools.count()
        self._timed = threading.Condition()
        self._timer_thread: Optional[threading.Thread] = None
        self._jobs: Deque[Call] = deque()
        self._worked = threading.Condition()
        self._workers = 0
        self._busy = 0
        self._is_ended = False
        # Its methods are atomic, as those of queue.Queue are not.
        self._shielded: queue.SimpleQueue[Optional[Call]] = queue.SimpleQueue()
        self._is_shielding = False

    def wall(self) -> int:
        return time.time_ns() // 1_000_000

    def now(self) -> int:
        return self._steady.read(self.wall())

    def is_ending(self) -> bool:
        return sys.is_finalizing()

    def is_alone(self) -> bool:
        with self._worked:
            if self._jobs and self._workers == 0:
                return True
        with self._timed:
            return bool(self._timers) and self._timer_thread is None

    def wait(self, latch: Latch, seconds: float = math.inf) -> None:
        until = time.monotonic() + seconds
        while not latch.is_open:
            call, due = self._take()
            if call is not None:
                _call(call)
                continue
            left = min(until, due) - time.monotonic()
            latch.wait(-1 if left == math.inf else max(0, left))
            if time.monotonic() >= until:
                break

    def _take(self) -> Tuple[Optional[Call], float]:
        """Takes a call for which no thread could be started, or tells when the next timer is due."""
        with self._worked:
            if self._jobs and self._workers == 0:
                return self._jobs.popleft(), 0
        with self._timed:
            while self._timers and self._timer_thread is None:
                due, _, timer = self._timers[0]
                if timer.call is not None and due > time.monotonic():
                    return None, due
                heapq.heappop(self._timers)
                if timer.call is not None:
                    return timer.call, 0
        return None, math.inf

    def shield(self, call: Callable[[], T]) -> T:
        """Signal handlers run on the main thread, and may raise at any moment: Ctrl-C does, and so do Celery's time limits. So
        another thread makes the calls of the main thread."""
        is_main = threading.get_ident() == threading.main_thread().ident
        if not is_main or self.is_ending() or not _may_have_daemons():
            return call()
        values: List[T] = []
        errors: List[BaseException] = []
        latch = Latch()

        def run() -> None:
            try:
                values.append(call())
            except BaseException as error:
                errors.append(error)
            latch.open()

        self._shielded.put(run)
        if not self._is_shielding:
            try:
                _thread.start_new_thread(self._make_calls, (self._shielded,))
                self._is_shielding = True
            except RuntimeError:
                # The process is about to end, or has no room for a thread.
                self._shielded.put(None)
                self._make_calls(self._shielded)
        latch.wait()
        for error in errors:
            raise error
        return values[0]

    def _make_calls(self, calls: queue.SimpleQueue[Optional[Call]]) -> None:
        while True:
            try:
                call = calls.get(timeout=WORKER_IDLE_SECONDS)
            except queue.Empty:
                call = None
            if call is None:
                # The main thread looks at this after it has put a call.
                self._is_shielding = False
                if calls.empty():
                    return
            else:
                call()
            del call

    def start_timer(self, call: Call, ms: float) -> Call:
        timer = _Timer(call)
        # A lock cannot wait for longer than some days.
        due = time.monotonic() + min(ms / 1000, 86_400.0)
        with self._timed:
            heapq.heappush(self._timers, (due, next(self._numbers), timer))
            if self._timer_thread is None:
                self._timer_thread = _start(self._keep_time, "promptledger-timer")
            elif self._timers[0][2] is timer:
                self._timed.notify()
        # Python 3.12 starts no threads for a process that is about to end.
        with self._worked:
            if self._workers == 0:
                self._start_worker()
        return timer.cancel

    def _keep_time(self) -> None:
        timed = self._timed
        while True:
            with timed:
                while self._timers and self._timers[0][2].call is None:
                    heapq.heappop(self._timers)
                idle = 0.0 if self._is_ended else WORKER_IDLE_SECONDS
                wait = self._timers[0][0] - time.monotonic() if self._timers else idle
                if wait > 0 or not self._timers:
                    timed.wait(wait)
                    if not self._timers:
                        # The next timer starts another thread: a client that is no longer used leaves none.
                        self._timer_thread = None
                        return
                    continue
                call = heapq.heappop(self._timers)[2].call
            if call is not None:
                _call(call)

    def run(self, call: Call, most: float = MAX_WORKERS) -> None:
        with self._worked:
            self._jobs.append(call)
            if self._workers - self._busy >= len(self._jobs):
                self._worked.notify()
            elif self._workers < most:
                self._start_worker()

    def _start_worker(self) -> None:
        # Otherwise a worker that is there takes the job, or the thread that waits for it.
        if _start(self._work, "promptledger-worker") is not None:
            self._workers += 1

    def _work(self) -> None:
        worked = self._worked
        while True:
            with worked:
                if not worked.wait_for(lambda: self._jobs or self._is_ended, WORKER_IDLE_SECONDS):
                    if self._workers == 1 and self._timers:
                        continue
                if not self._jobs:
                    self._workers -= 1
                    return
                call = self._jobs.popleft()
                self._busy += 1
            _call(call)
            del call
            with worked:
                self._busy -= 1

    def end(self) -> None:
        """The client is closed: threads end as soon as they have nothing to do."""
        self._shielded.put(None)
        with self._worked:
            self._is_ended = True
            self._worked.notify_all()
        with self._timed:
            self._timed.notify()

    def deliver(self, calls: List[Call]) -> None:
        def deliver() -> None:
            for call in calls:
                call()

        # What waits in a listener waits for timers. Nobody waits for requests that do not end.
        if self._timer_thread is not None and threading.get_ident() == self._timer_thread.ident:
            self.run(deliver, math.inf)
        else:
            deliver()


def _may_have_daemons() -> bool:
    """False in an isolated subinterpreter, which aborts the process if a thread outlives it."""
    return bool(getattr(_thread, "daemon_threads_allowed", lambda: True)())


def _call(call: Call) -> None:
    try:
        call()
    except BaseException:
        # A thread that ended would be missed.
        logger.exception("promptledger failed behind the application")


def _start(target: Call, name: str) -> Optional[threading.Thread]:
    """Starts a thread, unless the process is about to end or has no room for one."""
    thread = threading.Thread(target=target, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread
