"""The queues of records and of feedback: bounded, sent in batches off the application's path, and retried until each item is
stored once, refused for what is in it, or too old. An item is made text once, so that each attempt sends the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .errors import UNEXPECTED, InvalidRequestError, NotFoundError, PromptLedgerError, closed, to_client_error
from .events import DropEvent, ErrorEvent, Events
from .limits import ASIDE_FOR, BATCH_DELAY, BATCH_SIZE, FEEDBACK_BATCH_SIZE
from .limits import MAX_BACK_OFF, MAX_BATCH_BYTES, MAX_SENDS, OLDEST_RECORD
from .loop import Call, Loop, Promise
from .options import Options
from .prompt import Target
from .transport import Sender, member, pause_after


class Totals(NamedTuple):
    """What became of all records and all feedback of a client."""

    #: Stored by the service. So is feedback that could not be sent before other feedback took its place.
    sent: int
    #: Given up by the client: the queue was full, the mask failed, it is no JSON, or the client was closed.
    dropped: int
    #: Refused by the service for what is in it, still refused when the client was closed, or too old.
    failed: int

    def plus(self, other: Totals) -> Totals:
        return Totals(self.sent + other.sent, self.dropped + other.dropped, self.failed + other.failed)


class Lane(NamedTuple):
    """What a queue sends, where to, how many at once, and how many batches at the same time."""

    name: str
    path: str
    most: int
    sends: int


RECORD_LANE = Lane("records", "/v1/diagnoses", BATCH_SIZE, MAX_SENDS)
#: One batch follows the other, as the order of feedback counts.
FEEDBACK_LANE = Lane("feedback", "/v1/feedback", FEEDBACK_BATCH_SIZE, 1)


@dataclass(eq=False)
class _Item:
    """A record or a piece of feedback in the queue."""

    text: str
    size: int
    at: int
    target: Target
    deploy_id: str
    about: str
    #: How many items may be in its batch: fewer once a batch did not pass as a whole.
    together: int
    #: How many items had been stored when it was last sent in vain; -1 if it was not.
    blocked_at: int = -1


def _is_stored(result: object) -> bool:
    return member(result, "status") in (200, 201)


class Queue:
    def __init__(self, options: Options, sender: Sender, events: Events, loop: Loop, lane: Lane) -> None:
        self._max_queued, self._max_bytes = options.max_queued, options.max_queued_bytes
        self._timeout = options.submit_timeout
        self._sender, self._events, self._loop, self._lane = sender, events, loop, lane
        self.reset()

    def reset(self) -> None:
        """A forked process leaves what is queued to the process that it comes from."""
        self.sent = self.dropped = self.failed = self.queued = self.queued_bytes = 0
        self.forget()

    def forget(self) -> None:
        """Forgets what is queued, and what other threads have begun."""
        self._waiting: List[_Item] = []
        # Items that are not sent for a while, so that they hold up no others.
        self._aside: List[_Item] = []
        # The newest item about each thing.
        self._newest: Dict[str, _Item] = {}
        self._sends = self._flushes = 0
        self._paused_until: float = 0
        self._futile = 0  # batches in a row that came to nothing
        # Why the last batch that was answered, or was not, must be sent again.
        self._failure: Optional[PromptLedgerError] = None
        self._is_dropping = False
        self._is_leaving = False
        self._cancel_timer: Optional[Call] = None
        self._on_flushed: List[Promise[None]] = []

    def _is_refused(self) -> bool:
        return self._failure is not None and not self._failure.retryable

    def _is_crowded(self) -> bool:
        return 2 * self.queued > self._max_queued or 2 * self.queued_bytes > self._max_bytes

    def _settle(self, item: _Item) -> None:
        self.queued -= 1
        self.queued_bytes -= item.size
        if self._newest.get(item.about) is item:
            del self._newest[item.about]

    def _take(self) -> List[_Item]:
        """Takes the items of the next batch: from the front, as many as may go together."""
        # What was sent in vain must not come after what has replaced it.
        replaced = [
            item
            for item in self._waiting
            if item.about and item.blocked_at >= 0 and self._newest.get(item.about) is not item
        ]
        if replaced:
            gone = set(map(id, replaced))
            self._waiting = [item for item in self._waiting if id(item) not in gone]
            for item in replaced:
                self.sent += 1
                self._settle(item)
        size, fitting, count = 0, self._lane.most, 0
        for item in self._waiting[: self._lane.most]:
            fitting = min(fitting, item.together)
            size += item.size + 1
            if count >= fitting or count > 0 and size > MAX_BATCH_BYTES:
                break
            count += 1
        items = self._waiting[:count]
        del self._waiting[:count]
        return items

    async def _deliver(self, items: List[_Item]) -> None:
        self._sends += 1
        whole: Optional[PromptLedgerError] = None
        errors: List[Optional[PromptLedgerError]]
        try:
            errors = await self._send(items)
        except Exception as thrown:
            whole = to_client_error(thrown)
            errors = [whole] * len(items)
        self._sends -= 1
        # The client was closed meanwhile.
        if self.queued == 0:
            return
        sent_before, failed_before = self.sent, self.failed
        again: List[_Item] = []
        refusal: Optional[PromptLedgerError] = None
        self._failure = None
        for item, error in zip(items, errors):
            if error is None:
                self.sent += 1
                self._events.succeed(item.deploy_id, item.deploy_id)
                self._settle(item)
                continue
            is_off = isinstance(error, NotFoundError)
            # The service may refuse a batch for one of its items, which halves find.
            is_cut = len(items) > 1 and isinstance(whole, InvalidRequestError)
            # Something in between may take offence at one item too, or be in the way of all.
            is_blocked = is_cut or error.code == UNEXPECTED
            if is_blocked:
                item.together = (len(items) + 1) // 2
            is_final = isinstance(error, InvalidRequestError) and not is_cut
            if is_final or self._loop.now() - item.at >= OLDEST_RECORD or is_off and self._is_crowded():
                self.failed += 1
                refusal = error
                self._settle(item)
            elif is_off or is_blocked and len(items) == 1 and self.sent > item.blocked_at >= 0:
                # The deployment may have been switched off for a moment, and others have passed since that item did not.
                self._aside.append(item)
                if len(self._aside) == 1:
                    self._loop.start_timer(self._recall, ASIDE_FOR)
                if is_off:
                    self._events.fail(item.deploy_id, error, item.deploy_id)
            else:
                if not is_cut:
                    self._failure = error
                item.blocked_at = self.sent
                (self._waiting if is_blocked else again).append(item)
        self._waiting[:0] = again
        name, failure = self._lane.name, self._failure
        if refusal is not None:
            lost = self.failed - failed_before
            self._events.emit(ErrorEvent(refusal, **{name: lost}))  # type: ignore[arg-type]
        if failure is not None:
            self._events.fail(name, failure)
        elif self.sent > sent_before:
            self._events.succeed(name)
            self._futile = 0
        # What refuses all items may be at fault itself.
        if failure is not None or refusal is not None and self.sent == sent_before:
            self._futile += 1
            self._paused_until = self._loop.now() + pause_after(failure, self._futile, MAX_BACK_OFF)
        self._pump()

    async def _send(self, items: List[_Item]) -> List[Optional[PromptLedgerError]]:
        """Why each item was not stored; None for those that were."""

        def id_of(result: Mapping[str, Any]) -> Any:
            return result.get("recordId", result.get("id", result))

        def is_wanted(body: object) -> bool:
            results = member(body, "results")
            # Feedback that waits for its record has null for an id.
            return isinstance(results, list) and len(results) == len(items) and all(
                id_of(result) is not result if _is_stored(result) else member(result, "code") for result in results
            )

        text = f'{{"{self._lane.name}":[{",".join(item.text for item in items)}]}}'
        body, headers, _ = await self._sender.send(self._lane.path, self._timeout, is_wanted, None, text.encode())
        errors: List[Optional[PromptLedgerError]] = []
        for item, result in zip(items, body["results"]):
            if _is_stored(result):
                item.target.id = id_of(result) or item.target.id
                errors.append(None)
            else:
                errors.append(self._sender.error_of(result.get("status"), headers, result, "#"))
        return errors

    def _recall(self) -> None:
        self._waiting += self._aside
        self._aside = []
        self._pump()

    def _pump(self) -> None:
        """Starts the sends that are due, and sees to the next one."""
        if self._cancel_timer is not None:
            self._cancel_timer()
            self._cancel_timer = None
        now = self._loop.now()
        # After a failure one batch at a time tries whether the service is back.
        while self._waiting and self._sends < (1 if self._futile else self._lane.sends):
            first = self._waiting[0]
            is_due = self._flushes > 0 or len(self._waiting) >= self._lane.most
            wait = max(self._paused_until, 0 if is_due else first.at + BATCH_DELAY) - now
            if wait > 0:
                self._cancel_timer = self._loop.start_timer(self._pump, wait)
                break
            items = self._take()
            if items:
                self._loop.spawn(self._deliver(items))
        is_given_up = self._is_refused() or self._is_leaving and self._failure is not None
        if self._sends == 0 and (is_given_up or not self._waiting):
            flushed, self._on_flushed = self._on_flushed, []
            for promise in flushed:
                promise.resolve(None)

    async def flush(self, timeout: float, is_last: bool = False, is_leaving: bool = False) -> None:
        """Sends all that waits, without delay, and if it is the last time what is set aside too. Returns when each item is settled
        or refused for now, or after so many ms; for a process that is leaving also when the service is away."""
        self._sender.touch(timeout)
        self._flushes += 1
        self._paused_until = 0
        self._failure = None
        self._is_leaving = is_leaving
        flushed: Promise[None] = Promise(self._loop)
        self._on_flushed.append(flushed)
        if is_last:
            self._recall()
        self._pump()
        await self._loop.within(flushed, timeout)
        self._flushes -= 1

    def add(self, text: str, size: int, target: Target, deploy_id: str = "", about: str = "") -> None:
        """Queues the JSON of a body, whose target gets the id of the record. What could not be sent gives way to later items that
        are `about` the same. Raises if the queue is full."""
        if self.queued >= self._max_queued or self.queued_bytes + size > self._max_bytes:
            raise PromptLedgerError("queue_full", "The queue is full")
        self.queued += 1
        self.queued_bytes += size
        item = _Item(text, size, self._loop.now(), target, deploy_id, about, self._lane.most)
        self._waiting.append(item)
        if about:
            self._newest[about] = item
        self._pump()
        # A queue that hovers at its bound is one episode.
        if not self._is_crowded():
            self._is_dropping = False

    def drop(self, error: PromptLedgerError) -> None:
        """Counts what is not queued. Of several in a row, only the first emits `drop`."""
        self.dropped += 1
        if not self._is_dropping:
            self._events.emit(DropEvent(error))
        self._is_dropping = True

    def abandon(self) -> Totals:
        """Gives up what is left, and emits `drop` if that is anything."""
        if self._cancel_timer is not None:
            self._cancel_timer()
        if self.queued > 0:
            error = closed(f"Closed with {self._lane.name} left: {self.queued}")
            self._events.emit(DropEvent(error, **{self._lane.name: self.queued}))
        refused = self.queued if self._is_refused() else len(self._aside)
        self.failed += refused
        self.dropped += self.queued - refused
        self._waiting, self._aside = [], []
        self.queued = self.queued_bytes = 0
        return Totals(self.sent, self.dropped, self.failed)
