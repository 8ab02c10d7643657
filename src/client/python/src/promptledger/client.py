"""The client for threads: its methods block."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Callable, Literal, Mapping, NoReturn, Optional, Type, TypeVar, Union, overload

from .connection import Transport
from .engine import Engine, Stats
from .events import ChangeEvent, DropEvent, ErrorEvent, Listener, RecoverEvent, StaleEvent
from .options import Mask, PromptDefaults, SnapshotStore, read_options
from .prompt import Fallback, Prompt, Target
from .prompts import Asked
from .queues import Totals
from .runtime import HostRuntime

C = TypeVar("C", bound="BaseClient")


class BaseClient:
    """What blocks in neither client. Times are in seconds."""

    def __init__(
        self,
        *,
        url: Optional[str] = None,
        api_key: Optional[str] = None,
        transport: Optional[Transport] = None,
        proxy: Optional[str] = None,
        ca_bundle: Union[str, os.PathLike[str], None] = None,
        max_age_seconds: float = 60,
        max_stale_seconds: float = 86_400,
        watch_seconds: Optional[float] = 15,
        snapshot: Union[str, os.PathLike[str], SnapshotStore, None] = None,
        read_timeout_seconds: float = 3,
        submit_timeout_seconds: float = 20,
        retries: int = 2,
        max_queued: int = 10_000,
        max_queued_bytes: int = 33_554_432,
        prompts: Optional[PromptDefaults] = None,
        mask: Optional[Mask] = None,
    ) -> None:
        options = read_options(
            url=url,
            api_key=api_key,
            transport=transport,
            proxy=proxy,
            ca_bundle=ca_bundle,
            max_age_seconds=max_age_seconds,
            max_stale_seconds=max_stale_seconds,
            watch_seconds=watch_seconds,
            snapshot=snapshot,
            read_timeout_seconds=read_timeout_seconds,
            submit_timeout_seconds=submit_timeout_seconds,
            retries=retries,
            max_queued=max_queued,
            max_queued_bytes=max_queued_bytes,
            prompts=prompts,
            mask=mask,
        )
        self._engine = Engine(options, self._runtime())

    #: Tests put in a virtual one.
    _runtime = HostRuntime

    def __copy__(self: C) -> C:
        return self

    def __deepcopy__(self: C, _: object) -> C:
        """Copies of what has a client share it."""
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("A client cannot be pickled: make one in each process")

    def record(self, record: Mapping[str, Any]) -> None:
        """Queues a record, as the service takes it: `{"deployId": …, "sessionId": …, "status": 1, "content": {…}}`. Never
        raises."""
        self._engine.queue_record(lambda: record, Target("", ""))

    def feedback(
        self,
        record: str,
        *,
        name: str,
        value: Union[bool, float, str, None],
        comment: Optional[str] = None,
        author: Optional[str] = None,
        source: Optional[str] = None,
    ) -> None:
        """Queues feedback on a record that its id names or, for two days, the idempotency key that it was or will be sent under. A
        `value` of None withdraws it. Never raises."""
        given = {"name": name, "value": value, "comment": comment, "author": author, "source": source}
        self._engine.queue_feedback(Target(record, record), given)

    @overload
    def on(self, event: Literal["change"], listener: Callable[[ChangeEvent], object]) -> Callable[[], None]: ...
    @overload
    def on(self, event: Literal["stale"], listener: Callable[[StaleEvent], object]) -> Callable[[], None]: ...
    @overload
    def on(self, event: Literal["error"], listener: Callable[[ErrorEvent], object]) -> Callable[[], None]: ...
    @overload
    def on(self, event: Literal["recover"], listener: Callable[[RecoverEvent], object]) -> Callable[[], None]: ...
    @overload
    def on(self, event: Literal["drop"], listener: Callable[[DropEvent], object]) -> Callable[[], None]: ...

    def on(self, event: str, listener: Listener) -> Callable[[], None]:
        """Calls a listener with each event from now on, on a thread of the client or of the application, and returns a function
        that ends that."""
        return self._engine.loop.enter(lambda: self._engine.events.on(event, listener))

    def stats(self) -> Stats:
        return self._engine.stats()


class Client(BaseClient):
    """A client of one service, with one key, for any number of threads.

    >>> with Client() as ledger:
    ...     prompt = ledger.prompt("support/assistant@production")
    """

    def prompt(
        self,
        deploy_id: str,
        *,
        fallback: Optional[Fallback] = None,
        key: Optional[str] = None,
        session_id: Optional[str] = None,
    ) -> Prompt:
        """The active prompt of a deployment, by its id or reference. With a `fallback` it never raises. Otherwise it raises a
        PromptLedgerError if there is neither a response nor a copy that may be served.

        `key` is whoever keeps the version that a rollout gives, such as the id of a user. Without one it is `session_id`, the
        session of the calls that are made with the prompt. Without either, each prompt has a version at random."""
        return self._engine.loop.wait(self._engine.prompt(deploy_id, Asked(fallback, key, session_id)))

    def submit(self, record: Mapping[str, Any]) -> str:
        """Stores a record and returns its id. Raises a PromptLedgerError."""
        return self._engine.loop.wait(self._engine.submit(record))

    def flush(self, *, timeout_seconds: float = 5) -> None:
        """Sends what is queued without delay. Returns when all of it is settled, or after that time."""
        self._engine.loop.wait(self._engine.flush(1_000 * timeout_seconds))

    def close(self, *, timeout_seconds: float = 5) -> Totals:
        """Sends what is queued for that time at most, ends everything that is under way, and returns what became of all records
        and all feedback of this client. Never raises."""
        return self._engine.loop.wait(self._engine.close(1_000 * timeout_seconds))

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()
