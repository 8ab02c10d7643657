-- The catalog: workspaces, API keys, prompts and deployments.
-- Only a statement's last line ends with a semicolon: the migrator splits there.
-- Times are Unix milliseconds, UTC. An id is a prefix and a time-ordered random part.

create table workspaces (
  id text primary key,
  name text not null,
  -- Accepted requests per calendar month, UTC.
  monthly_limit integer not null check (monthly_limit between 0 and 9007199254740991),
  -- Shown to clients whose quota is exhausted.
  upgrade_url text,
  created_at integer not null
) strict;

create table api_keys (
  id text primary key,
  workspace_id text not null references workspaces,
  name text not null,
  -- The first characters of the newest secret, to tell keys apart in a list.
  prefix text not null,
  created_at integer not null,
  -- The first moment at which the key is refused.
  expires_at integer,
  revoked_at integer,
  -- When the secret was last rotated, and the first moment at which the previous secret is refused.
  rotated_at integer,
  overlap_ends_at integer
) strict;

create index api_keys_by_workspace on api_keys (workspace_id, id);

-- The secrets that authorize requests: the newest one of each key, and those it replaced.
create table api_key_secrets (
  -- SHA-256 of the secret in hexadecimal. The secret itself is not stored.
  hash text primary key check (length(hash) = 64),
  api_key_id text not null references api_keys,
  workspace_id text not null references workspaces,
  -- The first moment at which the secret is refused. Revoking the key sets 0, which is in the past for every clock.
  expires_at integer,
  -- The last accepted request under this secret, to the hour.
  last_used_at integer
) strict, without rowid;

create index api_key_secrets_by_key on api_key_secrets (api_key_id);

create table prompts (
  id text primary key,
  workspace_id text not null references workspaces,
  created_at integer not null
) strict;

create index prompts_by_workspace on prompts (workspace_id, id);

-- Immutable: changing a prompt adds a version, numbered from 1 without gaps.
create table prompt_versions (
  prompt_id text not null references prompts,
  version integer not null check (version >= 1),
  title text not null,
  description text not null,
  -- A JSON array and a JSON object, as written but for the white space between tokens.
  messages text not null,
  llm_config text not null,
  -- The author's reason for the version.
  note text not null,
  created_at integer not null,
  primary key (prompt_id, version)
) strict;

create table deployments (
  id text primary key,
  workspace_id text not null references workspaces,
  name text not null,
  prompt_id text not null,
  current_version integer not null,
  is_active integer not null check (is_active in (0, 1)),
  -- The number of changes, which is the number of the newest row in its history.
  revision integer not null check (revision >= 1),
  created_at integer not null,
  foreign key (prompt_id, current_version) references prompt_versions
) strict;

create index deployments_by_workspace on deployments (workspace_id, id);

-- The history of every deployment. Rows are only added.
create table deployment_changes (
  deployment_id text not null references deployments,
  -- Numbered from 1 without gaps.
  revision integer not null check (revision >= 1),
  action text not null check (action in ('created', 'promoted', 'rolled_back', 'activated', 'deactivated', 'renamed')),
  -- The value before and after, as JSON: a version, the active state, or a name. A creation has null before.
  from_value text,
  to_value text not null,
  -- The interface the change came through, and the person and reason it was given.
  source text not null check (source in ('api', 'command line')),
  actor text not null,
  note text not null,
  created_at integer not null,
  primary key (deployment_id, revision)
) strict, without rowid;
