// Authorization, as SQL joins. A batch (b) of the table `batch` is joined with its key's secret (k), workspace (w),
// deployment (d) and quota (q). It is authorized if the joins find them.

/** The condition that a deployment (d) and its prompt are not archived. */
const isUnarchived = "d.archived_at is null and d.prompt_archived_at is null";

/** The condition that a deployment (d) is open to requests. */
const isOpen = `d.is_active = 1 and ${isUnarchived}`;

/** The id of the deployment that a batch names. The whole reference is compared too, since substr stops at a NUL. */
export const namedDeployment = `iif(instr(b.deployment, '@') = 0, b.deployment, (
      select n.id from prompts p
      cross join deployments n on n.prompt_id = p.id and n.name = substr(b.deployment, instr(b.deployment, '@') + 1)
      where p.workspace_id = w.id and p.name = substr(b.deployment, 1, instr(b.deployment, '@') - 1)
        and p.name || '@' || n.name = b.deployment
    ))`;

/** The condition that a key (k) does not permit the operation of a batch. */
export const isForbidden = "(k.read_only and b.operation = 'submit' or k.submit_only and b.operation = 'read')";

/** The condition that a key (k) may see the deployment (d). */
export const isVisible = "d.workspace_id = w.id and (k.deployment_id is null or k.deployment_id = d.id)";

/**
 * The deployments (d) that a key (k) may see and that are not archived, with their prompts (p), as their index orders
 * them: by id.
 */
export const visibleDeployments = `
  deployments d cross join prompts p on p.id = d.prompt_id where ${isVisible} and ${isUnarchived}`;

/** The joins for batches that may be accepted. Other batches get no row. */
export const authorized = `
  cross join api_key_secrets k on k.hash = b.key_hash and (k.expires_at is null or k.expires_at > :now)
    and not ${isForbidden}
  cross join workspaces w on w.id = k.workspace_id
  cross join deployments d on d.id = ${namedDeployment} and ${isVisible} and ${isOpen}
  left join quota_usage q on q.workspace_id = w.id and q.month = :month`;

/**
 * The joins for all batches. A batch whose calls (c) an earlier attempt accepted finds its rows, whatever changed
 * since.
 */
export const authorizedOrAccepted = `
  left join api_key_secrets k on k.hash = b.key_hash
    and (c.position is not null or k.expires_at is null or k.expires_at > :now)
  left join workspaces w on w.id = k.workspace_id
  left join deployments d on d.id = coalesce(c.deployment_id, ${namedDeployment}) and ${isVisible}
    and (c.position is not null or ${isOpen})
  left join quota_usage q on q.workspace_id = w.id and q.month = :month`;

/** The condition that the prompt of the deployment (d) has the version that the records of a batch are for. */
export const hasVersion = `(b.prompt_version is null or exists (
      select 1 from prompt_versions where prompt_id = d.prompt_id and version = b.prompt_version
    ))`;

/** The condition that the deployment (d) has, or had, the rollout of a batch, with its version as one of the two. */
export const hasRollout = `(b.rollout_id is null or exists (
      select 1 from rollouts where id = b.rollout_id and deployment_id = d.id and b.prompt_version in (base_version, version)
    ))`;
