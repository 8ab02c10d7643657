// Looks at the feedback of a workspace in every way, twice, as a service does. Prints how many MiB of memory it had before, and
// waits to be killed when it has looked.
import process from "node:process";
import { readingAside } from "../../src/database/database.ts";
import { openMigrated } from "../../src/database/file/open-migrated.ts";
import { yielding } from "../../src/database/yielding.ts";
import { createKeptTallies } from "../../src/tallies/kept-tallies.ts";
import { checkAlerts } from "../../src/management/events/alert-checks.ts";
import { compareStats } from "../../src/management/records/compare.ts";
import { readFeedbackAgreement } from "../../src/management/feedback/feedback-agreement.ts";
import { createReview } from "../../src/management/feedback/reviews.ts";
import { listSessions } from "../../src/management/records/sessions.ts";
import { readStats, readWorkspaceStats } from "../../src/management/records/stats.ts";
import { call, managementOf, verify } from "../actions.ts";
import type { Tenant } from "../helpers.ts";
import { longest } from "../stored-feedback.ts";

const [path, tenant] = process.argv.slice(2) as [string, string];
const { workspaceId, deployId } = JSON.parse(tenant) as Tenant;
const { database } = await openMigrated(`file:${path}`, "serve");
await database.readAside!({ sql: "select 1" });
const session = {
  ...managementOf(yielding(readingAside(database)), Date.now),
  kept: createKeptTallies(),
};
console.log(`before: ${Math.round(process.memoryUsage().rss / 1024 ** 2)} MiB`);

const day = 86_400_000, splitAt = Date.now() - day; // ms
const name = longest.name(0), authors = [longest.author(0), longest.author(1)].join();
for (let time = 0; time < 2; time++) {
  const answers = [
    await call(readStats, session, { deployId }),
    await call(readStats, session, { deployId, interval: "day" }),
    await call(readWorkspaceStats, session, { workspaceId, interval: "day", from: splitAt - day, splitAt }),
    await call(compareStats, session, { a: deployId, b: deployId, bVersion: 1 }),
    await call(listSessions, session, { workspaceId }),
    await call(readFeedbackAgreement, session, { workspaceId, name, authors }),
    await call(createReview, session, { workspaceId, title: "x", feedback: `${name}!=x`, withoutOwn: true }),
    await checkAlerts(session),
    await verify(session),
  ];
  // As a response would.
  for (const answer of answers) new TextEncoder().encode(JSON.stringify(answer));
}
console.log("has looked");
await new Promise((resolve) => setTimeout(resolve, 3_600_000));
