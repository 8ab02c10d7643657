"""The prompts that the application has asked for: fresh, refreshed behind, stale, or replaced by what is left while the service
is away."""

from __future__ import annotations

import uuid
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple
from urllib.parse import quote

from .errors import NotFoundError, PromptLedgerError, to_client_error, too_slow
from .events import ChangeEvent, Events, StaleEvent
from .limits import MAX_BACK_OFF, MAX_PROMPTS
from .loop import Loop, Promise
from .options import Options
from .prompt import Calls, Content, Fallback, Prompt, PromptSource, is_prompt
from .rollout import gets_candidate
from .snapshot import Snapshot
from .transport import Reply, Sender, pause_after
from .watch import Live, Watch, share_of


class Asked(NamedTuple):
    """How a prompt is asked for."""

    fallback: Optional[Fallback]
    key: Optional[str]
    session_id: Optional[str]


class Prompts:
    def __init__(
        self, options: Options, sender: Sender, snapshot: Snapshot, events: Events, calls: Calls, loop: Loop
    ) -> None:
        self.options, self.sender, self.snapshot, self.events, self.loop = options, sender, snapshot, events, loop
        self._calls = calls
        self._cached: Dict[str, _CachedPrompt] = {}
        self.watch = Watch(options.watch, options.submit_timeout, self._verify, events, sender, loop)
        #: How many reads were answered. Each costs one of the quota.
        self.reads = 0

    def get(self, deploy_id: str, asked: Asked) -> Promise[Prompt]:
        self.sender.touch()
        self.watch.touch()
        cached = self._cached.get(deploy_id)
        if cached is None:
            if len(self._cached) >= MAX_PROMPTS:
                del self._cached[next(iter(self._cached))]
            cached = self._cached[deploy_id] = _CachedPrompt(deploy_id, self)
        return self.loop.spawn(cached.get(asked))

    def _verify(self, live: Live, at: int, reason: Optional[PromptLedgerError]) -> None:
        for cached in list(self._cached.values()):
            cached.verify(live, at, reason)

    async def find_substitute(self, deploy_id: str, asked: Asked, reason: PromptLedgerError) -> Optional[Prompt]:
        if not isinstance(reason, NotFoundError):
            finding = self.loop.spawn(self.snapshot.find(deploy_id))
            if await self.loop.within(finding, self.options.read_timeout):
                kept = finding.result()
                if kept is not None:
                    return self.prompt_of(deploy_id, kept, "snapshot", asked)
        fallback = asked.fallback
        if fallback is None:
            return None
        content = Content(
            deploy_id,
            deploy_id,
            fallback.get("version") or 0,
            fallback.get("title") or "",
            fallback.get("description") or "",
            fallback["messages"],
            fallback.get("llmConfig") or {},
        )
        return self._create(deploy_id, content, "fallback", asked)

    def prompt_of(self, reference: str, served: Mapping[str, Any], source: PromptSource, asked: Asked) -> Prompt:
        """What one caller gets: the live version, or the candidate of a rollout."""
        rollout = served.get("rollout")
        if rollout:
            key = asked.key or asked.session_id or str(uuid.uuid4())
            try:
                if gets_candidate(served["deploy"]["id"], rollout["salt"], rollout["percent"], key):
                    served = rollout["prompt"]
            except Exception:
                # Whatever a key is, the application goes on.
                pass
        deploy = served["deploy"]
        content = Content(
            deploy["id"],
            reference,
            deploy["currentVersion"],
            served.get("title") or "",
            served.get("description") or "",
            served["messages"],
            served.get("llmConfig") or {},
            rollout.get("id") if rollout else None,
        )
        return self._create(reference, content, source, asked)

    def _create(self, reference: str, content: Content, source: PromptSource, asked: Asked) -> Prompt:
        defaults = self.options.prompts.get(reference)
        optional = defaults.get("optional") if defaults else None
        return Prompt(source, content, self._calls, optional, asked.session_id)

    def stop(self) -> None:
        self.watch.stop()

    def reset(self) -> None:
        """A forked process keeps what is cached, and has no request under way."""
        self.reads = 0
        self.forget()

    def forget(self) -> None:
        """Forgets what other threads have begun."""
        self.watch.reset()
        for cached in self._cached.values():
            cached.reset()


class _CachedPrompt:
    def __init__(self, deploy_id: str, prompts: Prompts) -> None:
        self._deploy_id, self._prompts = deploy_id, prompts
        self._options, self._loop, self._events = prompts.options, prompts.loop, prompts.events
        self._prompt: Optional[Mapping[str, Any]] = None
        self._checked_at = 0  # when it was last known to be live
        self._loading: Optional[Promise[Mapping[str, Any]]] = None
        self._last_seen: Optional[Tuple[Live, int]] = None
        # Why it could not be loaded or confirmed last time, how often in a row, and from when on it is loaded again.
        self._error: Optional[PromptLedgerError] = None
        self._failures = 0
        self._next_at: float = 0
        self._is_stale = False  # and `stale` was emitted
        self._waiting = 0  # callers of a load, who get its error themselves

    def _confirm(self, at: int) -> None:
        self._checked_at = at
        self._error = None
        self._is_stale = False
        self._failures = 0
        self._next_at = 0
        self._events.succeed(self._deploy_id, self._deploy_id)

    def _load(self) -> Promise[Mapping[str, Any]]:
        """Loads the prompt, unless that is under way. The promise may be left alone."""
        started_at = self._loop.now()
        if self._loading is not None and started_at < self._next_at:
            return self._loading
        self._next_at = started_at + self._options.read_timeout + self._options.submit_timeout
        own: Promise[Mapping[str, Any]] = Promise(self._loop)
        self._loading = own
        self._loop.spawn(self._read(own, started_at))
        return own

    async def _read(self, own: Promise[Mapping[str, Any]], started_at: int) -> None:
        prompts, options, deploy_id = self._prompts, self._options, self._deploy_id
        path = f"/v1/prompts?deployId={quote(deploy_id, safe='')}"

        async def attempt() -> Reply:
            return await prompts.sender.send(path, options.submit_timeout, is_prompt, {"Accept-Rollout": "1"})

        try:
            # Retries are for callers that wait. What is loaded behind is tried again later.
            reply = await prompts.sender.retry(attempt, options.retries, started_at + options.read_timeout)
            served, sent_at = reply.body, reply.sent_at
            prompts.reads += 1
            # A load that was given up keeps what it brings to itself, as a later one may know better.
            if own is self._loading:
                before = _version_of(self._prompt) if self._prompt is not None else 0
                after = _version_of(served)
                self._loading = None
                self._prompt = served
                self._confirm(sent_at)
                prompts.snapshot.set(deploy_id, self._loop.now() - sent_at, served)
                if before and before != after:
                    self._events.emit(ChangeEvent(deploy_id, before, after))
                if self._last_seen is not None:
                    self.verify(*self._last_seen, None)
            own.resolve(served)
        except Exception as thrown:
            reason = to_client_error(thrown, "invalid_argument")
            if own is self._loading:
                self._refuse(reason)
            own.reject(reason)

    def _refuse(self, reason: PromptLedgerError) -> None:
        self._loading = None
        self._error = reason
        if isinstance(reason, NotFoundError):
            self._prompt = None
            self._prompts.snapshot.set(self._deploy_id, 0)
        self._failures += 1
        self._next_at = self._loop.now() + pause_after(reason, self._failures, MAX_BACK_OFF)
        if not self._waiting:
            self._events.fail(self._deploy_id, reason, self._deploy_id)

    def verify(self, live: Live, at: int, reason: Optional[PromptLedgerError]) -> None:
        """Compares it with what was live at a moment (Unix ms), unless that could not be seen."""
        if reason is not None:
            self._error = self._error or reason
            return
        self._last_seen = (live, at)
        deployment = live.get(self._deploy_id)
        is_active = deployment is not None and deployment.is_active
        prompt, error = self._prompt, self._error
        if prompt is None:
            if error is not None and (error.retryable or isinstance(error, NotFoundError) and is_active):
                self._load()
            return
        if at > self._checked_at:
            if deployment == (prompt["deploy"]["id"], _version_of(prompt), share_of(prompt), True):
                self._confirm(at)
            elif self._loop.now() >= self._next_at:
                self._load()

    async def get(self, asked: Asked) -> Prompt:
        at = self._loop.now()
        age = at - self._checked_at
        prompt = self._prompt
        if prompt is not None and age < self._options.max_age:
            return self._as(prompt, "cache", asked)
        is_due = at >= self._next_at
        if prompt is not None and age < self._options.max_stale:
            # The service may not tell what is live. Then the prompt is read.
            if is_due and not self._prompts.watch.look():
                self._load()
            if self._error is not None and not self._is_stale:
                self._is_stale = True
                self._events.emit(StaleEvent(self._deploy_id, _version_of(prompt), age / 1_000, self._error))
            return self._as(prompt, "stale", asked)
        # After a failure what else there is comes first. A refusal stands for a while.
        reason = self._error
        found = None if reason is None else await self._prompts.find_substitute(self._deploy_id, asked, reason)
        if is_due or found is None and (reason is None or reason.retryable):
            if found is not None:
                self._load()
            else:
                try:
                    return self._as(await self._wait(), "server", asked)
                except PromptLedgerError as error:
                    reason = error
                found = await self._prompts.find_substitute(self._deploy_id, asked, reason)
                if found is not None and self._error is not None:
                    self._events.fail(self._deploy_id, self._error, self._deploy_id)
        if found is not None:
            return found
        assert reason is not None
        raise reason

    def _as(self, served: Mapping[str, Any], source: PromptSource, asked: Asked) -> Prompt:
        return self._prompts.prompt_of(self._deploy_id, served, source, asked)

    async def _wait(self) -> Mapping[str, Any]:
        """Waits for a load, which goes on after that. But whoever asks next and has something else does not wait for it."""
        self._waiting += 1
        try:
            loading = self._load()
            if await self._loop.within(loading, self._options.read_timeout):
                return loading.result()
            self._error = self._error or too_slow(self._options.read_timeout)
            raise self._error
        finally:
            self._waiting -= 1

    def reset(self) -> None:
        if self._loading is not None:
            self._loading = None
            self._next_at = 0
        self._waiting = 0


def _version_of(served: Mapping[str, Any]) -> int:
    version: int = served["deploy"]["currentVersion"]
    return version
