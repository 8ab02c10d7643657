"""What cases.json does not say: contents, masks, snapshots, feedback, errors and options, on a virtual clock."""

from __future__ import annotations

import ast
import copy
import dataclasses
import datetime
import enum
import json
import logging
import os
import pickle
import sys
import tempfile
import unicodedata
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional

from stage import NOON, Clock, Stage, answer, load, name_of
import promptledger
from promptledger import (
    AuthenticationError,
    Client,
    ErrorEvent,
    MissingVariables,
    NotFoundError,
    PromptLedgerError,
    QuotaExceededError,
    Request,
    Response,
    UnavailableError,
)
from promptledger.fill import fill_messages

answers = load("cases.json")["answers"]
deploy_id = "support/assistant@production"
body: Dict[str, Any] = {"deployId": deploy_id, "sessionId": "session-1", "status": 1, "content": {"output": "Hello"}}
fallback = {"messages": [{"role": "system", "content": "{{shop}}"}]}


class Service:
    """Answers well, and keeps what it gets."""

    def __init__(self) -> None:
        self.is_away = False
        self.read, self.look = "version 1", "live 1"
        self.records: List[Dict[str, Any]] = []
        self.pieces: List[Dict[str, Any]] = []
        self.requests: List[Request] = []

    def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        if self.is_away:
            raise ConnectionRefusedError("refused")
        name = name_of(request)
        if name in ("read", "look"):
            found = answers[self.read if name == "read" else self.look]
            return answer(found["status"], found["body"])
        sent = json.loads(request.body or b"")
        if name == "submit":
            self.records.append(sent)
            return answer(201, {"id": "diag_1", "status": "success"})
        self.records += sent.get("records", [])
        self.pieces += sent.get("feedback", [])
        if "records" in sent:
            ids = [{"status": 201, "id": f"diag_{record['sessionId']}"} for record in sent["records"]]
            return answer(200, {"results": ids})
        return answer(200, {"results": [{"status": 200, "recordId": None}] * len(sent["feedback"])})


class ClientTest(unittest.TestCase):
    def stage(self, **options: Any) -> Stage:
        self.service = Service()
        return Stage(self.service, **options)

    def test_a_prompt_says_what_the_service_says_and_gives_copies(self) -> None:
        prompt = self.stage().ask(deploy_id)
        self.assertEqual((prompt.title, prompt.description), ("Support assistant", "Answers customers"))
        self.assertEqual((prompt.deploy_id, prompt.version, prompt.source), ("dep_1", 1, "server"))
        self.assertEqual(prompt.reference, deploy_id)
        self.assertEqual(prompt.llm_config, {"model": "gpt-6-luna"})
        prompt.messages[0]["content"] = "changed"
        prompt.llm_config["model"] = "changed"
        self.assertEqual(prompt.fill({"shop": "Acme"})[0]["content"], "You answer customers of Acme.")
        self.assertEqual(prompt.llm_config, {"model": "gpt-6-luna"})
        with self.assertRaises(dataclasses.FrozenInstanceError):
            prompt.source = "cache"
        self.assertNotIn("Acme", repr(prompt))

    def test_a_fallback_has_what_it_gives(self) -> None:
        stage = self.stage(retries=0)
        self.service.is_away = True
        prompt = stage.ask(deploy_id, fallback={**fallback, "llmConfig": {"model": "m"}, "version": 7})
        self.assertEqual((prompt.source, prompt.version, prompt.deploy_id), ("fallback", 7, deploy_id))
        self.assertEqual(prompt.reference, deploy_id)
        self.assertEqual((prompt.title, prompt.llm_config), ("", {"model": "m"}))

    def test_values_are_written_as_json_writes_them(self) -> None:
        class Size(str, enum.Enum):
            SMALL = "small"

        def fill(value: Any) -> str:
            text: str = fill_messages([{"role": "user", "content": "{{a}}"}], {"a": value})[0]["content"]
            return text

        values = ["x", 1, 1.5, True, False, Size.SMALL, "\ud83d", "\ud83d\ude00"]
        self.assertEqual([fill(value) for value in values], ["x", "1", "1.5", "true", "false", "small", "\ufffd", "😀"])
        for wrong in ({}, [], object(), b"x"):
            with self.assertRaisesRegex(PromptLedgerError, "Variable a must be a text"):
                fill(wrong)
        with self.assertRaises(MissingVariables):
            fill(None)
        with self.assertRaisesRegex(PromptLedgerError, "missing must be"):
            fill_messages([], {}, {}, "throw")

    def test_names_of_variables_are_letters_and_digits_of_any_script(self) -> None:
        def fill(text: str) -> str:
            found: str = fill_messages([{"role": "user", "content": text}], {}, None, "empty")[0]["content"]
            return found

        for code in range(0x80, 0x3000):
            is_name = unicodedata.category(chr(code))[0] in "LN"
            self.assertEqual(fill(f"{{{{{chr(code)}}}}}") == "", is_name, hex(code))
        for space in "\t\n\v\f\r \xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff":
            self.assertEqual(fill(f"{{{{{space}a{space}}}}}"), "", hex(ord(space)))
        for other in "\x1c\x1f\x85\u180e\u200b":
            self.assertNotEqual(fill(f"{{{{{other}a}}}}"), "", hex(ord(other)))

    def test_variables_that_need_no_value_have_what_stands_for_them(self) -> None:
        stage = self.stage(prompts={deploy_id: {"optional": {"shop": "", "history": []}}})
        prompt = stage.ask(deploy_id)
        self.assertEqual(prompt.fill()[0]["content"], "You answer customers of .")
        self.assertEqual(prompt.fill({"shop": "Acme"})[0]["content"], "You answer customers of Acme.")
        self.assertIn("{{shop}}", prompt.fill(missing="keep")[0]["content"])

    def test_a_call_is_recorded_once_with_its_version_and_times(self) -> None:
        stage = self.stage()
        call = stage.ask(deploy_id).call(session_id="order-4711", additional_properties={"trace": "t"})
        key = call.record
        stage.clock.pass_(250)
        call.done(status=1, input=[{"role": "user", "content": "Hi"}], output="Hello", usage={"input_tokens": 3})
        call.done(status=0)
        stage.clock.pass_(1_000)
        self.assertEqual(self.service.records, [{
            "deployId": "dep_1",
            "idempotencyKey": key,
            "sessionId": "order-4711",
            "status": 1,
            "content": {"input": '[{"role":"user","content":"Hi"}]', "output": "Hello"},
            "latency": 250,
            "startAt": NOON,
            "endAt": NOON + 250,
            "additional_properties": {"trace": "t", "token_usage": {"input_tokens": 3}},
            "promptVersion": 1,
        }])
        self.assertRegex(key, r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(call.record, "diag_order-4711")

    def test_a_call_may_name_the_model_that_it_used(self) -> None:
        stage = self.stage()
        prompt = stage.ask(deploy_id)
        prompt.call().done(status=1, output="Hello", model="gpt-5", provider="openai")
        prompt.call().done(status=1, output="Hello")
        stage.clock.pass_(1_000)
        named, plain = self.service.records
        self.assertEqual((named["model"], named["provider"]), ("gpt-5", "openai"))
        self.assertFalse({"model", "provider"} & set(plain))

    def test_what_is_no_json_is_recorded_as_json(self) -> None:
        class Model:
            def model_dump(self, mode: str) -> Dict[str, Any]:
                return {"mode": mode}

        @dataclasses.dataclass
        class Point:
            x: float

        stage = self.stage()
        when = datetime.datetime(2026, 11, 20, 12, tzinfo=datetime.timezone.utc)
        output = [Model(), Point(1.5), when, {1}, float("nan"), "\ud83d", enum.Enum("E", "A").A]
        stage.ask(deploy_id).call().done(status=1, output=output, usage=Model())
        endless: List[Any] = []
        endless.append(endless)
        stage.ask(deploy_id).call().done(status=1, output=endless)
        stage.clock.pass_(1_000)
        [record] = self.service.records
        written = '[{"mode":"json"},{"x":1.5},"2026-11-20T12:00:00+00:00",[1],null,"\\ud83d",1]'
        self.assertEqual(record["content"], {"output": written})
        self.assertEqual(record["additional_properties"]["token_usage"], {"mode": "json"})
        self.assertEqual(stage.client.stats().dropped, 1)
        self.assertEqual([event.error.code for event in stage.told], ["invalid_record"])

    def test_a_mask_replaces_leaves_out_or_drops(self) -> None:
        def mask(record: Dict[str, Any]) -> Optional[Dict[str, Any]]:
            if record["sessionId"] == "broken":
                raise ValueError("broken")
            return None if record["sessionId"] == "secret" else {**record, "content": {"output": "masked"}}

        stage = self.stage(mask=mask)
        for session in ("a", "secret", "broken"):
            stage.client.record({**body, "sessionId": session})
        secret = stage.ask(deploy_id).call(session_id="secret")
        secret.done(status=1)
        secret.feedback(name="thumb", value=True)
        self.assertIsNone(secret.record)
        self.assertEqual(stage.call("submit", {**body, "sessionId": "secret"}).value.code, "invalid_argument")
        self.assertEqual(stage.call("submit", {**body, "sessionId": "broken"}).value.code, "mask_failed")
        stage.clock.pass_(1_000)
        self.assertEqual([record["content"]["output"] for record in self.service.records], ["masked"])
        self.assertEqual((stage.client.stats().dropped, self.service.pieces), (1, []))

    def test_feedback_goes_by_the_key_and_later_by_the_id(self) -> None:
        stage = self.stage()
        call = stage.ask(deploy_id).call(session_id="s")
        key = call.record
        call.feedback(name="thumb", value=True, comment="It knew")
        stage.clock.pass_(1_000)
        call.done(status=1)
        stage.clock.pass_(1_000)
        call.feedback(name="score", value=0.5, author="judge", source="program")
        stage.client.feedback("diag_9", name="thumb", value=None)
        call.feedback(name="score", value=float("inf"))
        stage.clock.pass_(1_000)
        self.assertEqual(self.service.pieces, [
            {"name": "thumb", "value": True, "comment": "It knew", "record": key},
            {"name": "score", "value": 0.5, "author": "judge", "source": "program", "record": "diag_s"},
            {"name": "thumb", "value": None, "record": "diag_9"},
        ])
        self.assertEqual(stage.client.stats().dropped, 1)

    def test_tokens_name_the_record_and_are_refused_if_they_could_not_be_used(self) -> None:
        stage = self.stage()
        call = stage.ask(deploy_id).call()
        hour = datetime.timedelta(hours=1)
        self.assertRegex(call.feedback_token(names=["thumb"], expires=hour), r"^plf_[\w-]+\.[\w-]{43}$")
        at = datetime.datetime.fromtimestamp((NOON + 3_600_000) / 1_000, datetime.timezone.utc)
        same = [call.feedback_token(names=["thumb"], expires=expires) for expires in (hour, at)]
        self.assertEqual(same[0], same[1])
        wrong: List[Dict[str, Any]] = [
            {"names": []},
            {"names": "thumb"},
            {"names": ["a b"]},
            {"expires": -hour},
            {"expires": 60 * hour},
            {"expires": 3_600},
            {"author": "\n"},
            {"names": ["a" * 64] * 60},
        ]
        for given in wrong:
            with self.assertRaises(PromptLedgerError, msg=str(given)) as caught:
                call.feedback_token(**{"names": ["thumb"], "expires": hour, **given})
            self.assertEqual(caught.exception.code, "invalid_argument")
        call.done(status=1)
        stage.clock.pass_(1_000)
        self.assertTrue(call.feedback_token(names=["thumb"], expires=29 * 24 * hour))

    def test_a_snapshot_serves_while_the_service_is_away(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "prompts.json")
            self.stage(snapshot=path).ask(deploy_id)
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.assertEqual(os.listdir(folder), ["prompts.json"])
            stage = self.stage(snapshot=str(path), retries=0)
            self.service.is_away = True
            prompt = stage.ask(deploy_id, fallback=fallback)
            self.assertEqual((prompt.source, prompt.version), ("snapshot", 1))
            other = self.stage(snapshot=path, retries=0, api_key="pl_other_key")
            self.service.is_away = True
            self.assertEqual(other.ask(deploy_id, fallback=fallback).source, "fallback")

            # What is switched off does not come back.
            stage = self.stage(snapshot=path, retries=0)
            self.service.read = "not found"
            self.assertIsInstance(stage.ask(deploy_id), NotFoundError)
            stage = self.stage(snapshot=path, retries=0)
            self.service.is_away = True
            self.assertIsInstance(stage.ask(deploy_id), UnavailableError)

    def test_a_bundle_serves_every_client(self) -> None:
        text = json.dumps({"entries": {deploy_id: {"at": 0, "prompt": answers["version 2"]["body"]}}})

        class Bundle:
            def load(self) -> str:
                return text

            def save(self, text: str) -> None:
                pass

        def offline(_: Request) -> Response:
            raise OSError("offline")

        for api_key in ("", "pl_key"):
            stage = Stage(offline, api_key=api_key, retries=0, snapshot=Bundle())
            prompt = stage.ask(deploy_id)
            self.assertEqual((prompt.source, prompt.version), ("snapshot", 2))

    def test_a_snapshot_that_cannot_be_saved_is_told_and_costs_nothing(self) -> None:
        stage = self.stage(snapshot="/does/not/exist/prompts.json")
        self.assertEqual(stage.ask(deploy_id).source, "server")
        self.assertEqual([event.error.code for event in stage.told], ["snapshot_failed"])
        self.assertEqual(stage.ask(deploy_id).source, "cache")

    def test_no_key_is_sent_where_there_is_none(self) -> None:
        stage = self.stage(api_key="")
        stage.ask(deploy_id)
        self.assertNotIn("Authorization", self.service.requests[0].headers)

    def test_a_refused_key_that_is_a_management_token_is_called_one(self) -> None:
        def message(api_key: str) -> str:
            stage = self.stage(api_key=api_key)
            self.service.read = "unauthorized"
            error = stage.ask(deploy_id)
            self.assertIsInstance(error, AuthenticationError)
            return str(error)

        self.assertEqual(message("plm_1"), "Invalid API key: this is a management token")
        self.assertEqual(message("pl_1"), "Invalid API key")

    def test_options_that_cannot_be_used_raise(self) -> None:
        wrong: List[Dict[str, Any]] = [
            {"url": "ledger.example.com"},
            {"url": "https://u:p@ledger.example.com"},
            {"url": "https://ledger.example.com?x=1"},
            {"api_key": "pl key"},
            {"api_key": " "},
            {"max_age_seconds": -1},
            {"retries": float("nan")},
            {"max_queued": "many"},
        ]
        for given in wrong:
            with self.assertRaises(PromptLedgerError, msg=str(given)) as caught:
                Client(**{"url": "https://ledger.example.com", "api_key": "pl_key", **given})
            self.assertEqual(caught.exception.code, "invalid_argument")
            self.assertNotIn("pl key", str(caught.exception))

    def test_options_come_from_the_environment(self) -> None:
        names = ("PROMPTLEDGER_URL", "PROMPTLEDGER_API_KEY")
        before = {name: os.environ.pop(name, None) for name in names}
        try:
            with self.assertRaisesRegex(PromptLedgerError, "PROMPTLEDGER_URL"):
                Client()
            os.environ["PROMPTLEDGER_URL"] = "http://ledger.test/llm/v1/"
            with self.assertRaisesRegex(PromptLedgerError, "PROMPTLEDGER_API_KEY"):
                Client()
            os.environ["PROMPTLEDGER_API_KEY"] = "pl_key\n"
            stage = self.stage(api_key=None)
            stage.ask(deploy_id)
            [request] = self.service.requests
            expected = "http://ledger.test/llm/v1/prompts?deployId=support%2Fassistant%40production"
            self.assertEqual((request.url, request.headers["Authorization"]), (expected, "Bearer pl_key"))
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value

    def test_what_a_clock_ahead_has_kept_is_replaced_and_pushes_nothing_out(self) -> None:
        year = 31_536_000_000
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "prompts.json")
            stage = self.stage(clock=Clock(NOON + year), snapshot=str(path))
            stage.ask(deploy_id)
            stage.clock.settle()
            [(name, entry)] = json.loads(path.read_text("utf-8"))["entries"].items()
            self.assertEqual(entry["at"], NOON + year)
            ahead = {f"{name}{nth}": {**entry, "at": entry["at"] + nth} for nth in range(1_000)}
            path.write_text(json.dumps({"entries": {name: entry, **ahead}}), "utf-8")
            stage.clock.pass_(-year)
            self.service.read, self.service.look = "version 2", "live 2"
            service, other = self.service, self.stage(clock=stage.clock, snapshot=str(path))
            self.service.read = "version 2"
            other.ask(deploy_id)
            other.clock.settle()
            entries = json.loads(path.read_text("utf-8"))["entries"]
            self.assertEqual((entries[name]["prompt"]["deploy"]["currentVersion"], len(entries)), (2, 1_000))
            # So does the process that was ahead itself.
            path.unlink()
            self.assertEqual(service.read, "version 2")
            stage.clock.pass_(61_000)
            stage.ask(deploy_id)
            stage.clock.settle()
            kept = json.loads(path.read_text("utf-8"))["entries"][name]
            self.assertEqual(kept["prompt"]["deploy"]["currentVersion"], 2)
            self.assertEqual(kept["at"] // 1_000_000, stage.clock.time // 1_000_000)

    def test_a_prompt_is_copied_with_its_client_and_pickled_without_it(self) -> None:
        defaults = {deploy_id: {"optional": {"shop": "", "history": []}}}
        for is_away, options in ((False, {}), (True, {"fallback": {**fallback, "llmConfig": {"model": "m"}, "version": 7}})):
            stage = self.stage(retries=0, prompts=defaults)
            self.service.is_away = is_away
            prompt = stage.ask(deploy_id, session_id="session-2", **options)
            data = pickle.dumps(prompt)
            self.assertNotIn(b"pl_key", data)
            copies = [copy.copy(prompt), copy.deepcopy({"state": [prompt]})["state"][0]]
            for same in [*copies, pickle.loads(data), pickle.loads(pickle.dumps(copies[1], 2))]:
                self.assertEqual(same, prompt)
                self.assertEqual((same.messages, same.llm_config), (prompt.messages, prompt.llm_config))
                self.assertEqual(same.fill({}), prompt.fill({}))
                self.assertEqual(same.call().session_id, "session-2")
            self.assertEqual(dataclasses.asdict(prompt)["source"], prompt.source)
            for same in copies:
                copy.deepcopy(same.call()).done(status=1, output="x")
            self.assertEqual(stage.client.stats().queued, 2)
            call = pickle.loads(data).call()
            with self.assertLogs("promptledger", logging.WARNING) as logs:
                call.done(status=1, output="x")
                call.feedback(name="thumb", value=True)
            self.assertEqual(["lost" in line for line in logs.output], [True, True])
            with self.assertRaisesRegex(PromptLedgerError, "no client"):
                call.feedback_token(names=["thumb"], expires=datetime.timedelta(hours=1))
            self.assertEqual(pickle.loads(pickle.dumps(call)).record, call.record)

    def test_copies_of_what_has_a_client_share_it_and_no_process_gets_another_one_s(self) -> None:
        for kind in (Client, promptledger.AsyncClient):
            client = kind(url="http://127.0.0.1:9", api_key="pl_key")
            self.assertIs(copy.deepcopy({"ledger": client})["ledger"], client)
            self.assertIs(copy.copy(client), client)
            with self.assertRaisesRegex(TypeError, "make one in each process"):
                pickle.dumps(client)

    def test_errors_are_copied_pickled_and_grow_no_tracebacks(self) -> None:
        stage = self.stage()
        self.service.read = "quota exhausted"
        error = stage.ask(deploy_id)
        self.assertIsInstance(error, QuotaExceededError)
        for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            self.assertIs(type(same), QuotaExceededError)
            self.assertEqual((str(same), same.code, same.limit, same.status), (str(error), error.code, 1_000, 429))
        missing = pickle.loads(pickle.dumps(MissingVariables(("a", "b"))))
        self.assertEqual((missing.names, str(missing)), (("a", "b"), "Variables without a value: a, b"))
        again = stage.ask(deploy_id)
        self.assertIsNot(again, error)

        def depth(error: BaseException) -> int:
            count, trace = 0, error.__traceback__
            while trace is not None:
                count, trace = count + 1, trace.tb_next
            return count

        self.assertEqual(depth(stage.ask(deploy_id)), depth(again))

    def test_a_quota_that_makes_no_sense_is_used_up_all_the_same(self) -> None:
        for reset in ("1e300", "-1", "nan", "soon"):
            for details in (None, {"limit": "many", "used": -1e300}):
                headers = {"X-RateLimit-Limit": "1e300", "X-RateLimit-Reset": reset}
                refusal = {"error": "Rate limit exceeded", "code": "quota_exhausted", "details": details}
                error = Stage(lambda _: answer(429, refusal, headers)).ask(deploy_id)  # noqa: B023
                self.assertIsInstance(error, QuotaExceededError)
                self.assertIsInstance(error.reset_at, datetime.datetime)

    def test_losses_that_nobody_listens_for_are_logged_once(self) -> None:
        service = Service()
        service.is_away = True
        clock = Clock()
        kind = type("Virtual", (Client,), {"_runtime": staticmethod(lambda: clock)})
        client = kind(api_key="pl_key", transport=service)
        with self.assertLogs("promptledger", logging.WARNING) as logged:
            client.record(body)
            clock.pass_(10_000)
        self.assertEqual(len(logged.output), 1)
        self.assertIn("Cannot reach http://promptledger.invalid: refused", logged.output[0])

    def test_listeners_may_raise_and_end(self) -> None:
        stage = self.stage(retries=0)
        self.service.is_away = True
        seen: List[ErrorEvent] = []

        def broken(_: object) -> None:
            raise ValueError("broken")

        stage.client.on("error", broken)
        end = stage.client.on("error", seen.append)
        stage.client.record(body)
        stage.clock.pass_(1_000)
        self.assertEqual(len(seen), 1)
        end()
        end()
        with self.assertRaisesRegex(ValueError, "Events: change, stale"):
            stage.client.on("fail", broken)

    def test_a_closed_client_refuses_all(self) -> None:
        stage = self.stage()
        self.assertEqual(stage.call("close").value, (0, 0, 0))
        self.assertEqual(stage.call("close").value, (0, 0, 0))
        self.assertEqual(stage.ask(deploy_id).code, "closed")
        self.assertEqual(stage.call("submit", body).value.code, "closed")
        stage.client.record(body)
        self.assertEqual(self.service.records, [])
        stage.call("flush")

    def test_a_signal_handler_that_interrupts_the_client_does_not_wait_for_ever(self) -> None:
        stage = self.stage()
        with stage.client._engine.loop, self.assertRaisesRegex(PromptLedgerError, "signal handler"):
            stage.client.record(body)
            stage.client.flush()

    def test_an_idempotency_key_must_pass_a_header(self) -> None:
        stage = self.stage()
        outcome = stage.call("submit", {**body, "idempotencyKey": "a\r\nb"})
        self.assertEqual(outcome.value.code, "invalid_argument")
        self.assertEqual(stage.call("submit", {**body, "idempotencyKey": 'a"b'}).value, "diag_1")
        self.assertEqual(self.service.requests[-1].headers["Idempotency-Key"], '"a\\"b"')

    def test_the_source_is_that_of_python_3_9_and_imports_nothing_else(self) -> None:
        files = list(Path(promptledger.__file__).parent.glob("*.py"))
        self.assertGreater(len(files), 15)
        for file in files:
            tree = ast.parse(file.read_text("utf-8"), feature_version=(3, 9))
            for node in ast.walk(tree):
                self.assertNotEqual(type(node).__name__, "Match", file)
                if isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module or ""]
                elif isinstance(node, ast.Import):
                    names = [name.name for name in node.names]
                else:
                    continue
                for name in names:
                    self.assertTrue(not hasattr(sys, "stdlib_module_names") or name.split(".")[0] in sys.stdlib_module_names)
            if file.name not in ("__init__.py", "version.py", "limits.py"):
                self.assertIn("from __future__ import annotations", file.read_text("utf-8"))
            self.assertLess(len(file.read_text("utf-8").splitlines()), 301, file)

    def test_the_version_is_that_of_the_service(self) -> None:
        self.assertRegex(promptledger.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
