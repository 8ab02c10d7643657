// The most that promptledger may weigh, as far as that does not depend on the machine. Tests hold each bound, and the table
// "Weight" of README.md states it.
export const budgets = {
  /** What `npm install` of the package puts on the disk. */
  installed: { packages: 44, megabytes: 60 },
  /** Bytes of what a bundle gets of `createService` for Workers, compressed. */
  core: 40_960,
  /** Bytes of what every page gets that loads the client: minified, and compressed too. */
  client: { minified: 14_100, compressed: 7_200 },
  /** Bytes of a page of the console with its style and script, and of the script alone. */
  console: { page: 60_000, script: 8_000 },
  /** Requests of the client for 1,000 prompts of a deployment, and for as many records. */
  requests: { prompts: 1, records: 20 },
  /** Bytes of the database for a request: alone in its transaction, one of 64, and one of 64 of 50 workspaces. */
  bytes: {
    read: { alone: 265, shared: 6, spread: 130 },
    record: { alone: 810, shared: 550, spread: 670 },
  },
};
