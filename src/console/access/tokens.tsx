// Management tokens: who may do what here, in the API and on the command line. A secret is shown once.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { WorkspaceId } from "../../common/ids.ts";
import { hasRole, roles } from "../../management/kernel/operation.ts";
import type { Role } from "../../management/kernel/operation.ts";
import { isSamePerson } from "../../management/kernel/people.ts";
import { createToken, getToken, listTokens, revokeToken, rotateToken } from "../../management/access/tokens.ts";
import type { Token } from "../../management/access/tokens.ts";
import { consolePath } from "../../http/face.ts";
import { agoByHour } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { formValue, link, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Chip } from "../frame/chips.tsx";
import { Empty, Fact, Notice, Pager, Section, Table } from "../frame/elements.tsx";
import { Field, Form, given, Guarded, Select } from "../frame/form.tsx";
import { Address } from "../deployments/use-it.tsx";
import { withLabels } from "../frame/inputs.tsx";
import {
  ExpiryField,
  expiryIn,
  expiryLabel,
  pageSize,
  secretLink,
  secretPageOf,
  secretView,
  stateChip,
} from "./secrets.tsx";

const labels: Record<string, string> = { name: "Name", role: "Role", owner: "Owner", expiresAt: expiryLabel };

/** Permissions of each role beyond the previous ones. */
const duties: Record<Role, string> = {
  viewer: "Sees everything but secrets.",
  editor: "Writes prompts, and deploys versions where a deployment is not protected.",
  publisher: "Changes protected deployments, rolls back, deactivates and archives.",
  admin: "Makes keys and tokens, protects deployments, sets limits and retention, deletes records.",
  owner: "Creates and deletes workspaces. Only tokens for all workspaces may have this role.",
};

export const tokensPage: Page = {
  path: "/:workspaceId/tokens",
  async show(visit) {
    const { items, nextCursor } = await visit.call(listTokens, {
      limit: pageSize,
      cursor: queryValue(visit, "cursor"),
    });
    return {
      title: "Tokens",
      heading: "Tokens",
      lede:
        "People and programs manage prompts with a token, here and on the command line. The audit log has its name.",
      body: (
        <>
          {items.length === 0
            ? (
              <Empty title="No token yet">
                So far only the admin token of the service signs in. Give each person a token of their own.
              </Empty>
            )
            : tokensTable(visit, items)}
          <Pager next={nextCursor} href={(cursor) => `?cursor=${cursor}`} />
          <Section title="New token">
            <Guarded visit={visit} operation={createToken}>{newForm(visit)}</Guarded>
          </Section>
          <Section title="Roles">
            <Table
              caption="Roles"
              rows={roles}
              columns={[
                { label: "Role", isHead: true, cell: (role) => role },
                { label: "Permissions, besides those of the roles above", cell: (role) => duties[role] },
              ]}
            />
          </Section>
        </>
      ),
    };
  },
  async act(visit) {
    const isHere = formValue(visit, "where") === "here" || visit.caller.workspaceId !== undefined;
    const expiresAt = expiryIn(visit);
    const { id, token, name } = await withLabels((path) => labels[path], () =>
      visit.call(createToken, {
        name: formValue(visit, "name") ?? "",
        role: (formValue(visit, "role") ?? "viewer") as Role,
        ...(isHere ? { workspaceId: workspaceOf(visit).id } : {}),
        owner: formValue(visit, "owner") || undefined,
        expiresAt,
      }));
    return secretView({
      ...{ title: "The new token", name, secret: token, back: link(visit, ["tokens", id]) },
      children: (
        <>
          <p>
            It signs in to this console, and is the <code>ADMIN_TOKEN</code> of{" "}
            <code>promptledger --server</code>. Send the address of the console with it:
          </p>
          <div class="copy">
            <code>
              <Address visit={visit} path={consolePath} />
            </code>
          </div>
        </>
      ),
    });
  },
};

const tokensTable = (visit: ConsoleRequest, tokens: readonly Token[]): Html => (
  <Table
    caption="Tokens"
    rows={tokens}
    columns={[
      { label: "Name", isHead: true, cell: (holder) => secretLink(link(visit, ["tokens", holder.id]), holder) },
      { label: "Role", cell: ({ role }) => <Chip>{role}</Chip> },
      { label: "Owner", cell: ({ owner }) => owner === null ? "–" : isolated(owner) },
      { label: "Scope", cell: ({ workspaceId }) => placeOf(visit, workspaceId) },
      { label: "State", cell: (token) => stateChip(token, visit.now) },
      { label: "Last used", cell: ({ lastUsedAt }) => agoByHour(lastUsedAt, visit.now) },
    ]}
  />
);

export const tokenPage = secretPageOf<Token>({
  section: "tokens",
  users: "its users",
  find: (visit, id) => visit.call(getToken, { id }),
  // deno-lint-ignore require-await -- a page returns a promise
  async view(visit, { id, name, role, owner, workspaceId }) {
    return {
      title: `Token ${name}`,
      heading: isolated(name),
      done: { revoke: "The token is revoked, and its sessions have ended." },
      notice: id === visit.caller.tokenId && (
        <Notice kind="info">You are signed in with this token. Changing it ends your session.</Notice>
      ),
      facts: (
        <>
          <Fact label="Role">
            <Chip>{role}</Chip>
          </Fact>
          <Fact label="Scope">{placeOf(visit, workspaceId)}</Fact>
          {owner !== null && <Fact label="Owner">{isolated(owner)}</Fact>}
        </>
      ),
    };
  },
  // Changing a token also needs its role; a new secret of another person's token is for owners.
  guardsOf({ caller }, { id, role, owner }) {
    const revoke = hasRole(revokeToken, role) ? revokeToken : { role };
    return { revoke, rotate: isSamePerson(caller, { owner, tokenId: id }) ? revoke : { role: "owner" } };
  },
  revoke: (visit, id) => visit.call(revokeToken, { id }),
  async rotate(visit, input) {
    const { token: secret, name } = await visit.call(rotateToken, input);
    return { secret, name };
  },
});

/** The workspaces that a token may access. */
const placeOf = (visit: ConsoleRequest, workspaceId: WorkspaceId | null): Part =>
  workspaceId === null
    ? "all workspaces"
    : workspaceId === visit.workspace?.id
    ? isolated(visit.workspace.name)
    : <code>{workspaceId}</code>;

const newForm = (visit: ConsoleRequest): Html => (
  <Form submit="Create token">
    <div class="row">
      <Field {...given(visit, "name", "Name")} isRequired />
      <Select
        {...given(visit, "role", "Role", "viewer")}
        options={roles.filter((role) => hasRole(visit.caller, role)).map((role) => [role, role] as const)}
      />
      {visit.caller.workspaceId === undefined && (
        <Select
          {...given(visit, "where", "Scope", "here")}
          options={[["here", `Only ${workspaceOf(visit).name}`], ["all", "All workspaces"]]}
        />
      )}
      {hasRole(visit.caller, "owner") && (
        <Field
          {...given(visit, "owner", "Owner (an address, if it is a person's)")}
        />
      )}
      <ExpiryField visit={visit} />
    </div>
  </Form>
);
