// `prove`: shows on the user's own machine that no confirmed write is lost.
import type { Proof } from "../../runtime/demo/prove.ts";
import type { Command } from "../frame/command.ts";
import { formatElapsed } from "../frame/format.ts";
import { readUsage } from "../frame/parameters.ts";

const defaultKills = 20;
const maxKills = 10_000;

const count = new Intl.NumberFormat("en").format;

const isKept = ({ lost, twice, quota, faults }: Proof): boolean =>
  lost + twice + faults.length === 0 && quota.used === quota.limit;

/** The verdict in plain words. */
export function describeProof(proof: Proof): string {
  const { answers, unanswered, kills, lost, twice, quota, faults, durationMs } = proof;
  const used = quota.used === quota.limit
    ? `exactly ${count(quota.used)}`
    : `${count(quota.used)}, not ${count(quota.limit)},`;
  return [
    `${count(answers)} answers, ${count(kills)} kills, ${count(lost)} lost, ${count(twice)} twice`,
    `A quota of ${count(quota.limit)} let ${used} of ${count(quota.requests)} requests through`,
    ...faults,
    `${count(unanswered)} requests got no answer, as the service was killed. ${
      faults.length === 0 ? "The ledger balances, and the pages of the file are whole. " : ""
    }It took ${formatElapsed(durationMs)}`,
    isKept(proof) ? "The promises hold on this machine" : "A promise is broken on this machine. Please report it",
  ].map((line) => `${line}\n`).join("");
}

export const proveCommands: Command[] = [{
  ...readUsage("prove [--kills N] [--folder FOLDER]", {}, {
    kills: `How often to kill the service. A kill takes about two seconds. Default: ${defaultKills}`,
    folder:
      "A folder on the disk to test. The command works in a new folder there and removes it. Default: the current folder",
  }),
  summary: "Kill a service repeatedly under load, and check that no answered request is lost or stored twice",
  needs: "service",
  check: (args) => (args.findNumber("kills") ?? 1) > maxKills ? `--kills must be at most ${maxKills}` : undefined,
  async runLocally({ args, terminal }) {
    const { prove } = await import("../../runtime/demo/prove.ts");
    const proof = await prove({
      folder: args.findText("folder") ?? ".",
      kills: args.findNumber("kills") ?? defaultKills,
      report: terminal.report,
    });
    return { data: { ...proof, kept: isKept(proof) }, text: () => describeProof(proof), failed: !isKept(proof) };
  },
}];
