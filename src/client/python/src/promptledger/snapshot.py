"""The snapshot: the last prompts that the service gave, kept where a new process finds them while the service is away."""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from .errors import to_client_error
from .events import ErrorEvent, Events
from .limits import MAX_PROMPTS
from .loop import Loop, Promise
from .options import SnapshotStore
from .prompt import is_prompt
from .record import new_uuid, to_json

#: When a prompt was read (Unix ms), and the prompt. Without one the service has refused it: an older copy of another process must
#: not bring it back.
Entry = Dict[str, Any]


class Snapshot:
    """A snapshot in a store; without one it keeps nothing. `owner` tells the prompts of several services and keys apart. All that
    touches the store runs on a thread of the client."""

    def __init__(
        self,
        store: Union[str, SnapshotStore, None],
        owner: str,
        now: Callable[[], int],
        events: Events,
        loop: Loop,
    ) -> None:
        self._store = FileStore(store) if isinstance(store, str) else store
        self._owner, self._now, self._events, self._loop = owner, now, events, loop
        self._entries: Dict[str, Entry] = {}
        self.reset()

    def reset(self) -> None:
        """A forked process saves what it reads itself."""
        self._access = threading.Lock()
        self._loading: Optional[Promise[None]] = None
        self._saving: Optional[Promise[None]] = None
        self._has_saved = False
        self._changes: Dict[str, Entry] = {}

    async def find(self, deploy_id: str) -> Optional[Mapping[str, Any]]:
        """The prompt that was kept for what was asked for, if there is one."""
        if self._store is None:
            return None
        if self._loading is None:
            self._loading = self._loop.spawn(self._tell(self._loop.run(self._read)))
        await self._loading
        # A bundle that was written for all clients has neither a service nor a key.
        entry = self._entries.get(self._owner + deploy_id) or self._entries.get(deploy_id) or {}
        prompt: Optional[Mapping[str, Any]] = entry.get("prompt")
        return prompt if is_prompt(prompt) else None

    def set(self, deploy_id: str, age: int, prompt: Optional[Mapping[str, Any]] = None) -> None:
        """Keeps a prompt that was read so many ms ago, or without one keeps none."""
        if self._store is not None:
            at = self._now() - age
            self._changes[deploy_id] = {"at": at} if prompt is None else {"at": at, "prompt": prompt}
            self._save()

    def _save(self) -> Promise[None]:
        self._has_saved = True
        if self._saving is None:
            self._saving = self._loop.spawn(self._save_all())
        return self._saving

    async def _save_all(self) -> None:
        while True:
            changes, self._changes = self._changes, {}

            def write(changes: Dict[str, Entry] = changes) -> None:
                self._write(changes)

            await self._tell(self._loop.run(write))
            if not self._changes:
                break
        self._saving = None

    async def _tell(self, promise: Promise[None]) -> None:
        try:
            await promise
        except Exception as error:
            self._events.emit(ErrorEvent(to_client_error(error, "snapshot_failed")))

    def _read(self) -> None:
        with self._access:
            self._merge()

    def _time_of(self, entry: Entry) -> float:
        """When an entry was made. One from the future counts as the oldest: a clock that was ahead has made it."""
        at: float = entry["at"]
        return -1 if at > self._now() else at

    def _merge(self) -> Optional[str]:
        """Takes over what is newer in the store, which several processes may share, and gives its text."""
        assert self._store is not None
        text = self._store.load()
        entries = dict(self._entries)
        for name, entry in (json.loads(text) if text else {}).get("entries", {}).items():
            known = entries.get(name)
            if known is None or self._time_of(known) < self._time_of(entry):
                entries[name] = entry
        self._entries = entries
        return text

    def _write(self, changes: Dict[str, Entry]) -> None:
        """Brings the store up to date with what this process knows, and with changes."""
        assert self._store is not None
        with self._access:
            found = None
            try:
                found = self._merge()
            except Exception as error:
                failure = to_client_error(error, "snapshot_failed")
                with self._loop:
                    self._events.emit(ErrorEvent(failure))
            entries = dict(self._entries)
            for deploy_id, change in changes.items():
                name = self._owner + deploy_id
                known = entries.get(name) or entries.get(deploy_id)
                # A name that neither the service has ever known nor a bundle leaves no trace.
                is_newest = known is None or self._time_of(known) <= change["at"]
                if is_newest and (known is not None or "prompt" in change):
                    entries[name] = change
            newest = sorted(entries.items(), key=lambda item: self._time_of(item[1]), reverse=True)
            # A bundle stays whole.
            kept: List[Any] = [item for nth, item in enumerate(newest) if not item[1]["at"] or nth < MAX_PROMPTS]
            self._entries = dict(kept)
            text = to_json({"entries": self._entries})
            if text != found:
                self._store.save(text)

    async def close(self) -> None:
        """Waits until all is saved."""
        if self._has_saved:
            # Another process that saved at the same moment may have overwritten what this one had saved.
            if self._saving is not None:
                await self._saving
            await self._save()


class FileStore:
    """Keeps a snapshot in a file that only its owner may read. It is replaced as a whole."""

    def __init__(self, path: str) -> None:
        self._path = path

    def load(self) -> Optional[str]:
        try:
            with open(self._path, encoding="utf-8") as file:
                return file.read()
        except OSError:
            # What cannot be read is told once it cannot be replaced either.
            return None

    def save(self, text: str) -> None:
        part = f"{self._path}.{new_uuid(0)}.part"
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self._path)
        finally:
            try:
                os.unlink(part)
            except FileNotFoundError:
                pass
