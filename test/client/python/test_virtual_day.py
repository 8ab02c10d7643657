"""A day of applications on a virtual clock: some processes ask for 5 prompts, record their calls and give thumbs, while versions
are promoted, the service is away for an hour, slow for ten minutes and restarted ten times, and the processes are too. For ten
minutes the key is refused, six times a deployment is switched off, and twelve times something else answers in its place."""

from __future__ import annotations

import json
import os
import random
import unittest
from collections import Counter
from typing import Any, Dict, List, Set, Tuple
from urllib.parse import parse_qs, urlsplit

from stage import NOON, Clock, Silence, Stage, answer, is_full, load, name_of
from promptledger import NotFoundError, Request, Response
from promptledger.prompts import Asked

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
processes = 10 if is_full else 2
look_every = 15.0 * SECOND
fallback = {"messages": [{"role": "system", "content": "You answer customers."}]}
odd = load("odd.json")


class Ledger:
    """The service: stores each record and each piece of feedback once, by its key."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.live: Dict[str, List[Tuple[int, int]]] = {f"prompt-{nth}@production": [(1, NOON)] for nth in range(5)}
        self.off: Set[str] = set()
        self.records: Dict[str, Dict[str, Any]] = {}
        self.thumbs: Dict[str, Any] = {}
        self.reads = 0

    def id_of(self, reference: str) -> str:
        return "dep_" + reference[7]

    def __call__(self, request: Request) -> Response:
        name = name_of(request)
        if name == "look":
            return answer(200, {
                "deployments": {
                    self.id_of(reference): {
                        "reference": reference,
                        "revision": 1,
                        "version": history[-1][0],
                        "isActive": reference not in self.off,
                    }
                    for reference, history in self.live.items()
                }
            })
        if name == "read":
            reference = parse_qs(urlsplit(request.url).query)["deployId"][0]
            if reference in self.off:
                return answer(404, {"error": "Deploy not found or not accessible"})
            self.reads += 1
            deploy = {"id": self.id_of(reference), "currentVersion": self.live[reference][-1][0]}
            return answer(200, {"id": "p", **fallback, "deploy": deploy, "llmConfig": {}})
        body = json.loads(request.body or b"")
        if name == "batch":
            return answer(200, {"results": [self.store(record) for record in body["records"]]})
        return answer(200, {"results": [self.judge(piece) for piece in body["feedback"]]})

    def store(self, record: Dict[str, Any]) -> Dict[str, Any]:
        if any(record["deployId"] in (reference, self.id_of(reference)) for reference in self.off):
            return {"status": 404, "error": "Deploy not found or not accessible", "code": "deployment_not_found"}
        key = record["idempotencyKey"]
        known = self.records.setdefault(key, record)
        if known != record:
            return {"status": 422, "error": "Idempotency-Key was used with another request", "code": "key_reused"}
        return {"status": 201, "id": "diag_" + key}

    def judge(self, piece: Dict[str, Any]) -> Dict[str, Any]:
        key = piece["record"].replace("diag_", "")
        self.thumbs[key] = piece["value"]
        return {"status": 200, "recordId": piece["record"] if key in self.records else None, "isChanged": True}


class Between:
    """What is between the applications and the service."""

    def __init__(self, ledger: Ledger, start: int) -> None:
        self.ledger, self.clock = ledger, ledger.clock
        self.outage = (start + 9 * HOUR, start + 10 * HOUR)
        self.slow = (start + 15 * HOUR, start + 15 * HOUR + 10 * MINUTE)
        self.refusal = (start + 16 * HOUR, start + 16 * HOUR + 10 * MINUTE)
        self.restarts = [
            (at, at + 3 * SECOND)
            for at in (start + (1 if nth < 5 else 17) * HOUR + nth * 50 * MINUTE + _up_to(40 * MINUTE) for nth in range(10))
        ]
        self.odds = [
            (at, at + SECOND + _up_to(3 * MINUTE))
            for at in (start + (6 if nth < 6 else 7) * HOUR + nth * 10 * MINUTE + _up_to(5 * MINUTE) for nth in range(12))
        ]
        self.to_lose = self.lost_reads = self.odd_answers = 0

    def note_lost(self, response: Response, request: Request) -> None:
        if name_of(request) == "read" and response.status == 200:
            self.lost_reads += 1

    def __call__(self, request: Request) -> Response:
        now = self.clock.time
        if _is_in(now, self.slow) and random.random() < 0.3:
            if random.random() < 0.5:
                self.note_lost(self.ledger(request), request)
            raise Silence
        if _is_in(now, self.refusal):
            return answer(401, {"error": "Invalid API key"})
        if any(_is_in(now, window) for window in self.odds):
            self.odd_answers += 1
            if random.random() < 0.3:
                self.note_lost(self.ledger(request), request)
            pick = random.choice
            return answer(pick(odd["statuses"]), pick(list(odd["bodies"].values())), pick(list(odd["headers"].values())))
        if self.to_lose:
            # It has taken effect.
            self.to_lose -= 1
            self.note_lost(self.ledger(request), request)
            raise ConnectionResetError("reset")
        if _is_in(now, self.outage) or any(_is_in(now, window) for window in self.restarts):
            raise ConnectionRefusedError("refused")
        return self.ledger(request)


def _up_to(most: int) -> int:
    return random.randrange(most)


def _is_in(at: float, window: Tuple[float, float], after: float = 0) -> bool:
    return window[0] <= at < window[1] + after


class Store:
    """A snapshot that all processes share."""

    text = ""

    def load(self) -> str:
        return self.text

    def save(self, text: str) -> None:
        self.text = text


class VirtualDay(unittest.TestCase):
    def test_a_day(self) -> None:
        seed = int(os.environ.get("SEED") or random.randrange(1_000_000))
        random.seed(seed)
        start, end = NOON, NOON + 24 * HOUR
        clock = Clock(start)
        ledger = Ledger(clock)
        between = Between(ledger, start)
        store = Store()
        references = list(ledger.live)
        off = [
            (at, at + (20 * MINUTE if nth == 3 else 20 * SECOND), references[nth % 2])
            for nth, at in enumerate(start + 11 * HOUR + nth * 30 * MINUTE for nth in range(6))
        ]
        used: Dict[str, Tuple[str, int]] = {}
        thumbs: Dict[str, bool] = {}
        given = 0
        lags = {"calm": 0.0, "cache": 0.0, "any": 0.0}
        failures: List[str] = []
        closed: List[Any] = []
        sources: "Counter[str]" = Counter()

        def at(moment: float, call: Any) -> None:
            clock.start_timer(call, moment - clock.time)

        def is_calm(moment: float) -> bool:
            windows = [(between.outage, look_every), (between.slow, 40 * SECOND), (between.refusal, MINUTE + look_every)]
            windows += [(window, look_every) for window in between.restarts + [each[:2] for each in off]]
            windows += [(window, 30 * SECOND + look_every) for window in between.odds]
            return not any(_is_in(moment, window, after) for window, after in windows)

        def take(reference: str, prompt: Any, asked_at: int) -> None:
            nonlocal given
            later = [since for version, since in ledger.live[reference] if version > prompt.version]
            lag = max(0, asked_at - later[0]) if later and prompt.version else 0
            lags["any"] = max(lags["any"], lag)
            if is_calm(asked_at):
                lags["calm"] = max(lags["calm"], lag)
            if prompt.source == "cache":
                lags["cache"] = max(lags["cache"], lag)
            sources[prompt.source] += 1
            call = prompt.call()
            key = call.record
            used[key] = (reference, prompt.version)

            def done() -> None:
                nonlocal given
                call.done(status=1, input=prompt.fill(), output="Hello")
                if random.random() < 0.3 and prompt.version:
                    thumbs[key] = random.random() < 0.5
                    call.feedback(name="thumb", value=thumbs[key])
                    given += 1

            at(clock.time + SECOND + _up_to(4 * SECOND), done)

        def handle(stage: Stage, reference: str) -> None:
            asked_at = clock.time
            given = None if _is_off(reference, asked_at) else fallback
            promise = stage.client._engine.prompt(reference, Asked(given, None, None))

            def settled() -> None:
                try:
                    take(reference, promise.outcome(), asked_at)
                except NotFoundError:
                    if not _is_off(reference, asked_at, look_every + MINUTE):
                        failures.append(f"{reference} not found at {asked_at - start}")
                except Exception as error:
                    failures.append(repr(error))

            with stage.client._engine.loop:
                promise.then(settled)

        def _is_off(reference: str, moment: float, after: float = 0) -> bool:
            return any(each[2] == reference and _is_in(moment, each[:2], after) for each in off)

        def run(begin: int, until: int) -> None:
            def go() -> None:
                stage = Stage(between, clock=clock, snapshot=store)

                def ask() -> None:
                    if clock.time < until:
                        handle(stage, random.choice(references))
                        at(clock.time + MINUTE + _up_to(2 * MINUTE), ask)

                def end_it() -> None:
                    reads = stage.client.stats().reads
                    promise = stage.client._engine.close(5_000)
                    with stage.client._engine.loop:
                        promise.then(lambda: closed.append((*promise.result(), reads)))

                ask()
                for begins, _, reference in off:
                    if begin < begins - SECOND < until:
                        at(begins - SECOND, lambda reference=reference: handle(stage, reference))
                at(until + 10 * SECOND, end_it)

            at(begin, go)

        for nth in range(processes):
            turn = start + 19 * HOUR + nth * 20 * MINUTE
            run(start + nth * SECOND, turn)
            run(turn + 15 * SECOND, end)
        run(start + 19 * HOUR // 2, end)
        for begins, ends, reference in off:
            at(begins, lambda reference=reference: ledger.off.add(reference))
            at(ends, lambda reference=reference: ledger.off.discard(reference))
        for begins, _ in between.restarts:
            at(begins, lambda: setattr(between, "to_lose", between.to_lose + 1))

        def promote() -> None:
            history = ledger.live[random.choice(references)]
            history.append((history[-1][0] + 1, clock.time))

        for _ in range(100):
            at(start + 2 * MINUTE + _up_to(24 * HOUR - 12 * MINUTE), promote)
        clock.pass_(end + MINUTE - start)

        sums = [sum(totals[nth] for totals in closed) for nth in range(4)]
        context = (
            f"SEED={seed}, {len(used)} calls, {ledger.reads} reads, {between.lost_reads} lost, {dict(sources)}, lags {lags}, "
            f"{between.odd_answers} odd answers, {given} thumbs"
        )
        if os.environ.get("VERBOSE"):
            print(context)
        self.assertEqual(failures, [], context)
        self.assertEqual(len(closed), 2 * processes + 1, context)
        # No prompt older than said.
        self.assertLessEqual(lags["calm"], look_every, context)
        self.assertLessEqual(lags["cache"], MINUTE, context)
        self.assertLessEqual(lags["any"], HOUR + MINUTE, context)
        # Every record once, under the version and the deployment it was made with, and every thumb.
        self.assertEqual(sums[:3], [len(used) + given, 0, 0], context)
        made = {key: (record["deployId"], record.get("promptVersion", 0)) for key, record in ledger.records.items()}
        wanted = {key: (ledger.id_of(reference) if version else reference, version) for key, (reference, version) in used.items()}
        self.assertEqual(made, wanted, context)
        self.assertEqual(ledger.thumbs, thumbs, context)
        # Each process reads a prompt once, and once for each change.
        self.assertEqual(ledger.reads, sums[3] + between.lost_reads, context)


if __name__ == "__main__":
    unittest.main()
