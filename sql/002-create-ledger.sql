-- What is counted. For every workspace and month: reads + submits of quota_usage = calls = reads served + diagnoses,
-- because one transaction writes all of them. What is deleted later leaves a mark in that transaction, and what is pruned a
-- count, so that the sums still hold. No foreign keys: every row is made by a join with what it names, and what it names is
-- never deleted.
--
-- Accepted requests have positions, which only go up. So rows are only ever added at the end, and so are the entries of
-- the indexes, since these begin with the block of 256 positions that a row stands in: whoever writes at the same time, a
-- transaction touches the same few pages. What is looked for is looked for in one block after the other.

create table quota_usage (
  workspace_id text not null,
  -- The calendar month, UTC, as YYYY-MM.
  month text not null check (month glob '[0-9][0-9][0-9][0-9]-[01][0-9]' and substr(month, 6) between '01' and '12'),
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  primary key (workspace_id, month)
) strict, without rowid;

-- The transactions: what is common to the requests that were accepted together.
create table commits (
  -- Its requests have positions from this one on, and below the next one.
  position integer primary key,
  next_position integer not null check (next_position > position),
  -- Made before the first attempt. A call's id is this with its place in the commit, as two hexadecimal digits.
  id text not null unique,
  month text not null,
  created_at integer not null
) strict;

-- The call log, in order of acceptance. A row stands for calls that were alike: they have `count` positions and numbers,
-- from the row's own on.
create table calls (
  position integer primary key,
  count integer not null check (count >= 1),
  -- The first call's number in its workspace's month, from 1 to the limit.
  number integer not null check (number >= 1),
  workspace_id text not null,
  api_key_id text not null,
  deployment_id text not null,
  prompt_version integer not null,
  operation text not null check (operation in ('read', 'submit'))
) strict;

create index calls_by_workspace on calls (position >> 8, workspace_id);

-- The records, each at the position of the call that stored it.
create table diagnoses (
  position integer primary key,
  deployment_id text not null,
  prompt_version integer not null,
  session_id text not null,
  status integer not null,
  -- Latency in ms, prompt tokens and completion tokens, each `null` where not given: what stands in a JSON array.
  measures text not null,
  -- The members of the record as a JSON object, as submitted: read back from here, found by the columns above. It stands
  -- last, since what stands behind a long text is reached only through all of it.
  document text not null
) strict;

-- Holds all that statistics are made of, as the text that they are read in: putting it together takes longer than reading it.
create index diagnoses_by_deployment on diagnoses
  (position >> 8, deployment_id, session_id, prompt_version, status, prompt_version || ',' || status || ',' || measures);

-- The records that were deleted, each in place of its row in diagnoses.
create table deleted_diagnoses (
  position integer primary key,
  deployment_id text not null,
  prompt_version integer not null,
  deleted_at integer not null
) strict;

-- What was taken out of the log because of its age: of every month the first calls, and their records.
create table pruned_usage (
  workspace_id text not null,
  month text not null,
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  primary key (workspace_id, month)
) strict, without rowid;

-- What was submitted under an Idempotency-Key: a repeat stores nothing and is answered from here.
create table idempotency_keys (
  workspace_id text not null,
  -- SHA-256 of the key, in hexadecimal.
  key text not null,
  -- SHA-256 of the deployment id and the body, in hexadecimal: tells a repeat from another request under the same key.
  fingerprint text not null,
  record_id text not null,
  created_at integer not null,
  primary key (workspace_id, key)
) strict, without rowid;

-- Old keys are forgotten by their age.
create index idempotency_keys_by_age on idempotency_keys (created_at);
