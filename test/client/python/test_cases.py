"""The cases of cases.json, by both clients, against a service that answers as each step says."""

from __future__ import annotations

import hashlib
import json
import unittest
from typing import Any, Dict, List, Set
from urllib.parse import parse_qs, urlsplit

from stage import Stage, answer, describe, load, name_of, silent
from promptledger import MissingVariables, Request, Response
from promptledger.fill import fill_messages
from promptledger.rollout import gets_candidate
from promptledger.tokens import sign_token

cases = load("cases.json")
deploy_id = "support/assistant@production"
fallback = {"messages": [{"role": "system", "content": "You answer customers of {{shop}}."}]}
record = {"deployId": deploy_id, "sessionId": "session-1", "status": 1, "content": {"input": "Hi", "output": "Hello"}}
event_names = {
    "ChangeEvent": "change",
    "StaleEvent": "stale",
    "ErrorEvent": "error",
    "RecoverEvent": "recover",
    "DropEvent": "drop",
}


class FillCases(unittest.TestCase):
    def test_fill(self) -> None:
        for case in cases["fill"]:
            with self.subTest(case["name"]):

                def fill() -> List[Dict[str, Any]]:
                    missing = case.get("option", "raise")
                    return fill_messages(case["messages"], case["values"], case.get("lists"), missing)

                if "filled" in case:
                    self.assertEqual(fill(), case["filled"])
                else:
                    with self.assertRaises(MissingVariables) as caught:
                        fill()
                    self.assertEqual(caught.exception.code, "missing_variables")
                    self.assertEqual(list(caught.exception.names), case["missing"])

    def test_tokens(self) -> None:
        for case in cases["tokens"]:
            made = sign_token(case["key"], case["record"], case["names"], case["author"], case["expires"])
            self.assertEqual(made, case["token"])


class RolloutCases(unittest.TestCase):
    def test_vectors(self) -> None:
        for vector in load("rollout-vectors.json"):
            percent = vector["tenths"] / 10
            got = gets_candidate(vector["deployId"], vector["salt"], percent, vector["key"])
            self.assertEqual(got, vector["isCandidate"], vector["key"])

    def test_ten_thousand_keys(self) -> None:
        choices = cases["choices"]
        got = [
            gets_candidate(choices["deployId"], choices["salt"], (nth % 1_000 + 1) / 10, f"user-{nth}")
            for nth in range(10_000)
        ]
        text = "".join("1" if is_candidate else "0" for is_candidate in got)
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest(), choices["digest"])

    def test_half_a_surrogate_pair_counts_as_a_replacement(self) -> None:
        for percent in range(100):
            half, replaced = (gets_candidate("dep_1", "salt_1", percent, key) for key in ("\ud800", "\ufffd"))
            self.assertEqual(half, replaced)


class Service:
    """Answers as the steps say, and notes what is sent."""

    def __init__(self) -> None:
        self.answers: Dict[str, str] = {}
        self.sent: List[str] = []
        self.batches: List[int] = []
        self.keys: Set[str] = set()
        self.recorded: List[List[Any]] = []

    def __call__(self, request: Request) -> Response:
        name = name_of(request)
        self.sent.append(name)
        assert request.headers["Authorization"] == "Bearer pl_key"
        query = parse_qs(urlsplit(request.url).query)
        assert query.get("deployId", [deploy_id]) == [deploy_id]
        assert request.headers.get("Accept-Rollout") == ("1" if name == "read" else None)
        count = 0
        if name == "submit":
            self.keys.add(request.headers["Idempotency-Key"])
        if name in ("batch", "feedback"):
            body = json.loads(request.body or b"")
            items = body.get("records") or body["feedback"]
            self.keys.update(item["idempotencyKey"] for item in body.get("records", []))
            self.recorded += [[item.get("promptVersion"), item.get("rollout")] for item in body.get("records", [])]
            count = len(items)
            self.batches.append(count)
        found = cases["answers"][self.answers.get(name, "unreachable")]
        if found is None:
            raise ConnectionRefusedError("refused")
        if found == "silent":
            return silent(request)
        body = {"results": [found["each"]] * count} if "each" in found else found.get("body")
        return answer(found["status"], found.get("text", body), found.get("headers"))


class Kept:
    """A snapshot that is never written."""

    def __init__(self, snapshot: Dict[str, Any]) -> None:
        self._text = json.dumps(snapshot)

    def load(self) -> str:
        return self._text

    def save(self, text: str) -> None:
        pass


class Cases(unittest.TestCase):
    is_async = False

    def run_case(self, case: Dict[str, Any]) -> None:
        options = dict(case["options"])
        service = Service()
        made: Dict[str, Any] = {}
        if "watch" in options:
            made["watch_seconds"] = options.pop("watch") or None
        if "maxQueued" in options:
            made["max_queued"] = options.pop("maxQueued")
        self.assertEqual(options, {})
        if "snapshot" in case:
            made["snapshot"] = Kept(case["snapshot"])
        stage = Stage(service, self.is_async, **made)
        self.addCleanup(stage.clock.close)
        for index, step in enumerate(case["steps"]):
            where = f"step {index + 1}"
            service.answers.update(step.get("service", {}))
            outcome = None
            if "ask" in step:
                given = {"fallback": fallback} if step["ask"] == "with fallback" else {}
                if "key" in step:
                    given["key"] = step["key"]
                if "session" in step:
                    given["session_id"] = step["session"]
                outcome = stage.call("prompt", deploy_id, **given)
                if step.get("done"):
                    stage.clock.pass_(0)
                    outcome.value.call().done(status=1, output="Hello")
            elif "submit" in step:
                outcome = stage.call("submit", record)
            elif "close" in step:
                outcome = stage.call("close", timeout_seconds=step["close"] / 1_000)
            for _ in range(step.get("record", 0)):
                stage.client.record(record)
            for nth in range(step.get("feedback", 0)):
                stage.client.feedback("order-4711", name=f"name-{nth}", value=True)
            stage.clock.pass_(step.get("wait", 0))
            if "gives" in step:
                assert outcome is not None
                given = describe(outcome)
                if isinstance(given, dict):
                    given = {name: given[name] for name in step["gives"]}
                self.assertEqual(given, step["gives"], where)
            told = [event_names[type(event).__name__] for event in stage.told]
            lists = {"sent": service.sent, "told": told, "batches": service.batches, "recorded": service.recorded}
            for name, found in lists.items():
                if name in step:
                    self.assertEqual(found, step[name], f"{where}: {name}")
            if "sentAtLeast" in step:
                self.assertGreaterEqual(len(service.sent), step["sentAtLeast"], where)
            if "keys" in step:
                self.assertEqual(len(service.keys), step["keys"], where)
            service.sent.clear()
            service.batches.clear()
            service.recorded.clear()
            stage.told.clear()

    def test_cases(self) -> None:
        for group in ("cache", "refusals", "retries", "queue", "feedback", "rollouts", "snapshots"):
            for case in cases[group]:
                with self.subTest(f"{group}: {case['name']}"):
                    self.run_case(case)


class AsyncCases(Cases):
    is_async = True


if __name__ == "__main__":
    unittest.main()
