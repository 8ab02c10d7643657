// The help of the command line.
import { nameOf } from "./command.ts";
import { commands } from "./commands.ts";

const examples = `Examples
  promptledger workspace create --name "My team" --limit 50000
  promptledger key create --workspace ws_… --name "checkout service" --expires 365d
  promptledger prompt push support/assistant.json --workspace ws_… --deploy staging
  promptledger deploy promote support/assistant@production --from staging
  promptledger prompt diff support/assistant --from 1
  promptledger deploy rollback support/assistant@production --note "answers got longer"
  promptledger diagnosis list --deploy support/assistant@production --from 24h --text refund
  promptledger diagnosis export --deploy support/assistant@production --format csv --out records.csv
  promptledger stats --deploy support/assistant@production
  promptledger usage --workspace ws_… --json
  promptledger workspace update ws_… --keep-records 90d --keep-calls 400d
  promptledger prune --older-than 90d
  promptledger verify --server https://prompts.example.com
  promptledger backup ledger-2027-01-31.db
  promptledger restore ledger-2027-01-31.db
  promptledger serve
`;

const settings =
  `Every command takes --help, and --json, which prints JSON alone. Results go to stdout, messages to stderr.
Exit codes: 0 success, 1 failure, 2 bad usage.

Commands work on the database in DATABASE_URL (default: file:promptledger.db). With --server URL or PROMPTLEDGER_SERVER they
work on the service there, with the token in ADMIN_TOKEN. Only migrate, backup, restore and serve need the database itself.

On a service, the token must have the role in parentheses or a later one of viewer, editor, publisher, admin and owner.

A REF is an id, the name of a prompt, or NAME@DEPLOYMENT for a deployment; --workspace says whose, if several workspaces have
it. A DEPLOYMENT is the name of a deployment of the prompt, an id or a reference.

A DURATION or an AGE is 45s, 30m, 12h or 90d. A RETENTION is an AGE or forever. A TIME is 2027-01-31T18:00:00Z, a day such as
2027-01-31 (its first moment in UTC), or a duration ago. An EXPIRY is a TIME or a duration from now: the first moment at which
a key or a token is refused.
`;

/** Help on the commands whose usage begins with these words, or on all if none does. */
export function help(words: string[] = []): string {
  const chosen = commands.filter(({ usage }) => words.every((word, index) => usage.split(" ")[index] === word));
  if (words.length === 0 || chosen.length === 0) return `${examples}\nCommands\n${list(commands)}\n${settings}`;
  return `${list(chosen)}\n${settings}`;
}

/** Help on an unknown command: the commands of the same noun, or all nouns. */
export function helpOnUnknown(word: string): string {
  const nouns = [...new Set(commands.map((command) => nameOf(command)[0]!))];
  return nouns.includes(word) ? help([word]) : `Commands: ${nouns.join(", ")}\nSee promptledger --help\n`;
}

const list = (chosen: typeof commands) =>
  chosen.map(({ usage, summary, role }) => `  ${usage}\n      ${summary}${role === undefined ? "" : ` (${role})`}\n`)
    .join("");
