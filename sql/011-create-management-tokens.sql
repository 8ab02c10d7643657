-- Management tokens: what people and programs authenticate with to the management API. They are no API keys.
create table management_tokens (
  id text primary key,
  -- Null for all workspaces.
  workspace_id text references workspaces,
  name text not null,
  role text not null check (
    role in ('viewer', 'editor', 'publisher', 'admin') or role = 'owner' and workspace_id is null
  ),
  -- The first characters of the secret.
  prefix text not null,
  created_at integer not null,
  expires_at integer,
  revoked_at integer,
  rotated_at integer,
  overlap_ends_at integer,
  -- The last request under this token, to the hour.
  last_used_at integer
) strict;

create index management_tokens_by_workspace on management_tokens (workspace_id, id);

create table management_token_secrets (
  -- SHA-256 of the secret in hexadecimal. The secret itself is not stored.
  hash text primary key check (length(hash) = 64),
  token_id text not null references management_tokens,
  -- The first moment at which the secret is refused. Revoking the token sets 0, which is in the past for every clock.
  expires_at integer
) strict, without rowid;

create index management_token_secrets_by_token on management_token_secrets (token_id);
