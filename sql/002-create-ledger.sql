-- The ledger. For every workspace and month: reads + submits of quota_usage = calls = reads served + diagnoses, because one
-- transaction writes all of them. Deleting a record adds a row to deleted_diagnoses, and pruning adds to pruned_usage, so
-- that the sums still hold. There are no foreign keys: each row is made by a join with the rows it names, and those are
-- never deleted.
--
-- Every accepted request has a position, and positions only increase, so that rows are appended. Index entries are appended
-- too, since each index begins with the block of 256 positions that the row lies in. A transaction therefore touches the
-- same few pages however many workspaces write. Queries visit one block after the other.

create table quota_usage (
  workspace_id text not null,
  -- The calendar month, UTC, as YYYY-MM.
  month text not null check (month glob '[0-9][0-9][0-9][0-9]-[01][0-9]' and substr(month, 6) between '01' and '12'),
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  primary key (workspace_id, month)
) strict, without rowid;

-- One row per transaction: what the requests accepted together have in common.
create table commits (
  -- The requests of the commit have the positions from this one up to, but not including, the next one.
  position integer primary key,
  next_position integer not null check (next_position > position),
  -- Made before the first attempt. A call's id is this and its offset in the commit as two hexadecimal digits.
  id text not null unique,
  month text not null,
  created_at integer not null
) strict;

-- The call log, in order of acceptance. A row is a run of `count` calls that differ in nothing but their positions and
-- numbers, which follow the row's own.
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
  -- Latency in ms, prompt tokens and completion tokens, each `null` if absent: the inside of a JSON array.
  measures text not null,
  -- The record as submitted, a JSON object. It is the last column, since SQLite reads through a long text to reach the
  -- columns behind it.
  document text not null
) strict;

-- Covers the statistics: its last column is the text they are read as, since building that text takes longer than reading it.
create index diagnoses_by_deployment on diagnoses
  (position >> 8, deployment_id, session_id, prompt_version, status, prompt_version || ',' || status || ',' || measures);

-- Deleted records: each row replaces one of diagnoses.
create table deleted_diagnoses (
  position integer primary key,
  deployment_id text not null,
  prompt_version integer not null,
  deleted_at integer not null
) strict;

-- Counts of pruned calls and their records. Pruning removes the oldest first, so these are the first calls of a month.
create table pruned_usage (
  workspace_id text not null,
  month text not null,
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  primary key (workspace_id, month)
) strict, without rowid;

-- Submits with an Idempotency-Key. A repeat stores nothing and gets its response from here.
create table idempotency_keys (
  workspace_id text not null,
  -- SHA-256 of the key, in hexadecimal.
  key text not null,
  -- SHA-256 of the deployment id and the body, in hexadecimal: distinguishes a repeat from another request with that key.
  fingerprint text not null,
  record_id text not null,
  created_at integer not null,
  primary key (workspace_id, key)
) strict, without rowid;

-- Finds expired keys.
create index idempotency_keys_by_age on idempotency_keys (created_at);
