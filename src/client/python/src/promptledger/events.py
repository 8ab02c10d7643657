"""The events of the client's background work."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Set, Union

from .errors import PromptLedgerError
from .limits import MAX_PROMPTS
from .loop import Loop

logger = logging.getLogger("promptledger")


@dataclass(frozen=True)
class ChangeEvent:
    """Another version of a prompt is served from now on."""

    deploy_id: str
    from_version: int
    to_version: int


@dataclass(frozen=True)
class StaleEvent:
    """A prompt that could not be refreshed is served although it is older than `max_age_seconds`."""

    deploy_id: str
    version: int
    age_seconds: float
    error: PromptLedgerError


@dataclass(frozen=True)
class ErrorEvent:
    """A request has failed whose error no caller gets. Of several in a row, only the first one emits it. Each loss of records or
    of feedback does, with their number."""

    error: PromptLedgerError
    deploy_id: Optional[str] = None
    records: Optional[int] = None
    feedback: Optional[int] = None


@dataclass(frozen=True)
class RecoverEvent:
    """What had emitted `error` works again."""

    deploy_id: Optional[str] = None


@dataclass(frozen=True)
class DropEvent:
    """Records, or feedback, are dropped from now on. Emitted once for each, until its queue is at most half full again.
    `close()` emits it too, with the number of `records` or pieces of `feedback` that it gave up."""

    error: PromptLedgerError
    records: Optional[int] = None
    feedback: Optional[int] = None


Event = Union[ChangeEvent, StaleEvent, ErrorEvent, RecoverEvent, DropEvent]
Listener = Callable[[Any], object]

_names = {ChangeEvent: "change", StaleEvent: "stale", ErrorEvent: "error", RecoverEvent: "recover", DropEvent: "drop"}


class Events:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._listeners: Dict[str, List[Listener]] = {}
        self._failing: Set[str] = set()
        self._has_warned = False

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Calls a listener from now on, and returns a function that ends that."""
        if name not in _names.values():
            raise ValueError(f"There is no event {name}. Events: {', '.join(_names.values())}")
        own = self._listeners.setdefault(name, [])
        own.append(listener)

        def remove() -> None:
            if listener in own:
                own.remove(listener)

        return lambda: self._loop.enter(remove)

    def emit(self, event: Event) -> None:
        listeners = self._listeners.get(_names[type(event)])
        # Losses that nobody listens for must not go unseen.
        if not listeners and isinstance(event, (ErrorEvent, DropEvent)) and not self._has_warned:
            self._has_warned = True
            message = str(event.error)
            # A thread that is gone may have left `logging` locked.
            warn = _write_error if self._loop.is_ended else _log
            self._loop.outside(lambda: warn(message))
        for listener in list(listeners or ()):
            self._loop.outside(_guarded(listener, event))

    def fail(self, about: str, error: PromptLedgerError, deploy_id: Optional[str] = None) -> None:
        """Emits `error`, unless what it is about has failed before, and not worked since."""
        if about not in self._failing:
            self.emit(ErrorEvent(error, deploy_id))
        if len(self._failing) > MAX_PROMPTS:
            self._failing.clear()
        self._failing.add(about)

    def succeed(self, about: str, deploy_id: Optional[str] = None) -> None:
        """Emits `recover`, if that has failed."""
        if about in self._failing:
            self._failing.discard(about)
            self.emit(RecoverEvent(deploy_id))

    def close(self) -> None:
        """Nothing is emitted from now on."""
        self._listeners = {}
        self._has_warned = True

    def warn_again(self) -> None:
        """Losses that nobody listens for are told once more, as the process ends."""
        self._has_warned = False


def _log(message: str) -> None:
    logger.warning("promptledger: %s", message)


def _write_error(message: str) -> None:
    try:
        os.write(2, f"promptledger: {message}\n".encode(errors="replace"))
    except OSError:
        # There is no standard error.
        pass


def _guarded(listener: Listener, event: Event) -> Callable[[], None]:
    def call() -> None:
        try:
            listener(event)
        except Exception:
            # A listener that fails must not take down what the client does behind the application.
            logger.debug("A listener of promptledger failed", exc_info=True)

    return call
