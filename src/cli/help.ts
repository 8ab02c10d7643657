// The help of the command line.
import { commands, findByName } from "./commands.ts";
import { usageOf } from "./parameters.ts";

const examples = `Examples
  promptledger workspace create --name "My team" --limit 50000
  promptledger key create --workspace ws_… --name "checkout service" --expires 365d
  promptledger prompt push support/assistant.json --workspace ws_… --deploy staging
  promptledger deploy promote support/assistant@production --from staging
  promptledger prompt diff support/assistant --from 1
  promptledger deploy rollback support/assistant@production --note "answers got longer"
  promptledger record list --deploy support/assistant@production --from 24h --text refund
  promptledger record export --deploy support/assistant@production --format csv --out records.csv
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
work on the service there, with the token in ADMIN_TOKEN. Only migrate, backup and restore need the database itself.

On a service, the token must have the role in parentheses or a later one of viewer, editor, publisher, admin and owner.

A REF is an id, the name of a prompt, or NAME@DEPLOYMENT for a deployment; --workspace says whose, if several workspaces have
it. A DEPLOYMENT is the name of a deployment of the prompt, an id or a reference.

A DURATION or an AGE is 45s, 30m, 12h or 90d. A RETENTION is an AGE or forever. A TIME is 2027-01-31T18:00:00Z, a day such as
2027-01-31 (its first moment in UTC), or a duration ago. An EXPIRY is a TIME or a duration from now: the first moment at which
a key or a token is refused.
`;

/** Help on all commands. */
export const overview = (): string => `${examples}\nCommands\n${list(commands)}\n${settings}`;

/** Help on a noun, or on the command with which these words begin. Undefined for an unknown one. */
export function help(words: string[]): string | undefined {
  if (words.length === 0) return overview();
  const ofNoun = words.length === 1 ? commands.filter(({ name: [noun] }) => noun === words[0]) : [];
  const chosen = ofNoun.length > 0 ? ofNoun : findByName(words);
  return chosen.length === 0 ? undefined : `${list(chosen)}\n${settings}`;
}

/** Says what is unknown in the words of a command, and which command is nearest. `first` is the first argument. */
export function describeUnknown([noun, verb]: string[], first: string): string {
  const names = commands.map(({ name }) => name);
  const verbs = [...new Set(names.flatMap(([word, own]) => word === noun && own !== undefined ? [own] : []))];
  if (noun === undefined || verbs.length === 0) {
    const nouns = [...new Set(names.map(([word]) => word!))];
    const given = noun === undefined ? first : verb === undefined ? noun : `${noun} ${verb}`;
    return `unknown command ${given}.${guess(noun ?? "", nouns)}
Commands: ${nouns.join(", ")}
See promptledger --help`;
  }
  const more = `See promptledger ${noun} --help`;
  if (verb === undefined) return `${noun} needs a verb: ${verbs.join(", ")}. ${more}`;
  return `unknown command ${noun} ${verb}.${guess(verb, verbs, `${noun} `)} ${more}`;
}

/** The known word that a word was probably meant to be. */
function guess(word: string, known: string[], prefix = ""): string {
  const near = known.find((each) => word !== "" && (each.startsWith(word) || word.startsWith(each))) ??
    known.find((each) => distanceOf(word, each) <= Math.min(2, word.length / 2));
  return near === undefined ? "" : ` Did you mean ${prefix}${near}?`;
}

/** How many characters must be added, removed or replaced to make one word of another. */
function distanceOf(from: string, to: string): number {
  let row = [...to, ""].map((_, index) => index);
  for (const [at, character] of [...from].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...to].entries()) {
      next.push(Math.min(row[index]! + (character === other ? 0 : 1), row[index + 1]! + 1, next[index]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}

const list = (chosen: typeof commands) =>
  chosen.map((command) =>
    `  ${usageOf(command)}\n      ${command.summary}${command.role === undefined ? "" : ` (${command.role})`}\n`
  )
    .join("");
