// Which role the claims of a sign-in give, and under which name.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { addressOf, grantOf, readRoleRules } from "../../src/support/roles.ts";
import type { Claims } from "../../src/support/roles.ts";

const test = suite("roles of people");

/** `admin`, `viewer@ws_1`, or `none`. */
function roleOf(claims: Claims, text: string): string {
  const { rules, faults } = readRoleRules(text);
  assert.equal(faults, []);
  const { role, workspaceId } = grantOf(claims, rules) ?? {};
  return role === undefined ? "none" : workspaceId === undefined ? role : `${role}@${workspaceId}`;
}

test("a rule matches a claim that is its text or has it, whole, with stars for any characters", () => {
  const cases: [claims: Claims, rule: string, role: string][] = [
    [{ groups: "llm" }, "groups:llm=admin", "admin"],
    [{ groups: ["a", "llm"] }, "groups:llm=admin", "admin"],
    [{ groups: ["llm-x", "xllm", "LLM", 1, null, ["llm"]] }, "groups:llm=admin", "none"],
    [{ groups: ["llm-x"] }, "groups:llm-*=admin", "admin"],
    [{ groups: ["/teams/llm/x"] }, "groups:/teams/*/x=admin", "admin"],
    [{ groups: ["aba"] }, "groups:ab*ba=admin", "none"],
    [{ groups: ["ababa", "xy"] }, "groups:a*b*b*a=admin", "admin"],
    [{ groups: ["aba"] }, "groups:a*b*b*a=admin", "none"],
    [{ groups: [] }, "groups:*=admin", "none"],
    [{ groups: "CN=admins" }, "groups:CN=admins=admin", "admin"],
    [{ groups: "arn:aws:x" }, "groups:arn:aws:*=admin", "admin"],
    [{ "https://acme.com/groups": ["llm"] }, "https://acme.com/groups:llm=admin", "admin"],
    [{ realm_access: { roles: ["llm"] } }, "realm_access.roles:llm=admin", "admin"],
    [{ realm_access: null }, "realm_access.roles:llm=admin", "none"],
    [{ "realm_access.roles": "llm" }, "realm_access.roles:llm=admin", "admin"],
    [{}, "constructor.name:Object=admin", "none"],
    [{ groups: "llm" }, "groups.length:3=admin", "none"],
    [{ admin: true }, "admin:true=admin", "none"],
    [{ email: "Ann@ACME.com" }, "email:*@Acme.com=viewer", "viewer"],
    [{ email: "ann@acme.com.evil.com" }, "email:*@acme.com=viewer", "none"],
    [{ email: "ann@acme.com", email_verified: true }, "email:*@acme.com=viewer", "viewer"],
    [{ email: "ann@acme.com", email_verified: false }, "email:*@acme.com=viewer", "none"],
    ...["false", "False", 0, "0", {}].map((verified): [Claims, string, string] => [
      { email: "ann@acme.com", email_verified: verified },
      "email:*@acme.com=viewer",
      "none",
    ]),
    [{ email: "ann@acme.com", email_verified: null }, "email:*@acme.com=viewer", "viewer"],
    [{ email: "ann@ac\u212ae.com" }, "email:*@acke.com=viewer", "none"],
  ];
  for (const [claims, rule, role] of cases) assert.is(roleOf(claims, rule), role, `${JSON.stringify(claims)} ${rule}`);
});

test("of several rules the widest scope counts, then the highest role, then the first", () => {
  const claims = { groups: ["a", "b", "c"] };
  const cases: [rules: string, role: string][] = [
    ["groups:a=viewer, groups:b=admin, groups:c=editor", "admin"],
    ["groups:a=admin@ws_1, groups:b=viewer", "viewer"],
    ["groups:a=viewer@ws_1, groups:b=editor@ws_2, groups:c=editor@ws_3", "editor@ws_2"],
    ["groups:x=owner, groups:c=viewer@ws_3", "viewer@ws_3"],
    ["groups:x=owner", "none"],
  ];
  for (const [rules, role] of cases) assert.is(roleOf(claims, rules), role, rules);
});

test("hostile claims and patterns take little time", () => {
  const { rules } = readRoleRules(`groups:${"a*".repeat(200)}b=admin`);
  const start = performance.now();
  assert.is(grantOf({ groups: ["a".repeat(16_000)] }, rules), undefined);
  assert.is(grantOf({ groups: Array.from({ length: 10_000 }, () => "aab") }, rules), undefined);
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, nth) => [`claim ${nth}`, "x"]));
  assert.is(roleOf({ ...many, groups: "llm" }, "groups:llm=admin"), "admin");
  assert.ok(performance.now() - start < 60_000);
});

test("a person is called by their address, else their user name, else their id", () => {
  const cases: [claims: Claims, address: string | undefined][] = [
    [{ email: "Ann@Acme.com", preferred_username: "ann", sub: "1" }, "ann@acme.com"],
    [{ email: "", preferred_username: "Ann", sub: "1" }, "Ann"],
    [{ email: 1, sub: "1" }, "1"],
    [{ email: "boss@acme.com", preferred_username: "boss@acme.com", sub: "1", email_verified: false }, "1"],
    [{ email: "ann@acme.com\n" }, undefined],
    [{ email: "ann\u202e@acme.com", sub: "1" }, undefined],
    [{ email: " ann@acme.com" }, undefined],
    [{ email: "a".repeat(201) }, undefined],
    [{ sub: "\ud800" }, undefined],
    [{ sub: "" }, undefined],
    [{}, undefined],
  ];
  for (const [claims, address] of cases) assert.is(addressOf(claims), address, JSON.stringify(claims));
});

test.run();
