-- Feedback: what people and programs thought of a record. Each piece is of one author under one name. It is stored at the
-- position of its record, so that scans of the log read it in order, and a record without feedback takes no space.

create table feedback (
  position integer not null,
  name text not null,
  -- The application's name for whoever gave it. It is empty where a record has one voice.
  author text not null,
  -- A number, 0 or 1 for a boolean, or a label.
  value any not null,
  comment text not null,
  source text not null check (source in ('user', 'reviewer', 'program')),
  given_at integer not null,
  -- Rises with every change, from 1 on.
  change integer not null check (change >= 1),
  primary key (position, name, author)
) strict, without rowid;

-- What was replaced or withdrawn.
create table earlier_feedback (
  position integer not null,
  name text not null,
  author text not null,
  change integer not null check (change >= 1),
  value any not null,
  comment text not null,
  source text not null,
  given_at integer not null,
  ended_at integer not null,
  primary key (position, name, author, change)
) strict, without rowid;

-- The names of a workspace. The first use of a name, or its declaration, settles the kind of its values.
create table feedback_names (
  workspace_id text not null,
  name text not null,
  kind text not null check (kind in ('number', 'boolean', 'label')),
  -- A workspace that declares any name refuses those that it does not.
  is_declared integer not null check (is_declared in (0, 1)),
  minimum real,
  maximum real,
  -- A JSON array of the labels that are allowed. Null if all are.
  labels text,
  -- Which way is better: higher values, lower ones, or neither.
  better text check (better in ('higher', 'lower')),
  primary key (workspace_id, name)
) strict, without rowid;

-- Feedback on records that have not arrived yet, by the SHA-256 of the idempotency keys that they will be sent under.
create table waiting_feedback (
  workspace_id text not null,
  key text not null,
  name text not null,
  author text not null,
  -- The only deployment whose record it may be about. Null for any.
  deployment_id text,
  value any not null,
  comment text not null,
  source text not null,
  given_at integer not null,
  primary key (workspace_id, key, name, author)
) strict, without rowid;

-- Finds feedback that has waited too long.
create index waiting_feedback_by_age on waiting_feedback (given_at);

-- A record takes what waits for it, in the transaction that stores it. The id of a record is that of its commit and two
-- hexadecimal digits.
create trigger idempotency_keys_take_feedback after insert on idempotency_keys begin
  insert into feedback (position, name, author, value, comment, source, given_at, change)
  select d.position, w.name, w.author, w.value, w.comment, w.source, w.given_at, 1
  from waiting_feedback w
  cross join commits m on m.id = substr(new.record_id, 6, 24)
  cross join diagnoses d on d.position = m.position
    + 16 * (instr('0123456789abcdef', substr(new.record_id, 30, 1)) - 1)
    + instr('0123456789abcdef', substr(new.record_id, 31, 1)) - 1
  where w.workspace_id = new.workspace_id and w.key = new.key
    and (w.deployment_id is null or w.deployment_id = d.deployment_id)
  on conflict do nothing; delete from waiting_feedback where workspace_id = new.workspace_id and key = new.key; end;

-- Feedback goes with its record, whatever removes that.
create trigger diagnoses_drop_feedback after delete on diagnoses begin
  delete from feedback where position = old.position; delete from earlier_feedback where position = old.position; end;
