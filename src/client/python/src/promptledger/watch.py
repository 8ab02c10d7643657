"""Watches which versions are live. Asking costs nothing, so a prompt is read, and paid for, only once it has changed."""

from __future__ import annotations

import random
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from .errors import PromptLedgerError
from .events import Events
from .limits import LONGEST_WATCH_BACK_OFF, REST_AFTER
from .loop import Call, Loop
from .transport import Sender, member, pause_after


#: The id of a rollout, and its share in percent.
Share = Tuple[str, float]


class LiveDeployment(NamedTuple):
    id: str
    version: int
    rollout: Optional[Share]
    is_active: bool


def share_of(found: object) -> Optional[Share]:
    """The rollout in progress of a prompt or of a deployment."""
    rollout = member(found, "rollout")
    return (member(rollout, "id"), member(rollout, "percent")) if rollout else None


#: The deployments that the key can see, by id and by reference.
Live = Dict[str, LiveDeployment]
#: Gets what is live, as it was at a moment (Unix ms) or later, or why that could not be seen.
OnLook = Callable[[Live, int, Optional[PromptLedgerError]], None]


def _is_revisions(body: object) -> bool:
    deployments = member(body, "deployments")

    def is_version(version: Any) -> bool:
        return isinstance(version, int) and version > 0

    return isinstance(deployments, dict) and all(
        is_version(member(deployment, "version")) for deployment in deployments.values()
    )


class Watch:
    """Looks before `interval` ms have passed, again and again, while prompts are asked for, or with 0 only when told to."""

    def __init__(
        self, interval: float, timeout: float, on_look: OnLook, events: Events, sender: Sender, loop: Loop
    ) -> None:
        self._interval, self._timeout = interval, timeout
        self._on_look = on_look
        self._events, self._sender, self._loop = events, sender, loop
        self._asked_at = 0
        self._failures = 0
        self._tag: Optional[str] = None
        self._live: Live = {}
        self._is_blind = False
        self._cancel_timer: Optional[Call] = None
        self._next_at: float = 0

    def touch(self) -> None:
        """A prompt was asked for: looks from now on, for as long as others are."""
        self._asked_at = self._loop.now()
        if self._interval and self._cancel_timer is None:
            self._schedule()

    def look(self) -> bool:
        """Looks now, unless that failed a moment ago. False if the service cannot tell what is live."""
        if self._loop.now() >= self._next_at:
            self._loop.spawn(self._ask())
        return not self._is_blind

    async def _ask(self) -> None:
        # Until then it is under way.
        self._next_at = self._loop.now() + self._timeout
        headers = {"If-None-Match": self._tag} if self._tag else {}
        try:
            body, received, sent_at = await self._sender.send("/v1/revisions", self._timeout, _is_revisions, headers)
        except PromptLedgerError as error:
            # A proxy may let nothing through but prompts.
            self._is_blind = error.retryable and error.status is not None and error.status < 500
            self._failures += 1
            self._next_at = self._loop.now() + pause_after(error, self._failures, LONGEST_WATCH_BACK_OFF)
            self._on_look(self._live, 0, error)
            self._events.fail("look", error)
            return
        if body is not None:
            self._live = {}
            for id, deployment in body["deployments"].items():
                is_active = bool(deployment.get("isActive"))
                state = LiveDeployment(id, deployment["version"], share_of(deployment), is_active)
                self._live[id] = self._live[str(deployment.get("reference"))] = state
            self._tag = received.get("etag")
        self._failures = 0
        self._next_at = 0
        self._is_blind = False
        self._events.succeed("look")
        self._on_look(self._live, sent_at, None)

    def _schedule(self) -> None:
        # What is promised after the interval includes the look and the read that follows it.
        self._cancel_timer = self._loop.start_timer(self._tick, self._interval * (0.8 + random.random() / 10))

    def _tick(self) -> None:
        self._cancel_timer = None
        if self._interval and self._loop.now() - self._asked_at <= REST_AFTER:
            self._schedule()
            self.look()

    def stop(self) -> None:
        self._interval = 0
        if self._cancel_timer is not None:
            self._cancel_timer()

    def reset(self) -> None:
        """A forked process has neither a timer nor a request under way."""
        self._cancel_timer = None
        self._next_at = 0
