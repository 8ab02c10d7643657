"""The end of a process, and its forks: all of its clients send what they have queued, within a bounded time."""

from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from typing import Any, Dict, List, Optional, Protocol

from .limits import FLUSH_TIME
from .loop import Loop, Promise


class Leaver(Protocol):
    """A client."""

    loop: Loop

    def finish(self, ms: float) -> Optional[Promise[None]]:
        """Sends what is queued, for so many ms at most. None if that is nothing."""

    def leave(self) -> None:
        """Gives up what is left."""

    def reset(self) -> None:
        """Goes on in a forked process."""


_leavers: Dict[int, weakref.ref[Any]] = {}
_held: List[Leaver] = []
#: The id of the process whose end calls `_finish_all` by other means than atexit.
_expecting: Optional[int] = None
#: Seconds that are left for sending, once the process has begun to end.
_left: Optional[float] = None


def register(leaver: Leaver) -> None:
    key = id(leaver)
    _leavers[key] = weakref.ref(leaver, lambda _: _leavers.pop(key, None))


def _all() -> List[Leaver]:
    return [leaver for leaver in (known() for known in list(_leavers.values())) if leaver is not None]


def expect_exit() -> None:
    """Children of multiprocessing and of Celery end without the functions of atexit. Those of multiprocessing forget what was
    registered before they began."""
    global _expecting
    if _expecting != os.getpid():
        _expecting = os.getpid()
        processes = sys.modules.get("multiprocessing.process")
        if processes is not None and processes.parent_process() is not None:
            from multiprocessing.util import Finalize

            Finalize(None, _finish_all, exitpriority=0)
        celery = sys.modules.get("celery.signals")
        if celery is not None:
            celery.worker_process_shutdown.connect(_finish_all, weak=False)


def finish_late(leaver: Leaver) -> None:
    """Sends what a function of atexit has recorded after all clients had left."""
    if _left is not None:
        _finish([leaver])


def _finish_all(**_: object) -> None:
    global _left
    if _left is None:
        _left = FLUSH_TIME / 1_000
    _finish(_all())


def _finish(leavers: List[Leaver]) -> None:
    global _left
    until = time.monotonic() + (_left or 0)
    for leaver, promise in [(leaver, leaver.finish(1_000 * (_left or 0))) for leaver in leavers]:
        if promise is not None:
            leaver.loop.pause(promise, max(0, until - time.monotonic()))
            leaver.leave()
    _left = max(0, until - time.monotonic())


def _before_fork() -> None:
    for leaver in _all():
        leaver.loop.hold()
        _held.append(leaver)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().loop.release()


def _after_fork_in_child() -> None:
    global _left
    _left = None
    _held.clear()
    for leaver in _all():
        leaver.reset()


atexit.register(_finish_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
