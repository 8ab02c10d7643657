// What the command line says of itself.
import { commands } from "./commands.ts";

const examples = `Examples
  promptledger workspace create --name "My team" --limit 50000
  promptledger key create --workspace ws_… --name "checkout service" --expires 2027-12-31
  promptledger prompt push prompt.json --workspace ws_… --deploy production
  promptledger deploy promote dep_… --version 2
  promptledger diagnosis list --deploy dep_… --session order-4711 --json
  promptledger usage --workspace ws_…
  promptledger verify
  promptledger serve
`;

const settings =
  `Every command takes --json (JSON alone on standard output) and --help. It works on the database that DATABASE_URL
names (file:promptledger.db unless set), and exits 0 when done, 1 when refused, 2 when used wrongly.
`;

/** Help on the commands whose usage begins with the words given; on all where none does. */
export function help(words: string[] = []): string {
  const chosen = commands.filter(({ usage }) => words.every((word, index) => usage.split(" ")[index] === word));
  if (words.length === 0 || chosen.length === 0) return `${examples}\nCommands\n${list(commands)}\n${settings}`;
  return `${list(chosen)}\n${settings}`;
}

const list = (chosen: typeof commands) => chosen.map(({ usage, summary }) => `  ${usage}\n      ${summary}\n`).join("");
