// Operations on the records of a workspace or of one deployment. Their input and their work are defined once for both.
import type { Members, Schema } from "../../schema/struct.ts";
import type { Management } from "../kernel/operation.ts";
import { inWorkspace, scopeOfDeployment, scopeOfWorkspace } from "./record-filter.ts";
import type { Scope } from "./record-filter.ts";
import { withDeployment } from "../kernel/references.ts";

/** The records of a workspace, of which the input may choose one deployment, or those of a deployment. */
export type Records = Scope & { of: "workspace" | "deployment" };

type OfWorkspace = Members<typeof inWorkspace>;
type OfDeployment = Members<typeof withDeployment>;

/** Makes the input and `run` of an operation for a workspace, and for a deployment. `input` has what they have in common. */
export const onRecords = <S extends Schema, Output>(
  input: S,
  run: (management: Management, records: Records, request: Members<S>) => Promise<Output>,
) => ({
  ofWorkspace: {
    input: { ...inWorkspace, ...input },
    async run(management: Management, { workspaceId, deployId, ...request }: OfWorkspace & Members<S>) {
      const scope = await scopeOfWorkspace(management, { workspaceId, deployId });
      return await run(management, { ...scope, of: "workspace" }, request as unknown as Members<S>);
    },
  },
  ofDeployment: {
    input: { ...withDeployment, ...input },
    async run(management: Management, { deployId, ...request }: OfDeployment & Members<S>) {
      const scope = await scopeOfDeployment(management, deployId);
      return await run(management, { ...scope, of: "deployment" }, request as unknown as Members<S>);
    },
  },
});
