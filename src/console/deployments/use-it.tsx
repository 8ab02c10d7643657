// Programs to copy that read the prompt of a deployment and submit a record, with the address of this service.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Deployment } from "../../management/deployments/deployments.ts";
import { getPromptVersion } from "../../management/prompts/versions.ts";
import { Fragment, h } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";

/** The address of the service, or of a path below it. The script shows it as the browser reaches it. */
export const Address = ({ visit, path = "" }: { visit: ConsoleRequest; path?: string }): Html => (
  <span data-address={`${visit.root}..${path}`}>{visit.address + path}</span>
);

/** Program inputs: the reference of a deployment, and the variables of the version that it serves. */
export type Usable = { reference: string; variables: readonly string[] };

/** Finds a program's inputs. Without a deployment, the reference is a placeholder. */
export async function findUsable(visit: ConsoleRequest, deployment: Deployment | undefined): Promise<Usable> {
  if (deployment === undefined) return { reference: "PROMPT@DEPLOYMENT", variables: [] };
  const { promptId: id, currentVersion: version, reference } = deployment;
  const { variables } = await visit.call(getPromptVersion, { id, workspaceId: workspaceOf(visit).id, version });
  return { reference, variables };
}

/** Permissions of a key. */
type Permissions = { readOnly: boolean; submitOnly: boolean };

type UseItProps = {
  visit: ConsoleRequest;
  usable: Usable;
  /** A key, shown this once. Without one the programs have a placeholder. */
  apiKey?: string;
  may?: Permissions;
  /** Shows the first program at once. */
  isOpen?: boolean;
};

export const UseIt = (
  { visit, usable, apiKey = "YOUR_API_KEY", may = { readOnly: false, submitOnly: false }, isOpen = false }: UseItProps,
): Html => (
  <div class="use">
    {Object.entries(programs).map(([language, write], index) => (
      <details class="copy" name="use" open={isOpen && index === 0}>
        <summary>{language}</summary>
        <pre tabindex="0">{programOf(visit, write({ ...usable, apiKey, url: visit.address }, may))}</pre>
      </details>
    ))}
  </div>
);

const programOf = (visit: ConsoleRequest, program: string): Part =>
  program.split(visit.address).map((part, index) => (
    <>
      {index > 0 && <Address visit={visit} />}
      {part}
    </>
  ));

type Given = Usable & { apiKey: string; url: string };
type Write = (given: Given, may: Permissions) => string;

const programs: Record<string, Write> = { curl: writeShell, TypeScript: writeTypeScript, Python: writePython };

const mostVariables = 20;
const longestVariable = 60; // characters

/** The variables as members of an object, with values to replace. An ellipsis marks omitted ones. */
function valuesOf(variables: readonly string[]): string {
  const shown = variables.filter(({ length }) => length <= longestVariable).slice(0, mostVariables)
    .map((name) => `${JSON.stringify(name)}: "…"`);
  if (shown.length < variables.length) shown.push("…");
  return shown.length === 0 ? "{}" : `{ ${shown.join(", ")} }`;
}

function writeShell({ reference, apiKey, url }: Given, { readOnly, submitOnly }: Permissions): string {
  const record = '{"sessionId": "session-1", "status": 1, "content": {"input": "…", "output": "…"}}';
  const read = `\
curl '${url}/v1/prompts?deployId=${reference}' \\
  -H 'Authorization: Bearer ${apiKey}'
`;
  const submit = `\
curl '${url}/v1/diagnosis?deployId=${reference}' \\
  -H 'Authorization: Bearer ${apiKey}' \\
  -H 'Content-Type: application/json' \\
  -d '${record}'
`;
  return [!submitOnly && read, !readOnly && submit].filter((part) => part).join("\n");
}

function writeTypeScript({ reference, variables, apiKey, url }: Given, { readOnly, submitOnly }: Permissions): string {
  const deployment = JSON.stringify(reference);
  const start = `\
import { createClient } from "promptledger/client";

const ledger = createClient({ url: ${JSON.stringify(url)}, apiKey: "${apiKey}" });
`;
  const submit = `\
await ledger.submit({
  deployId: ${deployment},
  sessionId: "session-1",
  status: 1,
  content: { input: "…", output: "…" },
});
`;
  const read = `\
const prompt = await ledger.prompt(${deployment});
const messages = prompt.fill(${valuesOf(variables)});
`;
  const record = `
const call = prompt.call({ sessionId: "session-1" });
const output = "…"; // of your model, from messages and prompt.llmConfig
call.done({ status: 1, input: messages, output });
`;
  const end = "\nawait ledger.close(); // when the process ends\n";
  return start + (submitOnly ? submit : read + (readOnly ? "" : record)) + end;
}

function writePython({ reference, variables, apiKey, url }: Given, { readOnly, submitOnly }: Permissions): string {
  const deployment = JSON.stringify(reference);
  const start = `\
from promptledger import Client  # python3 -m pip install ./src/client/python

ledger = Client(url=${JSON.stringify(url)}, api_key="${apiKey}")
`;
  const submit = `\
ledger.submit({
    "deployId": ${deployment},
    "sessionId": "session-1",
    "status": 1,
    "content": {"input": "…", "output": "…"},
})
`;
  const read = `\
prompt = ledger.prompt(${deployment})
messages = prompt.fill(${valuesOf(variables)})
`;
  const record = `
call = prompt.call(session_id="session-1")
output = "…"  # of your model, from messages and prompt.llm_config
call.done(status=1, input=messages, output=output)
`;
  const end = "\nledger.close()  # when the process ends\n";
  return start + (submitOnly ? submit : read + (readOnly ? "" : record)) + end;
}
