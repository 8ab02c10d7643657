-- What is managed: workspaces, keys, prompts and deployments.
-- A statement ends with a semicolon at the end of its line, and nothing else does.
-- Times are Unix milliseconds, UTC. Ids are a prefix and a time-ordered random part.

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
  -- SHA-256 of the whole key in hexadecimal; the key itself is stored nowhere.
  hash text not null unique check (length(hash) = 64),
  -- The first characters of the key, to tell keys apart in a list.
  prefix text not null,
  created_at integer not null,
  -- The first moment at which the key is refused.
  expires_at integer,
  revoked_at integer
) strict;

create index api_keys_by_workspace on api_keys (workspace_id, id);

create table prompts (
  id text primary key,
  workspace_id text not null references workspaces,
  created_at integer not null
) strict;

create index prompts_by_workspace on prompts (workspace_id, id);

-- Immutable: a change of a prompt is a new version, numbered from 1 without gaps.
create table prompt_versions (
  prompt_id text not null references prompts,
  version integer not null check (version >= 1),
  title text not null,
  description text not null,
  -- A JSON array and a JSON object as text, without white space between tokens, otherwise as written.
  messages text not null,
  llm_config text not null,
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
  created_at integer not null,
  foreign key (prompt_id, current_version) references prompt_versions
) strict;

create index deployments_by_workspace on deployments (workspace_id, id);

-- The history of every deployment; rows are only added.
create table deployment_changes (
  id integer primary key,
  deployment_id text not null references deployments,
  action text not null check (action in ('created', 'promoted', 'activated', 'deactivated')),
  -- Null where the deployment was created.
  from_version integer,
  to_version integer not null,
  created_at integer not null
) strict;

create index deployment_changes_by_deployment on deployment_changes (deployment_id);
