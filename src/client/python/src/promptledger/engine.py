"""What `Client` and `AsyncClient` share: prompts, records, feedback, and what holds them together."""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
import weakref
from datetime import datetime, timedelta
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union
from urllib.parse import quote

from .errors import PromptLedgerError, closed, invalid_argument, to_client_error
from .events import Events
from .limits import FLUSH_TIME
from .loop import Latch, Loop, Promise, Runtime
from .options import Options
from .prompt import Prompt, Target
from .prompts import Asked, Prompts
from .queues import FEEDBACK_LANE, RECORD_LANE, Queue, Totals
from .record import mask_record, to_json
from .snapshot import Snapshot
from .tokens import make_token
from .transport import Reply, Sender, member


class Stats(NamedTuple):
    """What a client has done, and what it holds."""

    #: Reads that the service answered with a prompt. Each costs one of the quota.
    reads: int
    sent: int
    dropped: int
    failed: int
    #: How many records and pieces of feedback wait or are being sent, and their bytes.
    queued: int
    queued_bytes: int


class Engine:
    """Opens and starts nothing before the first prompt or record."""

    def __init__(self, options: Options, runtime: Runtime) -> None:
        self._options = options
        self.loop = loop = Loop(runtime)
        self.now = runtime.wall
        self.events = events = Events(loop)
        self._sender = sender = Sender(options, loop)
        self._records = Queue(options, sender, events, loop, RECORD_LANE)
        self._pieces = Queue(options, sender, events, loop, FEEDBACK_LANE)
        owner = f"{options.url} {options.api_key[3:9]} " if options.api_key else f"{options.url} undefined "
        self._snapshot = Snapshot(options.snapshot, owner, events, loop)
        self._prompts = Prompts(options, sender, self._snapshot, events, self, loop)
        self._closing: Optional[Promise[Totals]] = None
        self._is_known_to_exit = False
        key = id(self)
        _engines[key] = weakref.ref(self, lambda _: _engines.pop(key, None))

    def prompt(self, deploy_id: str, asked: Asked) -> Promise[Prompt]:
        return self.loop.enter(lambda: self._prompts.get(deploy_id, asked))

    def _enqueue(self, queue: Queue, code: str, add: Callable[[], None]) -> None:
        try:
            add()
        except Exception as error:
            reason = to_client_error(error, code)
            self.loop.enter(lambda: queue.drop(reason))

    def queue_record(self, make: Callable[[], Mapping[str, Any]], target: Target) -> None:
        def add() -> None:
            # Whatever the application hands in is called and written as text outside of the loop.
            masked = mask_record(make(), self._options.mask, self.now())
            target.record = None if masked is None else masked.get("idempotencyKey")
            if masked is not None:
                self._add(self._records, masked, target, str(masked["deployId"]), "")

        self._enqueue(self._records, "invalid_record", add)

    def queue_feedback(self, target: Target, given: Dict[str, Any]) -> None:
        def add() -> None:
            value = given["value"]
            if isinstance(value, float) and to_json(value) == "null":
                raise invalid_argument("value must be finite")
            about = to_json([target.about, given["name"], given["author"] or ""])
            body = {name: value for name, value in given.items() if name == "value" or value is not None}
            self._add(self._pieces, {**body, "record": target.id or target.record}, target, "", about)

        self._enqueue(self._pieces, "invalid_feedback", add)

    def _add(self, queue: Queue, body: Mapping[str, Any], target: Target, deploy_id: str, about: str) -> None:
        text = to_json(body)
        size = len(text.encode())
        self._know_exit()

        def add() -> None:
            if self._closing is not None:
                raise closed()
            self._sender.touch()
            queue.add(text, size, target, deploy_id, about)

        self.loop.enter(add)

    def feedback_token(
        self, target: Target, names: Sequence[str], expires: Union[timedelta, datetime], author: str
    ) -> str:
        key, stored = self._options.api_key, target.id is not None
        return make_token(key, target.id or target.record, stored, names, expires, author, self.now())

    def submit(self, record: Mapping[str, Any]) -> Promise[str]:
        return self.loop.enter(lambda: self.loop.spawn(self._submit(record)))

    async def _submit(self, record: Mapping[str, Any]) -> str:
        try:
            masked = mask_record(record, self._options.mask, self.now())
            if masked is None:
                raise invalid_argument("The mask left out the record")
            body = {name: value for name, value in masked.items() if name not in ("deployId", "idempotencyKey")}
            key = masked["idempotencyKey"]
            # A header would lose some characters, and fail with others as if the service were away.
            if not isinstance(key, str) or not re.fullmatch(r"[ -~]{1,255}", key):
                raise invalid_argument("idempotencyKey must be 1 to 255 printable ASCII characters")
            path = f"/v1/diagnosis?deployId={quote(str(masked['deployId']), safe='')}"
            headers = {"Idempotency-Key": json.dumps(key)}
            data = to_json(body).encode()
            timeout = self._options.submit_timeout

            async def attempt() -> Reply:
                self._sender.touch(timeout)
                return await self._sender.send(path, timeout, _is_stored, headers, data)

            return str((await self._sender.retry(attempt, self._options.retries)).body["id"])
        except Exception as error:
            raise to_client_error(error) from error.__cause__

    def flush(self, timeout: float) -> Promise[None]:
        return self.loop.enter(lambda: self.loop.spawn(self._flush(timeout)))

    async def _flush(self, timeout: float, is_last: bool = False, is_leaving: bool = False) -> None:
        flushes = [
            self.loop.spawn(queue.flush(timeout, is_last, is_leaving)) for queue in (self._records, self._pieces)
        ]
        for flush in flushes:
            await flush

    def close(self, timeout: float) -> Promise[Totals]:
        def begin() -> Promise[Totals]:
            if self._closing is None:
                self._closing = Promise(self.loop)
                self.loop.spawn(self._close(timeout, self._closing))
            return self._closing

        return self.loop.enter(begin)

    async def _close(self, timeout: float, closing: Promise[Totals]) -> None:
        self._prompts.stop()
        await self._flush(timeout, True)
        records, pieces = self._records.abandon(), self._pieces.abandon()
        await self.loop.within(self.loop.spawn(self._snapshot.close()), timeout)
        self.events.close()
        self._sender.close()
        self.loop.end()
        closing.resolve(Totals(*(one + other for one, other in zip(records, pieces))))

    def stats(self) -> Stats:
        both = (self._records, self._pieces)

        def count() -> Stats:
            return Stats(
                self._prompts.reads,
                sum(queue.sent for queue in both),
                sum(queue.dropped for queue in both),
                sum(queue.failed for queue in both),
                sum(queue.queued for queue in both),
                sum(queue.queued_bytes for queue in both),
            )

        return self.loop.enter(count)

    def finish(self) -> None:
        """Sends what was just recorded, as the process ends. Tries once where the service is away."""
        with self.loop:
            if self._closing is not None or self._records.queued + self._pieces.queued == 0:
                return
            done = Latch()
            flushed = self.loop.spawn(self._flush(FLUSH_TIME, False, True))
            flushed.then(lambda: self.loop.outside(done.open))
        done.wait(FLUSH_TIME / 1_000 + 1)

    def _know_exit(self) -> None:
        """Children of multiprocessing and of Celery end without the functions of atexit. Those of multiprocessing forget what was
        registered before they began."""
        if not self._is_known_to_exit:
            self._is_known_to_exit = True
            processes = sys.modules.get("multiprocessing.process")
            if processes is not None and processes.parent_process() is not None:
                from multiprocessing.util import Finalize

                Finalize(None, _finish_all, exitpriority=0)
            celery = sys.modules.get("celery.signals")
            if celery is not None:
                celery.worker_process_shutdown.connect(_finish_all, weak=False)

    def reset(self) -> None:
        """Goes on in a forked process: with the prompts that are cached, and without what is queued, which the other one sends."""
        self.loop.reset()
        with self.loop:
            self._is_known_to_exit = False
            self._sender.reset()
            self._records.reset()
            self._pieces.reset()
            self._snapshot.reset()
            self._prompts.reset()
            if self._closing is not None:
                self._closing.resolve(Totals(0, 0, 0))


def _is_stored(body: object) -> bool:
    return bool(member(body, "id")) and member(body, "status") == "success"


_engines: Dict[int, weakref.ref[Engine]] = {}
_held: List[Engine] = []


def _all_engines() -> List[Engine]:
    return [engine for engine in (known() for known in list(_engines.values())) if engine is not None]


def _finish_all(**_: object) -> None:
    for engine in _all_engines():
        engine.finish()


def _before_fork() -> None:
    for engine in _all_engines():
        engine.loop.hold()
        _held.append(engine)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().loop.release()


def _after_fork_in_child() -> None:
    _held.clear()
    for engine in _all_engines():
        engine.reset()


atexit.register(_finish_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
