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
  -- The first characters of the newest secret, to tell keys apart in a list.
  prefix text not null,
  created_at integer not null,
  -- The first moment at which the key is refused.
  expires_at integer,
  revoked_at integer,
  -- When the secret was last replaced, and the first moment at which the one before is refused.
  rotated_at integer,
  overlap_ends_at integer
) strict;

create index api_keys_by_workspace on api_keys (workspace_id, id);

-- What requests are authorized by: the newest secret of each key, and those that it has replaced.
create table api_key_secrets (
  -- SHA-256 of the whole secret in hexadecimal; the secret itself is stored nowhere.
  hash text primary key check (length(hash) = 64),
  api_key_id text not null references api_keys,
  workspace_id text not null references workspaces,
  -- The first moment at which it is refused; 0 where its key was revoked, so that no clock can tell otherwise.
  expires_at integer,
  -- When it was last seen on an accepted request, to the hour.
  last_used_at integer
) strict, without rowid;

create index api_key_secrets_by_key on api_key_secrets (api_key_id);

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
  -- Why the version was made.
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
  -- How often it has changed: the number of the newest row of its history.
  revision integer not null check (revision >= 1),
  created_at integer not null,
  foreign key (prompt_id, current_version) references prompt_versions
) strict;

create index deployments_by_workspace on deployments (workspace_id, id);

-- The history of every deployment; rows are only added.
create table deployment_changes (
  deployment_id text not null references deployments,
  -- Numbered from 1 without gaps.
  revision integer not null check (revision >= 1),
  action text not null check (action in ('created', 'promoted', 'rolled_back', 'activated', 'deactivated', 'renamed')),
  -- What was changed, before and after, as JSON: a version, whether it is active, or a name. Null where it was created.
  from_value text,
  to_value text not null,
  -- By which way it was changed, and who says to have done it, and why.
  source text not null check (source in ('api', 'command line')),
  actor text not null,
  note text not null,
  created_at integer not null,
  primary key (deployment_id, revision)
) strict, without rowid;
