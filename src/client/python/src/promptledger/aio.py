"""The client for asyncio. Its requests run on threads of their own, so a blocked event loop holds up no record."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Mapping, Optional, Type, TypeVar

from .client import BaseClient
from .loop import Promise
from .prompt import Fallback, Prompt
from .prompts import Asked
from .queues import Totals

T = TypeVar("T")


class AsyncClient(BaseClient):
    """The same as `Client`, whose methods are awaited. It may be used on any number of event loops.

    >>> async with AsyncClient() as ledger:
    ...     prompt = await ledger.prompt("support/assistant@production")
    """

    async def prompt(
        self,
        deploy_id: str,
        *,
        fallback: Optional[Fallback] = None,
        key: Optional[str] = None,
        session_id: Optional[str] = None,
    ) -> Prompt:
        """As in `Client`."""
        return await self._wait(self._engine.prompt(deploy_id, Asked(fallback, key, session_id)))

    async def submit(self, record: Mapping[str, Any]) -> str:
        """As in `Client`."""
        return await self._wait(self._engine.submit(record))

    async def flush(self, *, timeout_seconds: float = 5) -> None:
        """As in `Client`."""
        await self._wait(self._engine.flush(1_000 * timeout_seconds))

    async def close(self, *, timeout_seconds: float = 5) -> Totals:
        """As in `Client`."""
        return await self._wait(self._engine.close(1_000 * timeout_seconds))

    async def _wait(self, promise: Promise[T]) -> T:
        loop = self._engine.loop
        if not promise.is_settled:
            if loop.is_alone:
                return loop.wait(promise)
            events = asyncio.get_running_loop()
            done: asyncio.Future[None] = events.create_future()

            def settle() -> None:
                if not done.done():
                    done.set_result(None)

            def wake() -> None:
                try:
                    events.call_soon_threadsafe(settle)
                except RuntimeError:
                    # The event loop has been closed meanwhile.
                    pass

            loop.enter(lambda: promise.then(lambda: loop.outside(wake)))
            await done
        return promise.outcome()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()
