-- What is counted. For every workspace and month: reads + submits of quota_usage = calls = reads served + diagnoses,
-- because one transaction writes all three.

create table quota_usage (
  workspace_id text not null references workspaces,
  -- The calendar month, UTC, as YYYY-MM.
  month text not null check (month glob '[0-9][0-9][0-9][0-9]-[01][0-9]' and substr(month, 6) between '01' and '12'),
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  primary key (workspace_id, month)
) strict, without rowid;

-- The call log: one row per accepted request, in order of acceptance.
create table calls (
  position integer primary key,
  id text not null unique,
  workspace_id text not null references workspaces,
  month text not null,
  -- The request's place in its month, from 1 to the limit: no two requests can take the last one.
  number integer not null check (number >= 1),
  api_key_id text not null references api_keys,
  deployment_id text not null references deployments,
  prompt_version integer not null,
  operation text not null check (operation in ('read', 'submit')),
  created_at integer not null,
  unique (workspace_id, month, number)
) strict;

create table diagnoses (
  -- The call that stored the record.
  position integer primary key references calls,
  -- The id of that call under a prefix of its own, so that it needs no index of its own.
  id text not null,
  deployment_id text not null references deployments,
  prompt_version integer not null,
  session_id text not null,
  status integer not null,
  created_at integer not null,
  -- The members of the record as a JSON object, as submitted: read back from here, found by the columns above. It stands
  -- last, since what stands behind a long text is reached only through all of it.
  document text not null
) strict;

create index diagnoses_by_deployment on diagnoses (deployment_id);
create index diagnoses_by_session on diagnoses (deployment_id, session_id);
