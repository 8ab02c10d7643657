// What the command line says of itself.
import { nameOf } from "./command.ts";
import { commands } from "./commands.ts";

const examples = `Examples
  promptledger workspace create --name "My team" --limit 50000
  promptledger key create --workspace ws_… --name "checkout service" --expires 365d
  promptledger prompt push prompt.json --workspace ws_… --deploy production
  promptledger prompt diff prompt_… --from 1
  promptledger deploy rollback dep_… --note "answers got longer"
  promptledger diagnosis list --deploy dep_… --from 24h --text refund
  promptledger diagnosis export --deploy dep_… --format csv --out records.csv
  promptledger stats --deploy dep_…
  promptledger usage --workspace ws_… --json
  promptledger prune --older-than 90d
  promptledger verify --server https://prompts.example.com
  promptledger backup ledger-2027-01-31.db
  promptledger restore ledger-2027-01-31.db
  promptledger serve
`;

const settings =
  `Every command takes --json (JSON alone on standard output) and --help, and exits 0 when done, 1 when refused, 2 when used
wrongly. It works on the database that DATABASE_URL names (file:promptledger.db unless set). With --server URL all but
migrate, backup, restore and serve work on the service there, with the token in ADMIN_TOKEN; PROMPTLEDGER_SERVER names one
for all of them. A DURATION or an AGE is 45s, 30m, 12h or 90d. A TIME is 2027-01-31T18:00:00Z, 2027-01-31, which is its first
moment in UTC, or a duration ago. An EXPIRY is the first moment at which a key is refused: a TIME, or a duration from now.
`;

/** Help on the commands whose usage begins with the words given; on all where none does. */
export function help(words: string[] = []): string {
  const chosen = commands.filter(({ usage }) => words.every((word, index) => usage.split(" ")[index] === word));
  if (words.length === 0 || chosen.length === 0) return `${examples}\nCommands\n${list(commands)}\n${settings}`;
  return `${list(chosen)}\n${settings}`;
}

/** What there is instead of a command that is none: those that begin with the same word, or all by their first words. */
export function helpOnUnknown(word: string): string {
  const nouns = [...new Set(commands.map((command) => nameOf(command)[0]!))];
  return nouns.includes(word) ? help([word]) : `Commands: ${nouns.join(", ")}\nSee promptledger --help\n`;
}

const list = (chosen: typeof commands) => chosen.map(({ usage, summary }) => `  ${usage}\n      ${summary}\n`).join("");
