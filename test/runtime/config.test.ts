// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { describeDatabase } from "../../src/database/location.ts";
import { readConfig } from "../../src/runtime/settings/config.ts";
import { newApiKey, newToken } from "../../src/common/ids.ts";

const test = suite("config");

const refusal = (env: Record<string, string>): string => {
  try {
    readConfig(env);
  } catch (error) {
    return (error as Error).message;
  }
  return assert.unreachable("the settings are not refused") as unknown as string;
};

test("without settings it serves a file in the working directory on loopback", () => {
  assert.equal(readConfig({}), {
    database: { url: "file:promptledger.db", authToken: undefined },
    databaseAdminUrl: undefined,
    host: "127.0.0.1",
    port: 8787,
    maxBodyBytes: 1048576,
    bodyBudgetBytes: 67108864,
    adminToken: undefined,
    management: false,
    mcp: false,
    people: undefined,
    logLevel: "info",
    logFormat: "text",
    migrates: true,
    metricsPort: undefined,
    metricsHost: "127.0.0.1",
    shutdownDelay: 0,
    shutdownTimeout: 10_000,
    corsOrigins: [],
    webhookAllow: [],
    webhookProxy: undefined,
    backups: undefined,
    backupKeyFile: undefined,
  });
});

test("BACKUP_TO turns on backups, each hour, with rules for what is kept", () => {
  assert.equal(readConfig({ BACKUP_TO: "backups" }).backups, {
    to: { name: "BACKUP_TO", to: "backups" },
    every: 3_600_000,
    keep: [{ count: 24, period: "hourly" }, { count: 30, period: "daily" }, { count: 12, period: "monthly" }],
  });
  const { every, keep } = readConfig({ BACKUP_TO: "b", BACKUP_EVERY: "15m", BACKUP_KEEP: "2 latest" }).backups!;
  assert.equal([every, keep], [900_000, [{ count: 2, period: "latest" }]]);
});

test("invalid settings of backups are listed together", () => {
  const found = refusal({ BACKUP_TO: "b", DATABASE_URL: "http://db", BACKUP_EVERY: "1s", BACKUP_KEEP: "all" });
  for (
    const name of ["BACKUP_TO needs a database in a file", "BACKUP_EVERY must be a duration", "BACKUP_KEEP must be"]
  ) {
    assert.ok(found.includes(name), found);
  }
});

test("DATABASE_URL goes before TURSO_DATABASE_URL, and so do their tokens", () => {
  const turso = { TURSO_DATABASE_URL: "libsql://a.turso.io", TURSO_AUTH_TOKEN: "turso" };
  assert.equal(readConfig(turso).database, { url: "libsql://a.turso.io", authToken: "turso" });
  const both = { ...turso, DATABASE_URL: "http://127.0.0.1:8080", DATABASE_AUTH_TOKEN: "own" };
  assert.equal(readConfig(both).database, { url: "http://127.0.0.1:8080", authToken: "own" });
});

const people = {
  ...{ MANAGEMENT: "true", AUTH_JWT_HEADER: "Cf-Access-Jwt-Assertion", AUTH_JWKS_URL: "https://acme.example/certs" },
  ...{ AUTH_ISSUER: "https://acme.example", AUTH_AUDIENCE: "prompts", AUTH_ROLES: "groups:llm-admins=admin" },
};

test("people sign in by a header if all of its settings are there, and what is missing or wrong is named", () => {
  assert.equal(readConfig({ ...people, AUTH_API: "true" }).people, {
    rules: [{ claim: "groups", pattern: "llm-admins", role: "admin", workspaceId: undefined }],
    header: {
      ...{ name: "cf-access-jwt-assertion", keysUrl: "https://acme.example/certs", issuer: "https://acme.example" },
      ...{ audience: "prompts", isForApi: true },
    },
    provider: undefined,
  });
  const cases: [changes: Record<string, string>, message: string][] = [
    [
      { AUTH_ISSUER: "" },
      "AUTH_ISSUER must be set too: AUTH_JWT_HEADER, AUTH_JWKS_URL, AUTH_ISSUER and AUTH_AUDIENCE belong",
    ],
    [
      { AUTH_AUDIENCE: "" },
      "AUTH_AUDIENCE must be set too: AUTH_JWT_HEADER, AUTH_JWKS_URL",
    ],
    [
      { AUTH_JWT_HEADER: "", AUTH_ISSUER: "", AUTH_AUDIENCE: "" },
      "AUTH_JWT_HEADER must be set too: AUTH_JWT_HEADER, AUTH_JWKS_URL",
    ],
    [{ AUTH_ROLES: "" }, "AUTH_ROLES must be set too: without it, no person has a role"],
    [{ AUTH_ROLES: "groups:x=admin, y" }, "AUTH_ROLES has y, which is no rule such as groups:llm-admins=admin"],
    [{ AUTH_ROLES: "groups:x=root" }, "AUTH_ROLES has groups:x=root, whose role is none of viewer, editor"],
    [{ AUTH_ROLES: "groups:x=owner@ws_1" }, "the role owner is always for all workspaces"],
    [{ AUTH_API: "yes" }, "AUTH_API must be one of true, false"],
    [{ AUTH_JWT_HEADER: "a b" }, "AUTH_JWT_HEADER must be the name of a header"],
    [{ AUTH_JWT_HEADER: "Cookie" }, "AUTH_JWT_HEADER must be the name of a header"],
    [
      { AUTH_JWKS_URL: "http://acme.example/certs" },
      "AUTH_JWKS_URL must be an https: URL, or an http: URL of this machine",
    ],
    [{ AUTH_JWKS_URL: "https://ann:x@acme.example/certs" }, "AUTH_JWKS_URL must be an https: URL"],
    [{ MANAGEMENT: "false" }, "People who sign in need ADMIN_TOKEN or MANAGEMENT=true, which turn the console on"],
    [
      { AUTH_JWT_HEADER: "Authorization", ADMIN_TOKEN: `${"a".repeat(20)}.${"b".repeat(20)}.c` },
      "must not look like a JSON",
    ],
  ];
  for (const [changes, message] of cases) assert.match(refusal({ ...people, ...changes }), message);
  assert.match(refusal({ AUTH_ROLES: "groups:x=admin" }), "AUTH_ROLES needs AUTH_JWT_HEADER or OIDC_ISSUER");
  assert.match(refusal({ AUTH_API: "true" }), "AUTH_API needs AUTH_JWT_HEADER");
  assert.ok(readConfig({ ...people, AUTH_JWKS_URL: "http://127.0.0.1:8080/certs" }).people);
});

const provider = {
  ...{ MANAGEMENT: "true", OIDC_ISSUER: "https://acme.example", OIDC_CLIENT_ID: "prompts" },
  ...{ OIDC_CLIENT_SECRET: "secret-of-16-characters", PUBLIC_URL: "https://prompts.example.com/llm" },
  AUTH_ROLES: "groups:llm-admins=admin",
};

test("people sign in at an identity provider if all of its settings are there, and what is missing or wrong is named", () => {
  assert.equal(readConfig(provider).people?.provider, {
    ...{ issuer: "https://acme.example", clientId: "prompts", clientSecret: "secret-of-16-characters" },
    ...{ scope: "openid email profile", publicUrl: "https://prompts.example.com/llm" },
  });
  const cases: [changes: Record<string, string>, message: string][] = [
    [
      { PUBLIC_URL: "" },
      "PUBLIC_URL must be set too: OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and PUBLIC_URL belong",
    ],
    [{ OIDC_CLIENT_SECRET: "" }, "OIDC_CLIENT_SECRET must be set too"],
    [{ OIDC_CLIENT_SECRET: "short" }, "OIDC_CLIENT_SECRET must have at least 16 characters"],
    [{ OIDC_ISSUER: "http://acme.example" }, "OIDC_ISSUER must be an https: URL"],
    [{ OIDC_ISSUER: "https://acme.example?x" }, "OIDC_ISSUER must be an https: URL"],
    [{ PUBLIC_URL: "https://prompts.example.com/" }, "a slash at its end"],
    [{ PUBLIC_URL: "http://prompts.example.com" }, "PUBLIC_URL must be an https: URL"],
    [{ PUBLIC_URL: "HTTPS://prompts.example.com" }, "PUBLIC_URL must be an https: URL"],
    [{ OIDC_SCOPE: "email" }, "OIDC_SCOPE must have openid"],
    [{ AUTH_ROLES: "" }, "AUTH_ROLES must be set too"],
    [{ MANAGEMENT: "" }, "People who sign in need ADMIN_TOKEN or MANAGEMENT=true"],
  ];
  for (const [changes, message] of cases) assert.match(refusal({ ...provider, ...changes }), message);
  assert.match(refusal({ OIDC_SCOPE: "openid" }), "OIDC_SCOPE needs OIDC_ISSUER");
  assert.not.match(refusal({ ...provider, OIDC_CLIENT_SECRET: "short" }), "short ");
});

/** A good value of each setting, and bad ones. */
const values: Record<string, [good: string, ...bad: string[]]> = {
  DATABASE_URL: ["file:a.db", "nonsense", "ftp://a"],
  DATABASE_AUTH_TOKEN: ["token", "a b"],
  DATABASE_ADMIN_URL: ["http://127.0.0.1:9090", "nonsense"],
  ADMIN_TOKEN: ["x".repeat(32), "short", newApiKey()],
  CORS_ORIGIN: ["https://app.example.com", "app.example.com"],
  WEBHOOK_ALLOW: ["hooks.internal", "http://hooks.internal"],
  HOST: ["127.0.0.1", "a b"],
  PORT: ["8788", "8788/tcp", "8,787"],
  MAX_BODY_BYTES: ["2048", "1e6", "1,000", "-1"],
  BODY_BUDGET_BYTES: ["2097152", "1.5"],
  MANAGEMENT: ["true", "yes"],
  MCP: ["false", "on"],
  LOG_LEVEL: ["warn", "loud"],
  LOG_FORMAT: ["json", "xml"],
  MIGRATE: ["false", "never"],
  METRICS_PORT: ["8789", "x", "70000"],
  METRICS_HOST: ["127.0.0.1", "a/b"],
  SHUTDOWN_DELAY: ["9", "20s", "9999"],
  SHUTDOWN_TIMEOUT: ["10", "0", "60s"],
  BACKUP_TO: ["backups", "s3:x"],
  BACKUP_EVERY: ["6h", "1x", "1,5h", "32d"],
  BACKUP_KEEP: ["2 latest", "all"],
  AUTH_JWT_HEADER: ["Authorization", "a b"],
  AUTH_JWKS_URL: ["https://acme.example/certs", "http://acme.example/certs"],
  AUTH_ISSUER: ["https://acme.example"],
  AUTH_AUDIENCE: ["prompts"],
  AUTH_API: ["true", "yes"],
  AUTH_ROLES: ["groups:x=admin", "groups:x=root"],
  OIDC_ISSUER: ["https://acme.example", "http://acme.example"],
  OIDC_CLIENT_ID: ["prompts"],
  OIDC_CLIENT_SECRET: ["secret-of-16-characters", "short"],
  OIDC_SCOPE: ["openid email", "email"],
  PUBLIC_URL: ["https://prompts.example.com", "https://prompts.example.com/"],
};
const groups = [
  ["AUTH_JWT_HEADER", "AUTH_JWKS_URL", "AUTH_ISSUER", "AUTH_AUDIENCE"],
  ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "PUBLIC_URL"],
];
const secrets = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];

test("each bad value is named once, whatever else is set, and what is said of others is true", () => {
  const env = fc.record(
    Object.fromEntries(Object.entries(values).map(([name, each]) => [name, fc.constantFrom(...each)])),
    { requiredKeys: [] },
  ) as fc.Arbitrary<Record<string, string>>;
  fc.assert(fc.property(env, (env) => {
    const isSet = (name: string) => env[name] !== undefined;
    const isBad = (name: string) => isSet(name) && env[name] !== values[name]![0];
    let faults: string[] = [];
    try {
      readConfig(env);
    } catch (error) {
      faults = (error as Error).message.split("\n").slice(1).map((line) => line.trim());
    }
    for (const name of Object.keys(values).filter(isBad)) {
      assert.is(
        faults.filter((fault) => fault.startsWith(`${name} `)).length >= 1,
        true,
        `${name} in ${faults.join("\n")}`,
      );
    }
    const isOn = groups.some((group) => group.some(isSet)), isManaged = isSet("ADMIN_TOKEN") || isSet("MANAGEMENT");
    const truths: [pattern: RegExp, isTrue: (name: string) => boolean][] = [
      [/^(\S+) must be set too: without it/, (name) => !isSet(name) && isOn],
      [
        /^(\S+) must be set too: /,
        (name) => !isSet(name) && groups.some((group) => group.includes(name) && group.some(isSet)),
      ],
      [/^(\S+) must be set for a place in S3$/, (name) => secrets.includes(name) && isBad("BACKUP_TO")],
      [/^AUTH_ROLES needs AUTH_JWT_HEADER or OIDC_ISSUER/, () => !isOn],
      [/^AUTH_API needs AUTH_JWT_HEADER/, () => !groups[0]!.some(isSet)],
      [/^OIDC_SCOPE needs OIDC_ISSUER/, () => !groups[1]!.some(isSet)],
      [/^People who sign in need ADMIN_TOKEN/, () => isOn && !isManaged],
      [/^ADMIN_TOKEN must not look like a JSON/, () => false],
      [/^BACKUP_TO needs a database in a file/, () => isBad("DATABASE_URL")],
      [/^(\S+) /, (name) => isBad(name)],
    ];
    for (const fault of faults) {
      const [pattern, isTrue] = truths.find(([pattern]) => pattern.test(fault))!;
      assert.ok(isTrue(pattern.exec(fault)![1] ?? ""), fault);
    }
  }));
});

test("MCP is on if told so, beside a management that somebody can use", () => {
  assert.equal(
    [readConfig({}).mcp, readConfig({ MCP: "true", MANAGEMENT: "true" }).mcp, readConfig({ MCP: "false" }).mcp],
    [false, true, false],
  );
  assert.match(refusal({ MCP: "true" }), "MCP needs ADMIN_TOKEN or MANAGEMENT=true");
  assert.match(refusal({ MCP: "on" }), "MCP must be one of true, false");
});

test("management is on without an admin token if told so", () => {
  assert.equal([readConfig({ MANAGEMENT: "true" }).management, readConfig({ MANAGEMENT: "false" }).management], [
    true,
    false,
  ]);
  assert.match(refusal({ MANAGEMENT: "yes" }), "MANAGEMENT must be one of true, false");
});

test("an empty value counts as not set", () => {
  assert.equal(readConfig({ PORT: "", DATABASE_URL: "", LOG_LEVEL: "", ADMIN_TOKEN: "" }), readConfig({}));
});

test("settings cannot be changed once they are read", () => {
  assert.ok(Object.isFrozen(readConfig({})));
});

test("one message names every fault", () => {
  const message = refusal({
    PORT: "http",
    LOG_LEVEL: "loud",
    LOG_FORMAT: "xml",
    DATABASE_URL: "mysql://x",
    HOST: "a b",
  });
  for (const name of ["PORT", "LOG_LEVEL", "LOG_FORMAT", "DATABASE_URL", "HOST"]) assert.match(message, name);
});

test("METRICS_PORT, SHUTDOWN_TIMEOUT in seconds and CORS_ORIGIN are read", () => {
  const origins = "https://app.example.com, http://localhost:3000";
  const config = readConfig({ METRICS_PORT: "9100", SHUTDOWN_TIMEOUT: "25", CORS_ORIGIN: origins });
  assert.is(config.metricsPort, 9100);
  assert.is(config.shutdownTimeout, 25_000);
  assert.equal(config.corsOrigins, ["https://app.example.com", "http://localhost:3000"]);
  assert.equal(readConfig({ CORS_ORIGIN: "*" }).corsOrigins, ["*"]);
});

test("ports and times must fit together", () => {
  assert.match(refusal({ PORT: "9100", METRICS_PORT: "9100" }), "METRICS_PORT must differ from PORT");
  assert.match(refusal({ SHUTDOWN_DELAY: "10" }), "SHUTDOWN_DELAY must be less than SHUTDOWN_TIMEOUT");
  assert.is(readConfig({ SHUTDOWN_DELAY: "5" }).shutdownDelay, 5_000);
  assert.is(readConfig({ PORT: "0", METRICS_PORT: "0" }).metricsPort, 0);
});

test("METRICS_HOST is loopback whatever HOST is, unless it is set", () => {
  assert.is(readConfig({ HOST: "0.0.0.0", METRICS_PORT: "9100" }).metricsHost, "127.0.0.1");
  assert.is(readConfig({ METRICS_PORT: "9100", METRICS_HOST: "10.0.0.7" }).metricsHost, "10.0.0.7");
  assert.match(refusal({ METRICS_HOST: "a b" }), "METRICS_HOST must be a host name or an IP address");
});

test("MIGRATE is true or false", () => {
  assert.is(readConfig({ MIGRATE: "false" }).migrates, false);
  assert.is(readConfig({ MIGRATE: "true" }).migrates, true);
  assert.match(refusal({ MIGRATE: "0" }), "MIGRATE must be one of true, false");
});

const noOrigins = [
  "app.example.com",
  "https://app.example.com/",
  "https://a.b/c",
  "null",
  "https://a,",
  "ftp://a",
  "HTTPS://a",
];
for (const origin of noOrigins) {
  test(`refuses CORS_ORIGIN=${origin}`, () => assert.match(refusal({ CORS_ORIGIN: origin }), "CORS_ORIGIN must be"));
}

test("WEBHOOK_ALLOW is hosts, with or without a port", () => {
  const hosts = "Hooks.internal, 10.0.0.7:8080,[::1]:9000,localhost:80";
  assert.equal(readConfig({ WEBHOOK_ALLOW: hosts }).webhookAllow, [
    ...["hooks.internal", "10.0.0.7:8080", "[::1]:9000", "localhost:80"],
  ]);
});

for (const host of ["http://hooks.internal", "a b", "hooks.internal/path", "a,", "a@b", "a:99999"]) {
  test(`refuses WEBHOOK_ALLOW=${host}`, () => {
    assert.match(
      refusal({ WEBHOOK_ALLOW: host }),
      "WEBHOOK_ALLOW must be hosts such as hooks.internal or 10.0.0.7:8080",
    );
  });
}

for (const timeout of ["0", "3601", "10s", "1.5"]) {
  test(`refuses SHUTDOWN_TIMEOUT=${timeout}`, () =>
    assert.match(refusal({ SHUTDOWN_TIMEOUT: timeout }), "SHUTDOWN_TIMEOUT must be an integer from 1 to 3600"));
}

for (const port of ["-1", "65536", "80.5", "0x50", "8787 ", "1e3"]) {
  test(`refuses PORT=${port}`, () => assert.match(refusal({ PORT: port }), "PORT must be an integer from 0 to 65535"));
}

for (
  const url of [
    ...["file:", "file://", "file:?x=1", "file::memory:", "file:%3Amemory%3A", "file://localhost", "file:a%00b"],
    ...["file://elsewhere/ledger.db", "http://user:pass@host", ":memory:", "ws://host", "http://", "promptledger.db"],
  ]
) {
  test(`refuses DATABASE_URL=${url}`, () => assert.match(refusal({ DATABASE_URL: url }), "DATABASE_URL must"));
}

test("refuses a token that is no header, and does not repeat it", () => {
  const message = refusal({ DATABASE_AUTH_TOKEN: "SECRET\ntoken" });
  assert.match(message, "DATABASE_AUTH_TOKEN must be printable ASCII");
  assert.not.match(message, "SECRET");
});

test("takes an admin token of 32 characters or more, which is no API key, and never repeats it", () => {
  const token = "SECRET-of-32-printable-characters";
  assert.is(readConfig({ ADMIN_TOKEN: token }).adminToken, token);
  for (const bad of [token.slice(2), `${token} x`, `${token}\n`, `${token}\0`, `${token}ä`]) {
    const message = refusal({ ADMIN_TOKEN: bad });
    assert.match(message, "ADMIN_TOKEN must be at least 32 printable ASCII characters");
    assert.not.match(message, "SECRET");
  }
  const key = newApiKey();
  const message = refusal({ ADMIN_TOKEN: key });
  assert.match(message, "ADMIN_TOKEN must not be an API key");
  assert.not.match(message, key);
  assert.match(refusal({ ADMIN_TOKEN: newToken() }), "ADMIN_TOKEN must not be a management token");
});

test("a file may be anywhere", () => {
  for (
    const url of [
      "file:ledger.db",
      "file:./a/b.db",
      "file:/var/lib/ledger.db",
      "file:///var/lib/ledger.db",
      "file:../x",
    ]
  ) {
    assert.is(readConfig({ DATABASE_URL: url }).database.url, url);
  }
});

test("names the variable that holds the fault", () => {
  assert.match(refusal({ TURSO_DATABASE_URL: "nonsense" }), "TURSO_DATABASE_URL must");
});

test("a body may be as large as the store can take it", () => {
  assert.is(readConfig({ MAX_BODY_BYTES: "10485760" }).maxBodyBytes, 10485760);
  assert.match(refusal({ MAX_BODY_BYTES: "0" }), "MAX_BODY_BYTES must");
  assert.match(refusal({ MAX_BODY_BYTES: "10485760", DATABASE_URL: "http://127.0.0.1:8080" }), "MAX_BODY_BYTES must");
});

test("DATABASE_ADMIN_URL is a server's, and goes unread where the database is a file", () => {
  const server = { DATABASE_URL: "http://127.0.0.1:8080" };
  const DATABASE_ADMIN_URL = "http://127.0.0.1:9090";
  assert.is(readConfig({ ...server, DATABASE_ADMIN_URL }).databaseAdminUrl, DATABASE_ADMIN_URL);
  assert.is(readConfig({ DATABASE_ADMIN_URL }).databaseAdminUrl, undefined);
  for (const url of ["127.0.0.1:9090", "libsql://127.0.0.1:9090", "http://", "http://ann:secret@127.0.0.1:9090"]) {
    const message = refusal({ ...server, DATABASE_ADMIN_URL: url });
    assert.match(message, "DATABASE_ADMIN_URL must be an http: or https: URL");
    assert.not.match(message, "secret");
  }
});

test("a database is described without its secrets", () => {
  assert.is(describeDatabase("libsql://user:secret@host/path?authToken=secret"), "libsql://host/path");
  assert.is(describeDatabase("file:/var/lib/ledger.db"), "file:/var/lib/ledger.db");
});

test.run();
