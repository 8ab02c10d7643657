"""The answers of odd.json, which come from something between a client and the service: none of them costs a record or a prompt.
The service's own refusals, and texts that come close, are told apart."""

from __future__ import annotations

import json
import unittest
from collections import Counter
from typing import Any, Dict, List, Optional, Tuple

from stage import Clock, Outcome, Stage, answer, is_full, load, name_of
from promptledger import PromptLedgerError, Request, Response

odd = load("odd.json")
deploy_id = "support/assistant@production"
fallback = {"messages": [{"role": "system", "content": "You answer customers of {{shop}}."}]}
prompt = {
    "id": "prompt_1",
    "title": "Support assistant",
    "description": "",
    "messages": fallback["messages"],
    "deploy": {"id": "dep_1", "name": "production", "currentVersion": 1, "isActive": True},
    "workspace": {"id": "ws_1", "name": "My team"},
    "llmConfig": {},
}
deployments = {"dep_1": {"reference": deploy_id, "revision": 1, "version": 1, "isActive": True}}
body = {"deployId": deploy_id, "sessionId": "session-1", "status": 1, "content": {"output": "Hello"}}


class Store:
    def __init__(self, saved: List[str], is_kept: bool = True) -> None:
        self.saved, self.is_kept = saved, is_kept

    def load(self) -> Optional[str]:
        return self.saved[-1] if self.saved and self.is_kept else None

    def save(self, text: str) -> None:
        self.saved.append(text)


class Service:
    """A service, in whose place something else answers while `odd` is set."""

    def __init__(self) -> None:
        self.odd: Optional[Response] = None
        self.stored: "Counter[str]" = Counter()
        self.clock = Clock()

    def __call__(self, request: Request) -> Response:
        if self.odd is not None:
            return self.odd
        name = name_of(request)
        if name == "read":
            return answer(200, prompt)
        if name == "look":
            return answer(200, {"deployments": deployments})
        if name == "submit":
            self.stored[json.loads(request.headers["Idempotency-Key"])] += 1
            return answer(201, {"id": "diag_1", "status": "success", "message": ""})
        records = json.loads(request.body or b"")["records"]
        for record in records:
            self.stored[record["idempotencyKey"]] += 1
        return answer(200, {"results": [{"status": 201, "id": "diag_1"}] * len(records)})

    def connect(self, **options: Any) -> Stage:
        return Stage(self, clock=self.clock, watch_seconds=None, **options)


class Odd(unittest.TestCase):
    def survive(self, response: Response) -> None:
        """What an answer does to a client that has a prompt and 120 records, and to one that has nothing."""
        service = Service()
        clock = service.clock
        saved: List[str] = []
        stage = service.connect(max_age_seconds=1, snapshot=Store(saved))
        stage.call("prompt", deploy_id)
        clock.pass_(2_500)
        self.assertEqual(len(saved), 1)

        service.odd = response
        for number in range(120):
            stage.client.record({**body, "idempotencyKey": f"key-{number}"})
        cold = service.connect(snapshot=Store(saved, False))
        asked = cold.call("prompt", deploy_id)
        submitted = stage.call("submit", {**body, "idempotencyKey": "submitted"})
        for _ in range(3):
            clock.pass_(500)
            served = stage.ask(deploy_id)
            self.assertEqual((served.source, served.version), ("stale", 1))
        with_fallback = cold.call("prompt", deploy_id, fallback=fallback)
        service.odd = None
        clock.pass_(1_500)
        is_unavailable = response.status in (408, 500, 502, 503, 504)
        wanted = ("unavailable" if is_unavailable else "unexpected_response", True, response.status)
        self.check(asked, wanted)
        self.assertIn(with_fallback.value.source, ("server", "cache", "fallback"))

        clock.pass_(60_000)
        if isinstance(submitted.value, PromptLedgerError):
            self.check(submitted, wanted)
            self.assertNotIn("submitted", service.stored)
        service.stored.pop("submitted", None)
        stats = stage.client.stats()
        self.assertEqual((stats.sent, stats.dropped, stats.failed), (120, 0, 0))
        self.assertEqual((len(service.stored), max(service.stored.values())), (120, 1))
        self.assertEqual(stage.ask(deploy_id).version, 1)
        # The error of the queue, of looks and of reads is told once each, and so is its end.
        told = Counter(type(event).__name__ for event in stage.told + cold.told)
        self.assertTrue(2 <= told["ErrorEvent"] <= 4, told)
        self.assertEqual(told["DropEvent"], 0)
        for text in saved:
            self.assertIn('"dep_1"', text)

    def check(self, outcome: Outcome, wanted: Tuple[str, bool, int]) -> None:
        error = outcome.value
        if isinstance(error, PromptLedgerError):
            self.assertEqual((error.code, error.retryable, error.status), wanted)
        else:
            self.assertEqual(error.source, "server")

    def test_no_odd_answer_costs_a_record_or_a_prompt(self) -> None:
        texts, headers = list(odd["bodies"].items()), list(odd["headers"].items())
        step = 5 if is_full else 31
        count = 0
        for row, status in enumerate(odd["statuses"]):
            for column, (name, text) in enumerate(texts):
                header_name, header = headers[(row + column) % len(headers)]
                if (row * len(texts) + column) % step == 0:
                    with self.subTest(f"{status}, {name}, headers of {header_name}"):
                        self.survive(answer(status, text, header))
                    count += 1
        self.assertGreater(count, 50)

    def code_of(self, refusal: Dict[str, Any]) -> Tuple[str, bool]:
        """What a client that has nothing makes of an answer."""
        service = Service()
        service.odd = answer(refusal["status"], refusal["body"])
        error = service.connect(retries=0).ask(deploy_id)
        return error.code, error.retryable

    def test_own_refusals_are_believed(self) -> None:
        for refusal in odd["own"]:
            self.assertEqual(self.code_of(refusal), (refusal["code"], False), refusal)

    def test_what_comes_close_is_not_believed(self) -> None:
        for refusal in odd["foreign"]:
            with self.subTest(refusal):
                self.assertEqual(self.code_of(refusal), ("unexpected_response", True))
                self.survive(answer(refusal["status"], refusal["body"]))

    def test_such_an_answer_names_the_url_and_its_text(self) -> None:
        def message_of(text: str) -> str:
            stage = Stage(lambda _: answer(404, text), url="http://x.test/llm2", retries=0)
            return str(stage.ask(deploy_id))

        expected = "Unexpected response 404 from http://x.test/llm2: "
        self.assertEqual(message_of('{"error":"Not found"}'), expected + "Not found")
        self.assertEqual(message_of(""), expected + "is it promptledger?")


if __name__ == "__main__":
    unittest.main()
