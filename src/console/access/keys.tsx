// API keys: who may read and submit. A secret is shown once, on the page that answers its creation or rotation.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { createApiKey, getApiKey, listApiKeys, revokeApiKey, rotateApiKey } from "../../management/access/api-keys.ts";
import type { ApiKey } from "../../management/access/api-keys.ts";
import { notFound } from "../../common/errors.ts";
import type { DeploymentId } from "../../common/ids.ts";
import { ago, agoByHour } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { formValue, link, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Chip } from "../frame/chips.tsx";
import { Empty, Fact, Pager, Section, Table } from "../frame/elements.tsx";
import { Field, Form, Guarded, Select } from "../frame/form.tsx";
import { findUsable, UseIt } from "../deployments/use-it.tsx";
import { DeploymentField, findDeployment, findOffered, findReferences, mainOf, withLabels } from "../frame/inputs.tsx";
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

const labels: Record<string, string> = { name: "Name", deployId: "Scope", expiresAt: expiryLabel };

const permissions = [
  ["", "Read and submit"],
  ["read", "Only read prompts"],
  ["submit", "Only submit records"],
  ["feedback", "Only give feedback"],
] as const;

export const keysPage: Page = {
  path: "/:workspaceId/keys",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit);
    const cursor = queryValue(visit, "cursor");
    const { items, nextCursor } = await visit.call(listApiKeys, { workspaceId, limit: pageSize, cursor });
    const references = await findReferences(visit, items.map(({ deployId }) => deployId));
    const offered = await findOffered(visit);
    return {
      title: "Keys",
      heading: "Keys",
      lede: "Applications authenticate with a key. Its secret is shown once and stored as a hash.",
      body: (
        <>
          {items.length === 0
            ? <Empty title="No key yet">An application needs one to read prompts and to send records.</Empty>
            : keysTable(visit, items, references)}
          <Pager next={nextCursor} href={(cursor) => `?cursor=${cursor}`} />
          <Section title="New key">
            <Guarded visit={visit} operation={createApiKey}>
              <Form submit="Create key">
                <div class="row">
                  <Field label="Name" name="name" value={visit.form.get("name")} hint="To tell keys apart." />
                  <Select label="Permissions" name="may" value={visit.form.get("may")} options={permissions} />
                  <DeploymentField label="Scope" name="deployId" value={visit.form.get("deployId")} offered={offered} />
                  <ExpiryField visit={visit} />
                </div>
              </Form>
            </Guarded>
          </Section>
        </>
      ),
    };
  },
  async act(visit) {
    const { id: workspaceId } = workspaceOf(visit);
    const may = formValue(visit, "may"), deployId = formValue(visit, "deployId") as DeploymentId | undefined;
    const expiresAt = expiryIn(visit);
    // Nothing may fail between the creation of a key and the only page that shows it.
    const deployment = deployId === undefined
      ? mainOf((await findOffered(visit)).deployments)
      : await findDeployment(visit, deployId);
    const usable = await findUsable(visit, deployment);
    const { id, key, ...created } = await withLabels((path) => labels[path], () =>
      visit.call(createApiKey, {
        workspaceId,
        name: formValue(visit, "name"),
        readOnly: may === "read",
        submitOnly: may === "submit",
        feedbackOnly: may === "feedback",
        deployId,
        expiresAt,
      }));
    return secretView({
      ...{ title: "The new key", name: created.name, secret: key, back: link(visit, ["keys", id]) },
      children: (
        <Section title="Use it">
          <UseIt visit={visit} usable={usable} apiKey={key} may={created} isOpen />
        </Section>
      ),
    });
  },
};

const keysTable = (visit: ConsoleRequest, keys: readonly ApiKey[], references: ReadonlyMap<string, string>): Html => (
  <Table
    caption="Keys"
    rows={keys}
    columns={[
      { label: "Name", isHead: true, cell: (holder) => secretLink(link(visit, ["keys", holder.id]), holder) },
      { label: "Permissions", cell: (key) => permissionsOf(key, references) },
      { label: "State", cell: (key) => stateChip(key, visit.now) },
      { label: "Created", cell: ({ createdAt }) => ago(createdAt, visit.now) },
      { label: "Last used", cell: ({ lastUsedAt }) => agoByHour(lastUsedAt, visit.now) },
    ]}
  />
);

export const keyPage = secretPageOf<ApiKey>({
  section: "keys",
  users: "applications",
  // It must be of the workspace in the path.
  async find(visit, id) {
    const key = await visit.call(getApiKey, { id });
    if (key.workspaceId !== workspaceOf(visit).id) throw notFound("API key", id);
    return key;
  },
  async view(visit, key) {
    return {
      title: `Key ${key.name || key.prefix}`,
      heading: isolated(key.name || "Unnamed key"),
      done: { revoke: "The key is revoked." },
      facts: <Fact label="Permissions">{permissionsOf(key, await findReferences(visit, [key.deployId]))}</Fact>,
    };
  },
  guardsOf: () => ({ rotate: rotateApiKey, revoke: revokeApiKey }),
  revoke: (visit, id) => visit.call(revokeApiKey, { id }),
  async rotate(visit, input) {
    const { key: secret, name } = await visit.call(rotateApiKey, input);
    return { secret, name };
  },
});

/** Permissions of a key, and scope. */
const permissionsOf = (
  { readOnly, submitOnly, feedbackOnly, deployId }: ApiKey,
  references: ReadonlyMap<string, string>,
): Html => (
  <span class="chips">
    <Chip>{readOnly ? "read" : submitOnly ? "submit" : feedbackOnly ? "feedback" : "read and submit"}</Chip>
    {deployId !== null && <Chip>{isolated(references.get(deployId) ?? deployId)}</Chip>}
  </span>
);
