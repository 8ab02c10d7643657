"""What `Client` and `AsyncClient` share: prompts, records, feedback, and what holds them together."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, Union
from urllib.parse import quote

from . import leaving
from .clientless import Clientless
from .errors import PromptLedgerError, invalid_argument, to_client_error
from .events import Events
from .loop import Loop, Promise, Runtime
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
        self.loop = loop = Loop(runtime, self._end)
        self.now = runtime.wall
        self.events = events = Events(loop)
        self._sender = sender = Sender(options, loop)
        self._records = Queue(options, sender, events, loop, RECORD_LANE)
        self._pieces = Queue(options, sender, events, loop, FEEDBACK_LANE)
        owner = f"{options.url} {options.api_key[3:9]} " if options.api_key else f"{options.url} undefined "
        self._snapshot = Snapshot(options.snapshot, owner, runtime.wall, events, loop)
        self._prompts = Prompts(options, sender, self._snapshot, events, self, loop)
        self._closing: Optional[Promise[Totals]] = None
        leaving.register(self)

    def __deepcopy__(self, _: object) -> Engine:
        """Copies of a prompt share its client."""
        return self

    def __reduce__(self) -> Tuple[Type[Clientless], Tuple[()]]:
        return Clientless, ()

    def prompt(self, deploy_id: str, asked: Asked) -> Promise[Prompt]:
        return self.loop.enter(lambda: self._prompts.get(deploy_id, asked))

    def _enqueue(self, queue: Queue, code: str, add: Callable[[], None]) -> None:
        try:
            self.loop.notice_end()
            self._need_open()
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
        leaving.expect_exit()

        def add() -> None:
            self._need_open()
            self._sender.touch()
            queue.add(text, size, target, deploy_id, about)

        self.loop.enter(add)
        if not self.loop.is_own():
            leaving.finish_late(self)

    def _need_open(self) -> None:
        if self._closing is not None:
            raise self.loop.closed()

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
        closing.resolve(records.plus(pieces))

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

    def finish(self, ms: float) -> Optional[Promise[None]]:
        """Sends what was just recorded, as the process ends. Tries once where the service is away."""
        with self.loop:
            if self._records.queued + self._pieces.queued == 0:
                return None
            return self.loop.spawn(self._flush(ms, False, True))

    def leave(self) -> None:
        """Gives up what is left, and closes the client if that is anything."""
        with self.loop:
            if self._records.queued + self._pieces.queued > 0:
                self._give_up()

    def _give_up(self) -> None:
        """Closes the client at once, and tells what is lost."""
        self.events.warn_again()
        self._prompts.stop()
        totals = self._records.abandon().plus(self._pieces.abandon())
        self.events.warn_again()
        self._sender.close()
        if self._closing is None:
            self._closing = Promise(self.loop)
        self._closing.resolve(totals)

    def _end(self) -> None:
        """The interpreter ends: nothing is sent any more, and no other thread brings what it has begun."""
        with self.loop:
            self._sender.reset()
            self._snapshot.reset()
            self._prompts.forget()
            self._give_up()
            self._records.forget()
            self._pieces.forget()

    def reset(self) -> None:
        """Goes on in a forked process: with the prompts that are cached, and without what is queued, which the other one sends."""
        self.loop.reset()
        with self.loop:
            self._sender.reset()
            self._records.reset()
            self._pieces.reset()
            self._snapshot.reset()
            self._prompts.reset()
            if self._closing is not None:
                self._closing.resolve(Totals(0, 0, 0))


def _is_stored(body: object) -> bool:
    return bool(member(body, "id")) and member(body, "status") == "success"
