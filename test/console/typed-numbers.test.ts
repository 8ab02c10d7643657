// Numbers that people type into forms and filters: each is read as what it is, or refused.
// Runs on Node alone.
import * as assert from "uvu/assert";
import { suite } from "../suite.ts";
import { getWorkspace } from "../../src/management/kernel/workspaces.ts";
import { call, updateWorkspace } from "../actions.ts";
import { createVisit, refusalIn } from "./visitor.ts";

const test = suite("numbers at the console");

const { world, visitor } = await createVisit();
test.after(() => world.close());
const { admin, workspaceId } = world;

const day = 86_400_000;
const most = Number.MAX_SAFE_INTEGER;
const wrong = [
  "1,5",
  "10,00",
  "1.000",
  "1.5",
  "1,0000",
  "1,000 000",
  ",100",
  "1 00",
  "1'000",
  "1_000",
  "+5",
  "5e2",
  "0x10",
  "many",
];

const fields = { name: "Acme", monthlyLimit: "5", keepRecords: "", keepCalls: "" };
const stored = async () => {
  const { monthlyLimit, keepRecordsMs, statuses } = await call(getWorkspace, admin, { id: workspaceId });
  return { monthlyLimit, keepRecordsMs, statuses };
};

test("a limit and a retention with a separator that is none of thousands are refused, and nothing is stored", async () => {
  const before = await stored();
  for (
    const [name, label] of [["monthlyLimit", "Requests per month"], ["keepRecords", "Keep records for days"]] as const
  ) {
    for (const text of wrong) {
      const answer = await visitor.send("/settings", { ...fields, [name]: text, consent: "yes" });
      const refusal = refusalIn(answer.text);
      assert.equal(
        [answer.status, refusal?.startsWith(`${label} must be a whole number`)],
        [400, true],
        `${text}: ${refusal}`,
      );
      assert.match(answer.text, `value="${text.replace("'", "&#39;")}"`);
    }
  }
  assert.match(
    refusalIn((await visitor.send("/settings", { ...fields, monthlyLimit: "1,5" })).text)!,
    "must be a whole number without separators, such as 1000.",
  );
  assert.equal(await stored(), before);
});

test("thousands may have separators, and every limit that is stored can be stored again", async () => {
  for (
    const [text, limit] of [["2,000", 2_000], ["1 000 000", 1e6], [String(most), most], ["9,007,199,254,740,991", most]]
  ) {
    assert.is((await visitor.send("/settings", { ...fields, monthlyLimit: String(text) })).status, 303, String(text));
    assert.is((await stored()).monthlyLimit, limit);
  }
  assert.is((await visitor.send("/settings", { ...fields, keepRecords: "1,000", consent: "yes" })).status, 303);
  assert.is((await stored()).keepRecordsMs, 1_000 * day);
  const statuses = [{ status: most, name: "ok" }, { status: -most, name: "failed", isFailure: true }];
  await updateWorkspace(admin, workspaceId, { statuses });
  const form = {
    do: "statuses",
    "code-0": String(most),
    "name-0": "ok",
    "code-1": String(-most),
    "name-1": "bad",
    "failure-1": "yes",
  };
  assert.is((await visitor.send("/settings", form)).status, 303);
  assert.equal((await stored()).statuses.map(({ status }) => status), [-most, most]);
});

test("no other form reads a number from what is none", async () => {
  const { deployId } = world, id = ((await world.submit()).json as { id: string }).id;
  const forms: [path: string, name: string, form: Record<string, string>, texts?: string[]][] = [
    ["/reviews/new?status=ok", "records", { title: "Look" }],
    ["/alerts", "atLeast", { condition: "failures>5%", overMs: "900000" }],
    [`/deployments/${deployId}/rollout`, "percent", { do: "start", version: "1" }, ["1,5", "0x10", "5e1", "1 0", "+5"]],
    ["/settings/feedback", "minimum", { do: "declare", name: "score", kind: "number" }, [
      "0,5",
      "1,000",
      "0x1",
      "5e-1",
    ]],
    [`/records/${id}`, "value", { do: "give", name: "new-name" }, ["1,5", "-0,25", "1,000"]],
    ["/settings", "code-0", { do: "statuses", "name-0": "x" }],
    [`/keys/${world.keyId}`, "overlap", { do: "rotate" }, ["1,5", "1h"]],
  ];
  for (const [path, name, form, texts = wrong] of forms) {
    for (const text of texts) {
      const answer = await visitor.send(path, { ...form, [name]: text });
      assert.ok(
        [400, 404].includes(answer.status) && answer.status === 400,
        `${path} ${name}=${text}: ${answer.status}`,
      );
    }
  }
});

test("no filter does", async () => {
  for (const name of ["slower", "tokens", "version"]) {
    for (const text of ["1,5", "1,000", "0x10", "5e2"]) {
      const { status, text: page } = await visitor.open(
        `${workspaceId}/records?${new URLSearchParams({ [name]: text })}`,
      );
      assert.is(status, 400);
      assert.match(refusalIn(page)!, "must be a number", `${name}=${text}`);
    }
  }
});

test.run();
