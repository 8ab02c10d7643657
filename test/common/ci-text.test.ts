// Texts of others in what a CI system reads: no command, in whatever parts they are printed.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createGuard, harmlessJson, isInCi, withoutCommands } from "../../src/support/ci-text.ts";
import { commandsIn } from "../ci-commands.ts";

const test = suite("texts in CI");

/** Texts that are likely to have parts of commands. */
const piece = fc.oneof(
  fc.constantFrom(
    ...[
      "#",
      "##",
      "##[",
      "##[add-mask]",
      "##vso[task.setvariable x=y]",
      "##teamcity[a",
      "##octopus[b",
      "vso[",
      "[",
      "::",
      ":",
    ],
    ...[
      "::set-env name=A::b",
      "\n",
      "\r",
      "\r\n",
      " ",
      "\t",
      "\u00a0",
      "--- x",
      "-",
      "+++",
      "~~~ a",
      "^^^ +++",
      "\x1b[0K",
      "\x1b]1338;",
    ],
    ...["section_start:1:a\r\x1b[0K", "travis_fold:start:a\r\x1b[0K", "\u202e", "\u2028", "\u009b2J", "\\", '"', "x"],
  ),
  fc.string({ unit: "binary", maxLength: 5 }),
);
const parts = fc.array(fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join("")), { maxLength: 8 });
const env = fc.constantFrom({ GITHUB_ACTIONS: "true" }, { BUILDKITE: "true" });

test("in whatever parts an output comes, it has no command, and texts without any stay as they are", () => {
  fc.assert(
    fc.property(parts, env, fc.boolean(), (parts, env, isColoured) => {
      const guard = createGuard(env, isColoured), text = parts.map(guard).join("");
      assert.equal(commandsIn(text, env, isColoured), []);
    }),
    { numRuns: 2000 },
  );
  const plain = "Line ## heading\n  a: b :: c\n- item\n\tü → \u{1f600}\r\n# one\n##two\n";
  assert.is(createGuard({ BUILDKITE: "1" }, false)(plain), plain);
  assert.is(createGuard({}, true)("\x1b[1mbold\x1b[m \x1b[31mred"), "\x1b[1mbold\x1b[m \x1b[31mred");
});

test("JSON keeps its values", () => {
  fc.assert(
    fc.property(fc.jsonValue(), parts, (value, parts) => {
      const whole = [value, parts], json = harmlessJson(JSON.stringify(whole));
      assert.equal(JSON.parse(json), JSON.parse(JSON.stringify(whole)));
      assert.equal(commandsIn(json, {}, false), []);
      assert.is(harmlessJson(json), json);
      const guarded = createGuard({ BUILDKITE: "true" }, false)(`${json}\n`);
      assert.equal(JSON.parse(guarded), JSON.parse(json));
    }),
    { numRuns: 1000 },
  );
  assert.is(withoutCommands("a ##[b] ###[c] ##"), "a #\\u0023[b] ##\\u0023[c] ##");
});

test("each CI system is known by what it sets", () => {
  const variables = [
    ...[
      "CI",
      "GITHUB_ACTIONS",
      "GITLAB_CI",
      "TF_BUILD",
      "TEAMCITY_VERSION",
      "BUILDKITE",
      "TRAVIS",
      "CIRCLECI",
      "JENKINS_URL",
    ],
    ...[
      "GITHUB_SHA",
      "CI_COMMIT_SHA",
      "BITBUCKET_COMMIT",
      "BUILD_SOURCEVERSION",
      "CIRCLE_SHA1",
      "BUILDKITE_COMMIT",
      "CI_COMMIT",
    ],
    ...["GIT_COMMIT", "APPVEYOR", "CODEBUILD_BUILD_ID", "DRONE"],
  ];
  for (const name of variables) assert.ok(isInCi({ [name]: "true" }), name);
  for (const env of [{}, { CI: "" }, { CI: "false" }, { CI: "0" }, { TERM: "xterm" }]) assert.not.ok(isInCi(env));
});

test.run();
