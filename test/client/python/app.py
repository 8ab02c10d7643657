"""An application in a process of its own: `app.py KIND FASTER`. It asks for prompts, records a call with each and gives thumbs,
until its standard input ends. It prints a line of JSON for each call, and in the end what became of them.

KIND is `threads`, `asyncio` or `fork`: a server that has its work done by processes which it forks. FASTER divides the client's
times."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import threading
import time
from typing import Any, Dict, Optional

from stage import root  # noqa: F401  finds the package
from promptledger import AsyncClient, Client, Prompt, PromptLedgerError

kind, faster = sys.argv[1], float(sys.argv[2])
references = [f"prompt-{index}@production" for index in range(5)]
fallback = {"messages": [{"role": "user", "content": "fallback"}]}
options: Dict[str, Any] = {"watch_seconds": 15 / faster, "max_age_seconds": 60 / faster}
ended = threading.Event()


def watch_input() -> None:
    """Each process does it, as a fork takes no threads along."""

    def wait() -> None:
        os.read(0, 1)
        ended.set()

    threading.Thread(target=wait, daemon=True).start()


def write(line: Dict[str, Any]) -> None:
    # One write: processes that are forked share the pipe.
    os.write(1, (json.dumps(line) + "\n").encode())


def pause() -> float:
    return random.uniform(0.1, 1) / faster


def choose() -> "tuple[str, Optional[Dict[str, Any]]]":
    """The last prompt is one that is switched off at times, which the application wants to know."""
    reference = random.choice(references)
    return reference, None if reference == references[-1] else fallback


def use(reference: str, prompt: Prompt, asked_at: float) -> None:
    call = prompt.call()
    session = call.session_id
    thumb = random.random() < 0.5 if random.random() < 0.3 and prompt.version else None
    call.done(status=1, input=prompt.fill(), output="It arrives tomorrow.", usage={"input_tokens": 12, "output_tokens": 5})
    if thumb is not None:
        call.feedback(name="thumb", value=thumb)
    source = prompt.source
    asked = {"reference": reference, "version": prompt.version, "source": source, "at": asked_at, "took": time.time() - asked_at}
    write({"session": session, "thumb": thumb, **asked})


def fail(error: PromptLedgerError, asked_at: float) -> None:
    write({"failed": error.code, "at": asked_at})


def work(ledger: Client) -> None:
    while not ended.is_set():
        (reference, given), asked_at = choose(), time.time()
        try:
            use(reference, ledger.prompt(reference, fallback=given), asked_at)
        except PromptLedgerError as error:
            fail(error, asked_at)
        time.sleep(pause())


def in_threads(ledger: Client) -> None:
    watch_input()
    threads = [threading.Thread(target=work, args=(ledger,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def close(ledger: Client) -> None:
    reads = ledger.stats().reads
    write({"closed": ledger.close(timeout_seconds=20), "reads": reads})


def with_threads() -> None:
    ledger = Client(**options)
    in_threads(ledger)
    close(ledger)


def with_fork() -> None:
    ledger = Client(**options)
    ledger.prompt(references[0], fallback=fallback)
    use(references[0], ledger.prompt(references[0], fallback=fallback), time.time())
    children = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            in_threads(ledger)
            close(ledger)
            os._exit(0)
        children.append(pid)
    statuses = [os.waitpid(pid, 0)[1] for pid in children]
    close(ledger)
    sys.exit(any(statuses))


async def with_asyncio() -> None:
    watch_input()
    async with AsyncClient(**options) as ledger:

        async def task() -> None:
            while not ended.is_set():
                (reference, given), asked_at = choose(), time.time()
                try:
                    use(reference, await ledger.prompt(reference, fallback=given), asked_at)
                except PromptLedgerError as error:
                    fail(error, asked_at)
                await asyncio.sleep(pause())

        await asyncio.gather(*(task() for _ in range(3)))
        reads = ledger.stats().reads
        write({"closed": await ledger.close(timeout_seconds=20), "reads": reads})


if kind == "threads":
    with_threads()
elif kind == "fork":
    with_fork()
else:
    asyncio.run(with_asyncio())
