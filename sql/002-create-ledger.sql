-- What is counted. For every workspace and month: reads + submits of quota_usage = calls = reads served + diagnoses,
-- because one transaction writes all three. No foreign keys: every row is made by a join with what it names, and what
-- it names is never deleted.
--
-- Rows of calls and diagnoses only ever go to the end, and so do the entries of their indexes: an index begins with the
-- block of 256 rows that a row stands in. Whoever else writes at the same time, a commit touches the same few pages.
-- What is looked for is then looked for in one block after the other, which takes a search per 256 rows.

create table quota_usage (
  workspace_id text not null,
  -- The calendar month, UTC, as YYYY-MM.
  month text not null check (month glob '[0-9][0-9][0-9][0-9]-[01][0-9]' and substr(month, 6) between '01' and '12'),
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  primary key (workspace_id, month)
) strict, without rowid;

-- The call log: one row per accepted request, in order of acceptance.
create table calls (
  position integer primary key,
  -- Made before the first attempt. Calls that were accepted in one group differ in the last two characters only.
  id text not null unique,
  workspace_id text not null,
  month text not null,
  -- The request's place in its month, from 1 to the limit.
  number integer not null check (number >= 1),
  api_key_id text not null,
  deployment_id text not null,
  prompt_version integer not null,
  operation text not null check (operation in ('read', 'submit')),
  created_at integer not null
) strict;

create index calls_by_workspace on calls (position >> 8, workspace_id);

create table diagnoses (
  -- That of the call that stored the record.
  position integer primary key,
  -- The id of that call under a prefix of its own, so that it needs no index of its own.
  id text not null,
  deployment_id text not null,
  prompt_version integer not null,
  session_id text not null,
  status integer not null,
  created_at integer not null,
  -- The members of the record as a JSON object, as submitted: read back from here, found by the columns above. It stands
  -- last, since what stands behind a long text is reached only through all of it.
  document text not null
) strict;

create index diagnoses_by_deployment on diagnoses (position >> 8, deployment_id, session_id);

-- What was submitted under an Idempotency-Key: a repeat stores nothing and is answered from here.
create table idempotency_keys (
  workspace_id text not null,
  key text not null,
  -- SHA-256 of the deployment id and the body, in hexadecimal: tells a repeat from another request under the same key.
  fingerprint text not null,
  record_id text not null,
  created_at integer not null,
  primary key (workspace_id, key)
) strict, without rowid;
