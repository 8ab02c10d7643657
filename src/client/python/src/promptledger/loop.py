"""What the client runs on: coroutines on a loop without a thread of its own. Whichever thread enters the loop, under its lock,
runs what is ready. So an application's threads, asyncio and the client's own threads share one state without races."""

from __future__ import annotations

import math
import threading
from typing import Any, Callable, Coroutine, Generator, Generic, List, Optional, Protocol, TypeVar, cast

from .errors import PromptLedgerError, closed

T = TypeVar("T")
Call = Callable[[], None]


class Runtime(Protocol):
    """The clock, timers and threads. Tests hand in virtual ones."""

    def wall(self) -> int:
        """Unix milliseconds."""

    def now(self) -> int:
        """The same, but it goes on where the clock is set back: nothing waits for a moment that has been."""

    def start_timer(self, call: Call, ms: float) -> Call:
        """Calls a function after so many ms, and returns one that cancels that."""

    def run(self, call: Call) -> None:
        """Calls a function, which may block, on another thread."""

    def deliver(self, calls: List[Call]) -> None:
        """Calls functions of the application."""

    def wait(self, latch: Latch, seconds: float = math.inf) -> None:
        """Blocks the thread until a latch is open, or for so many seconds. Where no other thread can be started, it does what they
        would do."""

    def is_alone(self) -> bool:
        """True if there is work for which no thread could be started."""

    def is_ending(self) -> bool:
        """True once the interpreter ends: no other thread runs any more, and none can be started."""

    def shield(self, call: Callable[[], T]) -> T:
        """Calls a function that no signal handler may interrupt."""

    def end(self) -> None:
        """Needs neither timers nor threads any more."""

    def reset(self) -> None:
        """Forgets all timers and threads, which a fork has not taken along."""


class Latch:
    """What a thread waits for. An exception of a signal handler may leave the lock of an Event locked, but none of this."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def open(self) -> None:
        self._lock.release()

    @property
    def is_open(self) -> bool:
        return not self._lock.locked()

    def wait(self, seconds: float = -1) -> None:
        if self._lock.acquire(timeout=seconds):
            self._lock.release()


class Promise(Generic[T]):
    """A value that may come later. Its methods are called within the loop."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._calls: List[Call] = []
        self._value: Optional[T] = None
        self._error: Optional[BaseException] = None
        self.is_settled = False

    def resolve(self, value: T) -> None:
        """Only the first time that a promise is settled counts."""
        if not self.is_settled:
            self._value = value
            self._settle()

    def reject(self, error: BaseException) -> None:
        if not self.is_settled:
            self._error = error
            self._settle()

    def _settle(self) -> None:
        self.is_settled = True
        calls, self._calls = self._calls, []
        for call in calls:
            self._loop.soon(call)

    def then(self, call: Call) -> None:
        """Calls a function once it is settled."""
        if self.is_settled:
            self._loop.soon(call)
        else:
            self._calls.append(call)

    def result(self) -> T:
        if self._error is not None:
            # Frames of whoever has raised it before would pile up.
            raise self._error.with_traceback(None)
        return cast(T, self._value)

    def outcome(self) -> T:
        """The same for an application, which gets an error of its own."""
        if isinstance(self._error, PromptLedgerError):
            raise self._error.again()
        return self.result()

    def __await__(self) -> Generator[Promise[T], None, T]:
        if not self.is_settled:
            yield self
        return self.result()


class Loop:
    """Enter it (`with loop:`) to call anything that lives on it. What the application calls does so by `enter`."""

    def __init__(self, runtime: Runtime, on_end: Call) -> None:
        self._runtime = runtime
        self._on_end = on_end
        self.now = runtime.now
        #: True once the interpreter ends. Then nothing waits for another thread.
        self.is_ended = False
        self._start()

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._owner = 0
        self._ready: List[Call] = []
        self._outside: List[Call] = []

    def __enter__(self) -> Loop:
        self._lock.acquire()
        self._depth += 1
        self._owner = threading.get_ident()
        return self

    def __exit__(self, *_: object) -> None:
        outside: List[Call] = []
        try:
            if self._depth == 1:
                while self._ready:
                    ready, self._ready = self._ready, []
                    for call in ready:
                        call()
                outside, self._outside = self._outside, []
        finally:
            self._depth -= 1
            self._lock.release()
        if outside:
            self._runtime.deliver(outside)

    def is_own(self) -> bool:
        """True if this thread has entered it."""
        return self._depth > 0 and self._owner == threading.get_ident()

    def enter(self, job: Callable[[], T]) -> T:
        """Calls a function within the loop, to its end."""

        def call() -> T:
            with self:
                return job()

        self.notice_end()
        # A signal handler may interrupt what the main thread does here as the process ends.
        return call() if self.is_own() else self._runtime.shield(call)

    def notice_end(self) -> None:
        if not self.is_ended and self._runtime.is_ending():
            self.is_ended = True
            # A thread that is gone may have left it locked.
            self.reset()
            self._on_end()

    def closed(self) -> PromptLedgerError:
        """The error of what is asked of a closed client, which each is once the interpreter ends."""
        return closed("The interpreter is shutting down: nothing can be sent any more") if self.is_ended else closed()

    def soon(self, call: Call) -> None:
        """Calls a function before the loop is left."""
        self._ready.append(call)

    def outside(self, call: Call) -> None:
        """Calls a function after the loop was left, as it may wait for another thread that enters it."""
        self._outside.append(call)

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Promise[T]:
        """Runs a coroutine, at once up to where it first waits."""
        promise: Promise[T] = Promise(self)

        def step() -> None:
            try:
                awaited: Promise[object] = coroutine.send(None)
            except StopIteration as end:
                promise.resolve(end.value)
            except Exception as error:
                promise.reject(error)
            else:
                awaited.then(step)

        step()
        return promise

    def run(self, job: Callable[[], T]) -> Promise[T]:
        """Calls a function that may block, on another thread."""
        promise: Promise[T] = Promise(self)
        if self.is_ended:
            promise.reject(self.closed())
            return promise

        def work() -> None:
            try:
                value = job()
            except Exception as error:
                with self:
                    promise.reject(error)
            else:
                with self:
                    promise.resolve(value)

        self._runtime.run(work)
        return promise

    def start_timer(self, call: Call, ms: float) -> Call:
        def fire() -> None:
            with self:
                call()

        return _nothing if self.is_ended else self._runtime.start_timer(fire, ms)

    async def sleep(self, ms: float) -> None:
        promise: Promise[None] = Promise(self)
        self.start_timer(lambda: promise.resolve(None), ms)
        await promise

    async def within(self, promise: Promise[T], ms: float) -> bool:
        """Whether a promise is settled within so many ms."""
        if promise.is_settled:
            return True
        first: Promise[None] = Promise(self)
        cancel = self.start_timer(lambda: first.resolve(None), ms)
        promise.then(lambda: first.resolve(None))
        await first
        cancel()
        return promise.is_settled

    def wait(self, promise: Promise[T]) -> T:
        """Blocks a thread of the application until a promise is settled."""
        if not promise.is_settled:
            if self.is_own():
                # No other thread could enter the loop meanwhile.
                raise PromptLedgerError(
                    "invalid_argument", "A signal handler or __del__ must not wait for the client it interrupts"
                )
            if self.is_ended:
                raise self.closed()
            self.pause(promise)
        return promise.outcome()

    def pause(self, promise: Promise[Any], seconds: float = math.inf) -> None:
        """Blocks a thread of the application until a promise is settled, or for so many seconds."""
        latch = Latch()
        self.enter(lambda: promise.then(lambda: self.outside(latch.open)))
        self._runtime.wait(latch, seconds)

    @property
    def is_alone(self) -> bool:
        """True if nothing happens here unless a thread waits for it."""
        return self.is_ended or self._runtime.is_alone()

    def end(self) -> None:
        self._runtime.end()

    def hold(self) -> None:
        """Keeps other threads out while the process forks."""
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    def reset(self) -> None:
        """Starts anew in a forked process, which has none of the other threads."""
        self._start()
        self._runtime.reset()


def _nothing() -> None:
    pass
