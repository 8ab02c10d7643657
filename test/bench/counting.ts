// Counts the database work of a load: round trips from the service, and commits from the database.
import process from "node:process";
import { pause } from "./load.ts";
import type { Stage } from "./stage.ts";

/** `accepted` are the requests in the call log. */
export type Work = { roundTrips: number; commits: number; accepted: number };

/** Runs `act`, and returns the work that the service did for it. */
export async function workOf<T>(stage: Stage, act: () => Promise<T>): Promise<{ result: T; work: Work }> {
  const before = await countAtRest(stage);
  const result = await act();
  const after = await countAtRest(stage);
  return {
    result,
    work: {
      roundTrips: after.roundTrips - before.roundTrips,
      commits: after.commits - before.commits,
      accepted: after.accepted - before.accepted,
    },
  };
}

/** Waits until the service has decided the requests that wrk did not wait for, and then counts. */
async function countAtRest(stage: Stage): Promise<Work> {
  for (let last = -1;;) {
    const work = await count(stage);
    if (work.roundTrips === last) return work;
    last = work.roundTrips;
    await pause(100);
  }
}

async function count(stage: Stage): Promise<Work> {
  const sql = "select count(*) as commits, coalesce(max(next_position), 1) - 1 as accepted from commits";
  const [row] = await stage.admin.database.read({ sql });
  return { roundTrips: await countRoundTrips(stage), commits: Number(row!.commits), accepted: Number(row!.accepted) };
}

async function countRoundTrips({ pid, printed }: Stage): Promise<number> {
  const seen = printed().length;
  process.kill(pid, "SIGUSR2");
  for (const deadline = performance.now() + 10_000; performance.now() < deadline;) {
    const [line, ...rest] = printed().slice(seen).split("\n");
    if (rest.length > 0) return JSON.parse(line!).roundTrips;
    await pause(10);
  }
  throw new Error("The service did not print its round trips");
}
