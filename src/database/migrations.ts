// Generated from sql/ by `npm run generate`; edit the files there.
// deno-fmt-ignore-file
import type { Migration } from "./migrate.ts";

/** The name of the last one, for modules that need no SQL. */
export const latestMigration = "040-count-feedback";

/** The triggers of a database, as SQLite keeps their texts, by name. */
export const triggers: Readonly<Record<string, string>> = {
  audit_log_no_delete: `audit_log_no_delete before delete on audit_log begin select raise(abort, 'Entries of the audit log stay'); end`,
  audit_log_no_update: `audit_log_no_update before update on audit_log begin select raise(abort, 'Entries of the audit log stay'); end`,
  idempotency_keys_take_feedback: `idempotency_keys_take_feedback after insert on idempotency_keys begin
  insert into feedback (position, name, author, value, comment, source, given_at, change)
  select d.position, w.name, w.author, w.value, w.comment, w.source, w.given_at, 1
  from waiting_feedback w
  cross join commits m on m.id = substr(new.record_id, 6, 24)
  cross join diagnoses d on d.position = m.position
    + 16 * (instr('0123456789abcdef', substr(new.record_id, 30, 1)) - 1)
    + instr('0123456789abcdef', substr(new.record_id, 31, 1)) - 1
  where w.workspace_id = new.workspace_id and w.key = new.key and +w.given_at >= new.created_at - 172800000
    and (w.deployment_id is null or w.deployment_id = d.deployment_id)
  on conflict do nothing; delete from waiting_feedback where workspace_id = new.workspace_id and key = new.key; end`,
  diagnoses_drop_feedback: `diagnoses_drop_feedback after delete on diagnoses begin
  delete from feedback where position = old.position; delete from earlier_feedback where position = old.position; end`,
  diagnoses_leave_reviews: `diagnoses_leave_reviews after delete on diagnoses begin
  delete from review_records where position = old.position; end`,
  diagnoses_count_deletions: `diagnoses_count_deletions after delete on diagnoses begin
  insert into changed_blocks (number, changes) values (old.position >> 8, 1)
  on conflict do update set changes = changes + 1; end`,
  diagnoses_count_updates: `diagnoses_count_updates after update on diagnoses begin
  insert into changed_blocks (number, changes) values (old.position >> 8, 1)
  on conflict do update set changes = changes + 1; end`,
  waiting_feedback_count_added: `waiting_feedback_count_added after insert on waiting_feedback begin
  insert into waiting_counts (workspace_id, places) values (new.workspace_id, new.places)
  on conflict do update set places = places + excluded.places; end`,
  waiting_feedback_count_changed: `waiting_feedback_count_changed after update on waiting_feedback begin
  update waiting_counts set places = places + new.places - old.places where workspace_id = new.workspace_id; end`,
  waiting_feedback_count_removed: `waiting_feedback_count_removed after delete on waiting_feedback begin
  delete from waiting_counts where workspace_id = old.workspace_id and places = old.places; update waiting_counts
  set places = places - old.places where workspace_id = old.workspace_id; end`,
  feedback_add_count: `feedback_add_count after insert on feedback begin
  insert into feedback_words (word, uses)
  select new.name, 1 union all select new.value, 1 where typeof(new.value) = 'text'
  on conflict (word) do update set uses = uses + 1; insert into feedback_counts (position, name_id, value, pieces)
  select new.position, id, iif(
    typeof(new.value) = 'text', (select id from feedback_words where word = new.value), new.value
  ), 1 from feedback_words where word = new.name
  on conflict do update set pieces = pieces + 1; end`,
  feedback_drop_count: `feedback_drop_count after delete on feedback begin
  delete from feedback_counts
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ) and pieces = 1; update feedback_counts set pieces = pieces - 1
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ); delete from feedback_words
  where word = old.name and uses = 1; update feedback_words set uses = uses - 1
  where word = old.name; delete from feedback_words
  where typeof(old.value) = 'text' and word = old.value and uses = 1; update feedback_words set uses = uses - 1
  where typeof(old.value) = 'text' and word = old.value; end`,
  feedback_change_count: `feedback_change_count after update of position, name, value on feedback
when (new.position, new.name, new.value) is not (old.position, old.name, old.value) begin
  insert into feedback_words (word, uses)
  select new.name, 1 union all select new.value, 1 where typeof(new.value) = 'text'
  on conflict (word) do update set uses = uses + 1; insert into feedback_counts (position, name_id, value, pieces)
  select new.position, id, iif(
    typeof(new.value) = 'text', (select id from feedback_words where word = new.value), new.value
  ), 1 from feedback_words where word = new.name
  on conflict do update set pieces = pieces + 1; delete from feedback_counts
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ) and pieces = 1; update feedback_counts set pieces = pieces - 1
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ); delete from feedback_words
  where word = old.name and uses = 1; update feedback_words set uses = uses - 1
  where word = old.name; delete from feedback_words
  where typeof(old.value) = 'text' and word = old.value and uses = 1; update feedback_words set uses = uses - 1
  where typeof(old.value) = 'text' and word = old.value; end`,
  earlier_feedback_add_change: `earlier_feedback_add_change after insert on earlier_feedback begin
  insert into feedback_histories (position, changes) values (new.position, 1)
  on conflict do update set changes = changes + 1; end`,
  earlier_feedback_drop_change: `earlier_feedback_drop_change after delete on earlier_feedback begin
  delete from feedback_histories where position = old.position and changes = 1; update feedback_histories
  set changes = changes - 1 where position = old.position; end`,
};

/** All migrations, in order. */
export const migrations: readonly Migration[] = [
  {
    name: "001-create-catalog",
    checksum: "a044d092fd9639b0b661b27db7eb57292f26547b57f10db98457efdcbb018ef8",
    sql: `-- The catalog: workspaces, API keys, prompts and deployments.
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
`,
  },
  {
    name: "002-create-ledger",
    checksum: "dc684343bf54d1453b2a945e39e1af70d930a9f10fede8f5e5c3dd79639c8efc",
    sql: `-- The ledger. For every workspace and month: reads + submits of quota_usage = calls = reads served + diagnoses, because one
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

-- The call log, in order of acceptance. A row is a run of \`count\` calls that differ in nothing but their positions and
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
  -- Latency in ms, prompt tokens and completion tokens, each \`null\` if absent: the inside of a JSON array.
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
`,
  },
  {
    name: "003-index-commits-by-time",
    checksum: "85d359d9681b0c8417022a30dfdc346add4397797665a76e3e01ab830a85b845",
    sql: `-- Finds the blocks of 4096 positions in which commits of a time range begin. Clocks differ and step, so that the times of the
-- commits are in no order.
create index commits_by_time on commits (position >> 12, created_at);
`,
  },
  {
    name: "004-index-version-times",
    checksum: "fd23281f4719ddb49a97931ad112caeed9b699d7d6b034155ed322e823ac888e",
    sql: `-- Tells a version from another of the same number, which a database that was set back may have, without reading its texts.
create index prompt_versions_by_time on prompt_versions (prompt_id, version, created_at);
`,
  },
  {
    name: "005-name-prompts",
    checksum: "efd0c4379438d2cc91f2fe4aa2267feef1c5d1a2422725693f339e77f60ac67c",
    sql: `-- Names: a prompt's is unique in its workspace, a deployment's is unique among those of its prompt. Together they make a
-- reference, \`NAME@DEPLOYMENT\`, which stands wherever a deployment's id does.

-- Lower-case segments of letters, digits, \`.\`, \`_\` and \`-\`, separated by \`/\`; at most 200 characters.
alter table prompts add column name text not null default '';

-- An archived prompt or deployment is hidden from lists and refused to clients. Its name stays taken.
alter table prompts add column archived_at integer;
alter table deployments add column archived_at integer;
-- The same moment as the prompt's, kept here too, so that a request need not look at the prompt.
alter table deployments add column prompt_archived_at integer;

-- Existing prompts get names from the titles of their newest versions, existing deployments from what they were called.
create table new_names (
  id text primary key,
  -- In what a name is unique: a workspace or a prompt.
  scope text not null,
  slug text not null,
  -- Counts those of the same slug in the same scope, from 1.
  nth integer not null
) strict;

insert into new_names (id, scope, slug, nth)
with recursive letter(id, scope, rest, slug) as (
  select p.id, p.workspace_id, lower(substr(v.title, 1, 150)), ''
  from prompts p join prompt_versions v on v.prompt_id = p.id
    and v.version = (select max(version) from prompt_versions where prompt_id = p.id)
  union all
  select id, prompt_id, lower(substr(name, 1, 70)), '' from deployments
  union all
  select id, scope, substr(rest, 2), slug || case
      when substr(rest, 1, 1) glob '[a-z0-9._-]' then substr(rest, 1, 1)
      when slug = '' or slug glob '*-' then ''
      else '-'
    end
  from letter where rest <> ''
),
slugs as (
  select id, scope, coalesce(nullif(trim(slug, '-.'), ''), iif(id like 'dep%', 'deployment', 'prompt')) as slug
  from letter where rest = ''
)
select id, scope, slug, row_number() over (partition by scope, slug order by id) from slugs;

create index new_names_by_slug on new_names (scope, slug);

-- The first of a slug gets it as its name, the others a number behind it, or their ids where that is taken.
create table final_names (id text primary key, name text not null) strict;

insert into final_names (id, name)
select id, case
    when nth = 1 then slug
    when not exists (select 1 from new_names o where o.scope = n.scope and o.slug = n.slug || '-' || n.nth)
      then slug || '-' || nth
    else slug || '-' || lower(substr(id, instr(id, '_') + 1))
  end
from new_names n;

update prompts set name = (select name from final_names f where f.id = prompts.id);

insert into deployment_changes
  (deployment_id, revision, action, from_value, to_value, source, actor, note, created_at)
select d.id, d.revision + 1, 'renamed', json_quote(d.name), json_quote(f.name), 'command line', '',
  'Deployment names became lower-case and unique for each prompt', max(d.created_at, unixepoch() * 1000)
from deployments d join final_names f on f.id = d.id and f.name <> d.name;

update deployments set name = f.name, revision = revision + 1
from final_names f where f.id = deployments.id and f.name <> deployments.name;

drop table new_names;

drop table final_names;

create unique index prompts_by_name on prompts (workspace_id, name);

create unique index deployments_by_name on deployments (prompt_id, name);

-- A column \`notice\` is shown to whoever migrates.
select 'Named ' || total || ' prompts after their titles. See prompt list and prompt rename' as notice
from (select count(*) as total from prompts) where total > 0;

select 'Renamed ' || total || ' deployments, since names are now lower-case and unique for each prompt. See deploy history'
  as notice
from (
  select count(*) as total from deployment_changes
  where action = 'renamed' and note = 'Deployment names became lower-case and unique for each prompt'
) where total > 0;
`,
  },
  {
    name: "006-extend-deployment-history",
    checksum: "dbba61e01cef57302cc85dc8ef7e436c7abd3259e0ebb6012050f31f0af9c41c",
    sql: `-- Archiving is a change of a deployment too. The rule of a column can only be changed by making the table anew.
create table extended_changes (
  deployment_id text not null references deployments,
  -- Numbered from 1 without gaps.
  revision integer not null check (revision >= 1),
  action text not null check (
    action in (
      'created', 'promoted', 'rolled_back', 'activated', 'deactivated', 'renamed', 'archived', 'unarchived'
    )
  ),
  -- The value before and after, as JSON: a version, the active or archived state, or a name. A creation has null before.
  from_value text,
  to_value text not null,
  -- The interface the change came through, and the person and reason it was given.
  source text not null check (source in ('api', 'command line')),
  actor text not null,
  note text not null,
  created_at integer not null,
  primary key (deployment_id, revision)
) strict, without rowid;

insert into extended_changes
  (deployment_id, revision, action, from_value, to_value, source, actor, note, created_at)
select deployment_id, revision, action, from_value, to_value, source, actor, note, created_at from deployment_changes;

drop table deployment_changes;

alter table extended_changes rename to deployment_changes;
`,
  },
  {
    name: "007-count-pruned-calls-by-key",
    checksum: "98bf1093fae2938634779afb3d84c9219e27f1eb411727f5e9d2cd3803b74b1f",
    sql: `-- Counts of pruned calls and their records, as pruned_usage had them, but by key and deployment too. Pruning removes the oldest
-- calls of a workspace first, so these are the first calls of a month.
create table pruned_calls (
  workspace_id text not null,
  month text not null,
  -- Both are empty for what was pruned before they were counted.
  api_key_id text not null,
  deployment_id text not null,
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  primary key (workspace_id, month, api_key_id, deployment_id)
) strict, without rowid;

insert into pruned_calls (workspace_id, month, api_key_id, deployment_id, reads, submits)
select workspace_id, month, '', '', reads, submits from pruned_usage;

drop table pruned_usage;

-- How far each workspace is pruned. Whoever counts the log while it is pruned reads here what has changed meanwhile.
create table prunings (
  workspace_id text primary key,
  -- The log has no call of the workspace before this position.
  position integer not null,
  -- No call of the workspace before this position has a record.
  records_position integer not null,
  -- Rises with every transaction that prunes calls, of whichever workspace.
  sequence integer not null
) strict, without rowid;

create index prunings_by_sequence on prunings (sequence);
`,
  },
  {
    name: "008-keep-for-a-time",
    checksum: "64853a96dd42394df23f6ca473393b3fd38586cbb57a09629889b52151573746",
    sql: `-- How long a workspace keeps its records, and its calls with their records, in milliseconds; null for ever.
alter table workspaces add column keep_records_ms integer check (keep_records_ms >= 86400000);
alter table workspaces add column keep_calls_ms integer check (keep_calls_ms >= 86400000);

-- The one row is the lease of the upkeep that services do in the background, so that one of them does it at a time.
create table upkeep (
  id integer primary key check (id = 1),
  -- Who does it, or did it last.
  holder text not null,
  -- Until then no one else begins.
  expires_at integer not null
) strict;

insert into upkeep (id, holder, expires_at) values (1, '', 0);
`,
  },
  {
    name: "009-delete-workspaces",
    checksum: "54fcf3ffc2d131ff984e8aedfed7ed1d904580c81bfec8c98cbf9deea982a679",
    sql: `-- Deleted workspaces, with what they had used in all. While finished_at is null, the rest of the workspace is being removed.
create table deleted_workspaces (
  id text primary key,
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  -- In how many months.
  months integer not null check (months >= 0),
  deleted_at integer not null,
  finished_at integer
) strict;
`,
  },
  {
    name: "010-limit-keys",
    checksum: "547610bd86c207f919bc3cb5689cc53b1e5a8bf91632b2b0f12b52de384e6b4e",
    sql: `-- Keys with less power: a key may be for reads or for submits alone, and for one deployment of its workspace.

alter table api_keys add column read_only integer not null default 0 check (read_only in (0, 1));
alter table api_keys add column submit_only integer not null default 0 check (submit_only in (0, 1));
-- Null for every deployment of the workspace.
alter table api_keys add column deployment_id text references deployments;

-- The same as that of the key, so that a request need not look at the key.
alter table api_key_secrets add column read_only integer not null default 0 check (read_only in (0, 1));
alter table api_key_secrets add column submit_only integer not null default 0 check (submit_only in (0, 1));
alter table api_key_secrets add column deployment_id text;

-- Deleting a deployment looks for the keys that are for it.
create index api_keys_by_deployment on api_keys (deployment_id) where deployment_id is not null;
`,
  },
  {
    name: "011-create-management-tokens",
    checksum: "2ca027bcbe0300ee758cdcda234de5410fd926bbf70525903980c918aa252487",
    sql: `-- Management tokens: what people and programs authenticate with to the management API. They are no API keys.
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
`,
  },
  {
    name: "012-protect-deployments",
    checksum: "04086958762290da65b9d58980ec40723b5aeb0113601546b7109ef607d2c5fc",
    sql: `-- A protected deployment takes a higher role to change.
alter table deployments add column is_protected integer not null default 0 check (is_protected in (0, 1));
`,
  },
  {
    name: "013-create-audit-log",
    checksum: "300e78aeaa7a4ebfa10d14bf37f67dd0335f85e875cbe72e8306bb8caacf5b0a",
    sql: `-- The audit log: an entry for each change that management made. It replaces the histories of deployments.

create table audit_log (
  -- Numbered from 1 without gaps.
  position integer primary key check (position >= 1),
  created_at integer not null,
  -- The interface the change came through, and the name of the token or the user.
  source text not null check (source in ('api', 'command line')),
  actor text not null,
  token_id text,
  -- A noun and what happened to it: \`deployment.promoted\`.
  action text not null check (action glob '[a-z]*.[a-z]*'),
  -- The id of what changed; null where all workspaces did.
  target_id text,
  workspace_id text,
  -- The members that changed, as JSON objects. A creation has null before, a deletion null after.
  before text,
  after text,
  note text not null,
  request_id text,
  -- SHA-256 in hexadecimal of the hash before and all else of the entry; empty for an entry from before the audit log.
  hash text not null check (length(hash) in (0, 64))
) strict;

create index audit_log_by_target on audit_log (target_id, position);

create index audit_log_by_workspace on audit_log (workspace_id, position);

-- The newest entry, so that one that is taken out at the end is missed.
create table audit_head (
  id integer primary key check (id = 1),
  position integer not null,
  hash text not null
) strict;

-- What the histories of deployments have becomes the first entries.
insert into audit_log (position, created_at, source, actor, action, target_id, workspace_id, before, after, note, hash)
select row_number() over (order by latest, deployment_id, revision), created_at, source, actor, 'deployment.' || action,
  deployment_id, workspace_id,
  case action
    when 'created' then null
    when 'archived' then json_object('archivedAt', null)
    when 'unarchived' then json_object('archivedAt', archived_at)
    else json_object(member, json(from_value))
  end,
  case action
    when 'archived' then json_object('archivedAt', created_at, 'revision', revision)
    when 'unarchived' then json_object('archivedAt', null, 'revision', revision)
    else json_object(member, json(to_value), 'revision', revision)
  end,
  note, ''
from (
  select c.*, d.workspace_id,
    -- The entries of a deployment stay in their order, whatever the clock did.
    max(c.created_at) over until_then as latest,
    max(iif(c.action = 'archived', c.created_at, null)) over until_then as archived_at,
    case
      when c.action = 'renamed' then 'name'
      when c.action in ('activated', 'deactivated') then 'isActive'
      else 'currentVersion'
    end as member
  from deployment_changes c join deployments d on d.id = c.deployment_id
  window until_then as (partition by c.deployment_id order by c.revision)
);

insert into audit_head (id, position, hash) select 1, count(*), '' from audit_log;

drop table deployment_changes;

-- An entry never changes. Both statements are on a line of their own, since the migrator splits at semicolons that end one.
create trigger audit_log_no_delete before delete on audit_log begin select raise(abort, 'Entries of the audit log stay'); end;

create trigger audit_log_no_update before update on audit_log begin select raise(abort, 'Entries of the audit log stay'); end;
`,
  },
  {
    name: "014-name-statuses",
    checksum: "ed9a5e88562a6f2709306c9f698934c8faf825af444889a9e79cd5f78f81b28a",
    sql: `-- What the codes that applications send as statuses mean in a workspace: a JSON array of {"status", "name", "isFailure"},
-- ordered by status.
alter table workspaces add column statuses text not null default '[]';
`,
  },
  {
    name: "015-reindex-records",
    checksum: "fa18e2232c730106992160b43b340c6d33e72e33905e2ce65e7c57ee2b292628",
    sql: `-- The column measures of diagnoses may have an array behind its three numbers: cached input tokens, model, provider and
-- cost, as far as a record has them. Records that were stored before get it by \`reindex\`.

-- The one row is how far \`reindex\` has come.
create table reindexing (
  id integer primary key check (id = 1),
  -- All records before this position have been read again.
  position integer not null
) strict;

insert into reindexing (id, position) values (1, 0);

select 'Tokens of ' || total || ' records are counted by an older rule. See reindex' as notice
from (select count(*) as total from diagnoses) where total > 0;
`,
  },
  {
    name: "016-create-prices",
    checksum: "4d011b2b3b770983073bfd86a894a6a033dd06484872f2cad4f4c8eece09d8e5",
    sql: `-- The operator's prices, by which the cost of records is computed when it is read. In USD per million tokens, as decimal
-- texts, so that no digit is lost.
create table prices (
  id text primary key,
  -- \`*\` for any provider. In the name of a model each \`*\` stands for any text.
  provider text not null,
  model text not null,
  input text not null,
  -- Null if cached input costs what other input does.
  cached_input text,
  output text not null,
  -- The first moment of the price, which ends where the next one of its provider and model begins.
  valid_from integer not null,
  created_at integer not null,
  unique (provider, model, valid_from)
) strict;
`,
  },
  {
    name: "017-name-sources",
    checksum: "b8c9bac3ad7f2038e1ca8bfa63311ff5b465c27ddb1ce7468f68f857dba957fc",
    sql: `-- A change may also come through the console, or from code that embeds the service. The rule of a column can only be changed
-- by making the table anew. Its entries stay as they are, and so do their hashes.
create table extended_log (
  -- Numbered from 1 without gaps.
  position integer primary key check (position >= 1),
  created_at integer not null,
  -- The interface the change came through, and the name of the token or the user.
  source text not null check (source in ('api', 'command line', 'console', 'embedded')),
  actor text not null,
  token_id text,
  -- A noun and what happened to it: \`deployment.promoted\`.
  action text not null check (action glob '[a-z]*.[a-z]*'),
  -- The id of what changed; null where all workspaces did.
  target_id text,
  workspace_id text,
  -- The members that changed, as JSON objects. A creation has null before, a deletion null after.
  before text,
  after text,
  note text not null,
  request_id text,
  -- SHA-256 in hexadecimal of the hash before and all else of the entry; empty for an entry from before the audit log.
  hash text not null check (length(hash) in (0, 64))
) strict;

insert into extended_log
  (position, created_at, source, actor, token_id, action, target_id, workspace_id, before, after, note, request_id, hash)
select position, created_at, source, actor, token_id, action, target_id, workspace_id, before, after, note, request_id, hash
from audit_log order by position;

drop table audit_log;

alter table extended_log rename to audit_log;

create index audit_log_by_target on audit_log (target_id, position);

create index audit_log_by_workspace on audit_log (workspace_id, position);

-- An entry never changes. Both statements are on a line of their own, since the migrator splits at semicolons that end one.
create trigger audit_log_no_delete before delete on audit_log begin select raise(abort, 'Entries of the audit log stay'); end;

create trigger audit_log_no_update before update on audit_log begin select raise(abort, 'Entries of the audit log stay'); end;
`,
  },
  {
    name: "018-read-names-from-documents",
    checksum: "b5b626676559235b141a89a88074bcd827f36bdcdc1ac94fb11940eada396f72",
    sql: `-- What statistics read of a record, as the inside of a JSON array. A tab in measures stands for the model that the document
-- names, a newline for its provider, so that a record has these names in its document and in the index alone. Rows from
-- before have them in measures too.
alter table diagnoses add column statistics text generated always as (
  prompt_version || ',' || status || ',' || iif(
    instr(measures, char(9)) or instr(measures, char(10)),
    replace(
      replace(measures, char(9), '"' || ifnull(document ->> 'model', '') || '"'),
      char(10), '"' || ifnull(document ->> 'provider', '') || '"'
    ),
    measures
  )
) virtual;

drop index diagnoses_by_deployment;

create index diagnoses_by_deployment on diagnoses
  (position >> 8, deployment_id, session_id, prompt_version, status, statistics);
`,
  },
  {
    name: "019-read-damaged-documents",
    checksum: "4490b870458958b2d2eeabafbbbfc0bb6eadadf0757a8575c715433d45542037",
    sql: `-- A document that is damaged, as by a bad sector, has no model and no provider. Without the test SQLite could neither check such
-- a record nor remove it.
drop index diagnoses_by_deployment;

alter table diagnoses drop column statistics;

alter table diagnoses add column statistics text generated always as (
  prompt_version || ',' || status || ',' || iif(
    instr(measures, char(9)) or instr(measures, char(10)),
    replace(
      replace(measures, char(9), '"' || iif(json_valid(document), ifnull(document ->> 'model', ''), '') || '"'),
      char(10), '"' || iif(json_valid(document), ifnull(document ->> 'provider', ''), '') || '"'
    ),
    measures
  )
) virtual;

create index diagnoses_by_deployment on diagnoses
  (position >> 8, deployment_id, session_id, prompt_version, status, statistics);
`,
  },
  {
    name: "020-create-service-secret",
    checksum: "deebc12eb4f67fdab5abad3cde3bb102f0408a74f576394a2fce8da8cec33e83",
    sql: `-- A secret of the database, which all services on it share. With it they encrypt what a caller may hold but not read: positions
-- of the log, which all workspaces share, would tell one workspace how much the others use the service.
create table service_secret (
  id integer primary key check (id = 1),
  -- 256 random bits in hexadecimal.
  secret text not null check (length(secret) = 64)
) strict;

insert into service_secret (id, secret) values (1, lower(hex(randomblob(32))));
`,
  },
  {
    name: "021-count-older-entries",
    checksum: "84f8fb01892fb4b3322df448314be03ad5072c587e491021fa5db43f2b04065e",
    sql: `-- How many entries are from before the audit log, which alone have no hash of their own. They are the first ones.
alter table audit_head add column older integer not null default 0 check (older >= 0);

update audit_head set older = (select count(*) from audit_log where hash = '');
`,
  },
  {
    name: "022-end-sessions",
    checksum: "6fae76f3ce168e608320294e75b2e655eb74ea15553bd568da614c72a5e3b991",
    sql: `-- Sessions of the console that a person has signed out of, so that no process takes a copy of their cookie. All others are
-- cookies, not rows. A row may go once the session would have ended anyway.
create table ended_sessions (
  id text primary key,
  ends_at integer not null
) strict, without rowid;
`,
  },
  {
    name: "023-declare-variables",
    checksum: "161f03919b1df59bc4f1d831ecade5572565e81c39c951542fe3f0793b82d69e",
    sql: `-- What a version declares of its variables: a JSON object by name, as written but for the white space between tokens. Null
-- if it declares none.
alter table prompt_versions add column declarations text;
`,
  },
  {
    name: "024-create-feedback",
    checksum: "d2ae0aecdc234bb9823c87662d1dc3f099a5e33fc067eb562c2e0a6afd215ca6",
    sql: `-- Feedback: what people and programs thought of a record. Each piece is of one author under one name. It is stored at the
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
`,
  },
  {
    name: "025-create-reviews",
    checksum: "587c5d238b64ed8ba40f256f6131f04551315d0fedebacccbc6ba60ee2a28445",
    sql: `-- Reviews: records that people judge one after the other. A review has the records that its filter found when it was made.

create table reviews (
  id text primary key,
  workspace_id text not null,
  title text not null,
  -- A JSON object with the filter as it was given.
  filter text not null,
  sequence text not null check (sequence in ('newest', 'random')),
  -- What a random sequence follows from. Null for another one.
  seed integer,
  -- A JSON array of the names under which to give feedback. It is empty if reviewers decide that.
  names text not null,
  -- How many records it was made with.
  records integer not null check (records >= 0),
  created_at integer not null,
  created_by text not null
) strict, without rowid;

create index reviews_by_workspace on reviews (workspace_id, id);

create table review_records (
  review_id text not null,
  ordinal integer not null,
  -- That of the record in the log.
  position integer not null,
  state text not null check (state in ('open', 'done', 'skipped')),
  -- Who has taken it last, and the id of their token, if they have one. Null if nobody has it.
  reviewer text,
  token_id text,
  -- Until then no other reviewer gets it.
  leased_until integer,
  finished_at integer,
  primary key (review_id, ordinal)
) strict, without rowid;

-- Counts the records of a review, and finds the next one.
create index review_records_by_state on review_records (review_id, state, ordinal, leased_until);

-- Finds those that reviewers have.
create index review_records_by_lease on review_records (review_id, leased_until) where leased_until is not null;

create unique index review_records_by_position on review_records (position, review_id);

-- A record leaves its reviews, whatever removes it.
create trigger diagnoses_leave_reviews after delete on diagnoses begin
  delete from review_records where position = old.position; end;
`,
  },
  {
    name: "026-name-mcp",
    checksum: "c58a8b217faae58febfcae74a8bd54dffc2026807f9380ce2a130b2c1192962b",
    sql: `-- A change may also come through MCP. The rule of a column can only be changed by making the table anew. Its entries stay as
-- they are, and so do their hashes.
create table extended_log (
  -- Numbered from 1 without gaps.
  position integer primary key check (position >= 1),
  created_at integer not null,
  -- The interface the change came through, and the name of the token or the user.
  source text not null check (source in ('api', 'command line', 'console', 'embedded', 'mcp')),
  actor text not null,
  token_id text,
  -- A noun and what happened to it: \`deployment.promoted\`.
  action text not null check (action glob '[a-z]*.[a-z]*'),
  -- The id of what changed; null where all workspaces did.
  target_id text,
  workspace_id text,
  -- The members that changed, as JSON objects. A creation has null before, a deletion null after.
  before text,
  after text,
  note text not null,
  request_id text,
  -- SHA-256 in hexadecimal of the hash before and all else of the entry; empty for an entry from before the audit log.
  hash text not null check (length(hash) in (0, 64))
) strict;

insert into extended_log
  (position, created_at, source, actor, token_id, action, target_id, workspace_id, before, after, note, request_id, hash)
select position, created_at, source, actor, token_id, action, target_id, workspace_id, before, after, note, request_id, hash
from audit_log order by position;

drop table audit_log;

alter table extended_log rename to audit_log;

create index audit_log_by_target on audit_log (target_id, position);

create index audit_log_by_workspace on audit_log (workspace_id, position);

-- An entry never changes. Both statements are on a line of their own, since the migrator splits at semicolons that end one.
create trigger audit_log_no_delete before delete on audit_log begin select raise(abort, 'Entries of the audit log stay'); end;

create trigger audit_log_no_update before update on audit_log begin select raise(abort, 'Entries of the audit log stay'); end;
`,
  },
  {
    name: "027-create-rollouts",
    checksum: "f1b3e146d1997451df486ed5851e73021fffcd74a6685722338c3d62be8da435",
    sql: `-- Rollouts: a share of the callers of a deployment gets a candidate, the others the version that is live.

create table rollouts (
  id text primary key,
  workspace_id text not null,
  deployment_id text not null,
  -- The version that is live while it lasts.
  base_version integer not null,
  version integer not null check (version <> base_version),
  -- In tenths of a percent.
  share integer not null check (share between 1 and 1000),
  -- What buckets are made with. It is new in each rollout, so that two are independent, and stays while the share changes.
  salt text not null,
  note text not null,
  started_at integer not null,
  started_by text not null,
  ended_at integer,
  outcome text check (outcome in ('promoted', 'replaced', 'rolled_back', 'stopped', 'guard', 'deactivated', 'archived')),
  check ((ended_at is null) = (outcome is null))
) strict;

-- A deployment has one rollout at a time. Reads of prompts look it up.
create unique index active_rollouts on rollouts (deployment_id) where ended_at is null;

create index rollouts_by_deployment on rollouts (deployment_id, id);

create index rollouts_by_workspace on rollouts (workspace_id, id);

-- Which rollout chose the version of a submit. Null if none did, and for reads.
alter table calls add column rollout_id text;

-- Finds the records of a rollout. A call without one has no entry.
create index calls_by_rollout on calls (rollout_id, prompt_version, position) where rollout_id is not null;
`,
  },
  {
    name: "028-guard-rollouts",
    checksum: "3ff8eb612cac7a60ea071be7b1b8552673513789cca56c445daea386721b5075",
    sql: `-- A guard stops a rollout whose records show that the candidate is worse than a limit.

-- Conditions such as \`failures=+2%,p95=+20%\`, or null without a guard.
alter table rollouts add column guard text;

-- How certain the records must make it, in percent.
alter table rollouts add column certain real check (certain >= 50 and certain < 100);

-- When a service last began to check it. Services that share a database take turns.
alter table rollouts add column checked_at integer;
`,
  },
  {
    name: "029-count-changes",
    checksum: "d73e43b3fc1b5be8434f96ab999b7bf0f29c2a5f97d094882a2c755b1367ccf5",
    sql: `-- Counts the changes of what the log has stored already: records that are deleted or indexed again, and the feedback on
-- records. A process keeps its sums of a part of the log until that part has changed. Appending to the log counts as none.
create table changed_blocks (
  -- 256 positions: the position of a record >> 8.
  number integer primary key,
  changes integer not null check (changes >= 1)
) strict;

-- A block without a row has never changed. Feedback that is removed with its record counts with that.
create trigger diagnoses_count_deletions after delete on diagnoses begin
  insert into changed_blocks (number, changes) values (old.position >> 8, 1)
  on conflict do update set changes = changes + 1; end;

create trigger diagnoses_count_updates after update on diagnoses begin
  insert into changed_blocks (number, changes) values (old.position >> 8, 1)
  on conflict do update set changes = changes + 1; end;
`,
  },
  {
    name: "030-create-webhooks",
    checksum: "416d652cd2eb00acaf261ebd4b6786c42c0f790bc3cdf2797862d52d1101f334",
    sql: `-- Webhooks: addresses to which a service sends events. The audit log has the events; only where each webhook is stands here.

create table webhooks (
  id text primary key,
  -- Whose events it gets. Null for those of all workspaces.
  workspace_id text,
  -- All of it, which may be a secret, and its origin, which is none.
  url text not null,
  address text not null,
  -- Types of events, as in \`deployment.*,key.created\`. Null for all.
  events text,
  format text not null check (format in ('standard', 'github', 'slack')),
  -- The token that the receiver asks for.
  credential text,
  created_at integer not null,
  -- Until when the previous secrets sign too.
  overlap_ends_at integer,
  -- Up to where in the audit log its events have become deliveries, or were passed over.
  seen integer not null,
  -- One process sends to it at a time.
  leased_until integer not null default 0,
  -- Until when the receiver asked to be left alone.
  paused_until integer not null default 0,
  last_success_at integer,
  disabled_at integer,
  disabled_reason text check (disabled_reason in ('user', 'gone', 'failing')),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((format = 'github') = (credential is not null))
) strict;

create index webhooks_by_workspace on webhooks (workspace_id, id);

-- What signs. While a secret is rotated there are several.
create table webhook_secrets (
  webhook_id text not null,
  secret text not null,
  expires_at integer,
  primary key (webhook_id, secret)
) strict;

create table webhook_deliveries (
  webhook_id text not null,
  -- From 1, in the order of the events.
  number integer not null,
  event_id text not null,
  type text not null,
  -- The event as it was, in JSON.
  event text not null,
  created_at integer not null,
  -- When the next attempt is due, 0 for a first one; null once there is no other.
  due_at integer,
  attempts integer not null default 0,
  outcome text check (outcome in ('delivered', 'failed', 'stopped')),
  -- The last attempt: when it began, and the status and the beginning of the response, or why there was none.
  last_at integer,
  status integer,
  response text,
  error text,
  duration_ms integer,
  primary key (webhook_id, number),
  check ((due_at is null) = (outcome is not null))
) strict;

create index due_deliveries on webhook_deliveries (due_at) where due_at is not null;

create index due_deliveries_by_webhook on webhook_deliveries (webhook_id, number) where due_at is not null;

create index deliveries_by_time on webhook_deliveries (created_at);
`,
  },
  {
    name: "031-find-due-webhooks",
    checksum: "a9d04011a049d25eb26232926733e0487160dae55b45a98ea038866cfa3cd766",
    sql: `-- Finds the webhooks with due deliveries by one search for each, however many are due. The index before led through all of them.
drop index due_deliveries;

create index due_deliveries on webhook_deliveries (webhook_id, due_at) where due_at is not null;
`,
  },
  {
    name: "032-create-budgets",
    checksum: "235c2fdc4cb49281afde1f9da52dafd952888c58fa63ed9dc78bba69dfe3c10c",
    sql: `-- What happens without anybody doing it, and is said once: that a quota or a budget has reached a threshold, that a key will
-- expire, that upkeep fails. A row is written in one transaction with its entry of the audit log.
create table notices (
  -- What the entry says, as in \`quota.reached\`, and the id of what it is about.
  action text not null,
  subject text not null,
  -- What tells it from others about the same thing: a month, a threshold and a quota, or an expiry.
  fact text not null,
  workspace_id text,
  created_at integer not null,
  primary key (action, subject, fact)
) strict, without rowid;

-- Deleting a workspace removes its notices.
create index notices_by_workspace on notices (workspace_id);

-- Budgets: what the records of a workspace, of a prompt or of a key may cost in a day or a month before somebody is told.
create table budgets (
  id text primary key,
  workspace_id text not null,
  -- Null for records of all prompts, and of all keys.
  prompt_id text,
  key_id text,
  -- USD, a decimal text.
  amount text not null,
  per text not null check (per in ('day', 'month')),
  -- Percents in ascending order, as in \`50,80,100\`.
  thresholds text not null,
  created_at integer not null,
  -- When the amount or the thresholds were last set.
  changed_at integer not null,
  -- Up to which position of the log its records are counted, with which prices, as a hash, and how many submits its
  -- workspace had then. What is counted stands in budget_periods.
  counted integer not null default 0,
  prices text not null default '',
  submits integer not null default 0
) strict;

create index budgets_by_workspace on budgets (workspace_id, id);

-- What the records of a budget cost in a day or a month, as 2027-01-31 or 2027-01, in UTC.
create table budget_periods (
  budget_id text not null,
  period text not null,
  -- USD, a decimal text.
  cost text not null,
  records integer not null,
  -- How many of the records have no cost.
  unpriced integer not null,
  primary key (budget_id, period)
) strict, without rowid;

-- Find what expires soon.
create index api_keys_by_expiry on api_keys (expires_at) where expires_at is not null and revoked_at is null;

create index management_tokens_by_expiry on management_tokens (expires_at)
where expires_at is not null and revoked_at is null;
`,
  },
  {
    name: "033-create-alerts",
    checksum: "617083052819ee2c4d0fab26ed49ecb03e0968ee966b9915737812e6ce7a93be",
    sql: `-- Alerts: conditions on the records or the calls of a time, such as \`failures>5%\`. A service checks each once a minute.

create table alerts (
  id text primary key,
  workspace_id text not null,
  -- What it watches: a deployment, a prompt, or without either the whole workspace.
  deployment_id text,
  prompt_id text,
  condition text not null,
  over_ms integer not null,
  -- How many records the condition needs. Null if it needs none.
  at_least integer,
  -- How long the condition must not hold before the alert resolves.
  keep_firing_ms integer not null,
  created_at integer not null,
  -- When its condition was set.
  changed_at integer not null,
  mute_ends_at integer,
  state text not null check (state in ('ok', 'firing', 'no_data')),
  -- When it got this state.
  state_at integer not null,
  -- Since when the condition of an alert that fires does not hold.
  clear_at integer,
  -- What the last check found.
  value real,
  records integer,
  checked_at integer,
  -- How often a check began or the condition was set. Only the last check stores what it finds.
  turn integer not null,
  check (deployment_id is null or prompt_id is null)
) strict;

create index alerts_by_workspace on alerts (workspace_id, id);

create index firing_alerts on alerts (id) where state = 'firing';
`,
  },
  {
    name: "034-own-tokens",
    checksum: "713b65e63ca435634f7493a2ed56e585d9064998cbe1eea8ba289e6c46bab789",
    sql: `-- The person that a token belongs to. All tokens of a person are one person where two have to agree.
alter table management_tokens add column owner text;
`,
  },
  {
    name: "035-request-changes",
    checksum: "28fcc11d34d03261712dae84ae9d693300d4587143201354993be8f910d46ed1",
    sql: `-- How many other people must approve a change of a deployment.
alter table deployments add column approvals integer not null default 0 check (approvals in (0, 1));

-- Change requests: changes of deployments that wait for, or had, the approval of another person.
create table change_requests (
  id text primary key,
  workspace_id text not null,
  deployment_id text not null,
  -- The operation that an approval performs, and its input as a JSON object.
  operation text not null,
  input text not null,
  -- What changes, in words.
  from_state text not null,
  to_state text not null,
  -- The version that was live, the one that the change serves to some or all, and the hash of its content.
  live_version integer not null,
  version integer,
  content_hash text,
  -- The deployment that the change is of. With another revision it is stale.
  revision integer not null,
  note text not null,
  source text not null,
  -- Who made it: a name, the person, and the token.
  requested_by text not null,
  owner text,
  token_id text,
  created_at integer not null,
  expires_at integer not null,
  state text not null check (state in ('open', 'applied', 'declined', 'withdrawn', 'expired', 'stale')),
  decided_by text,
  decider_owner text,
  decided_at integer,
  reason text,
  check ((state = 'open') = (decided_at is null)),
  check ((version is null) = (content_hash is null))
) strict;

-- A deployment has one open request at a time.
create unique index open_change_requests on change_requests (deployment_id) where state = 'open';

create index change_requests_by_workspace on change_requests (workspace_id, id);
`,
  },
  {
    name: "036-keep-starts-of-budgets",
    checksum: "2eb618d3f1a9159dfb9acb477cfffca8fb2a859398197b97fd1fe17a4b0aa20a",
    sql: `-- When the first period that is counted of a budget began, in Unix ms. A clock that was ahead has left out what came before.
alter table budgets add column counted_since integer not null default 0;
`,
  },
  {
    name: "037-count-waiting-feedback",
    checksum: "d4ff6a9c60ba2fa140c91c2697d4717464988d28adcabe90e2a734fc8f2ef700",
    sql: `-- How much feedback of a workspace waits for its records. The room for it is bounded, and to count it takes as long as there is
-- of it. A piece takes a place, and one more for each 256 bytes of its texts.
alter table waiting_feedback add column places integer generated always as (
  1 + (octet_length(comment) + octet_length(author) + iif(typeof(value) = 'text', octet_length(value), 0)) / 256
) virtual;

-- A workspace of which nothing waits has no row.
create table waiting_counts (
  workspace_id text primary key,
  places integer not null check (places > 0)
) strict, without rowid;

insert into waiting_counts (workspace_id, places)
select workspace_id, sum(places) from waiting_feedback group by workspace_id;

create trigger waiting_feedback_count_added after insert on waiting_feedback begin
  insert into waiting_counts (workspace_id, places) values (new.workspace_id, new.places)
  on conflict do update set places = places + excluded.places; end;

create trigger waiting_feedback_count_changed after update on waiting_feedback begin
  update waiting_counts set places = places + new.places - old.places where workspace_id = new.workspace_id; end;

create trigger waiting_feedback_count_removed after delete on waiting_feedback begin
  delete from waiting_counts where workspace_id = old.workspace_id and places = old.places; update waiting_counts
  set places = places - old.places where workspace_id = old.workspace_id; end;

-- Finds what a workspace has waiting for too long.
drop index waiting_feedback_by_age;

create index waiting_feedback_by_age on waiting_feedback (workspace_id, given_at);

-- A record takes what waits for it, but not what has waited for more than two days. With the sign, SQLite does not look that up by
-- its time instead of by its key.
drop trigger idempotency_keys_take_feedback;

create trigger idempotency_keys_take_feedback after insert on idempotency_keys begin
  insert into feedback (position, name, author, value, comment, source, given_at, change)
  select d.position, w.name, w.author, w.value, w.comment, w.source, w.given_at, 1
  from waiting_feedback w
  cross join commits m on m.id = substr(new.record_id, 6, 24)
  cross join diagnoses d on d.position = m.position
    + 16 * (instr('0123456789abcdef', substr(new.record_id, 30, 1)) - 1)
    + instr('0123456789abcdef', substr(new.record_id, 31, 1)) - 1
  where w.workspace_id = new.workspace_id and w.key = new.key and +w.given_at >= new.created_at - 172800000
    and (w.deployment_id is null or w.deployment_id = d.deployment_id)
  on conflict do nothing; delete from waiting_feedback where workspace_id = new.workspace_id and key = new.key; end;
`,
  },
  {
    name: "038-price-caches-and-tiers",
    checksum: "db4e98a4887c11cb26f6e035d9529dba95d6910bb2cb2519f66ec799f4e895f2",
    sql: `-- Prices of input that is written to a cache, for some minutes or for an hour. Null if it costs what other input does, or what
-- it costs for some minutes.
alter table prices add column cache_write text;
alter table prices add column cache_write_hour text;
-- Other prices, for requests with more input or at some hours, as a JSON array. The last one that holds counts.
alter table prices add column tiers text not null default '[]';
-- Media besides text whose tokens have other prices than these, as a JSON array. Records with such tokens have no cost.
alter table prices add column unpriced_media text not null default '[]';

-- Whether a record costs what its provider reports, or what the prices say.
alter table workspaces add column cost_source text not null default 'provider' check (cost_source in ('provider', 'prices'));

-- Tokens are counted by another rule, with those that were written to a cache.
update reindexing set position = 0;

select 'Tokens of ' || total || ' records are counted by an older rule. See reindex' as notice
from (select count(*) as total from diagnoses) where total > 0;
`,
  },
  {
    name: "039-delete-webhooks-in-slices",
    checksum: "972d1db1ab1dcd4073e93b32550df8632c419abaae12f210c708a04ab7373226",
    sql: `-- Webhooks that are deleted, and some of whose deliveries are left, which are removed a few at a time.
create table deleted_webhooks (
  id text primary key,
  workspace_id text
) strict;

create index deleted_webhooks_by_workspace on deleted_webhooks (workspace_id);
`,
  },
  {
    name: "040-count-feedback",
    checksum: "068b464d86362b7115d23462134c74c8ef8f731b5b2703bb7da0caa3c2571901",
    sql: `-- What statistics read of feedback: short rows of numbers, however long the names, authors, labels and comments are. Triggers
-- keep them, so that whatever changes feedback changes them in the same transaction.

-- The names of feedback and its labels, by numbers.
create table feedback_words (
  -- No number is used twice, since an answer is made of several queries.
  id integer primary key autoincrement,
  word text not null unique,
  -- How many pieces have the word as their name or as their label. Without any it goes.
  uses integer not null check (uses >= 1)
) strict;

-- How many pieces of feedback on a record have a value under a name.
create table feedback_counts (
  position integer not null,
  -- The number of the name in feedback_words.
  name_id integer not null,
  -- A number, 0 or 1 for a boolean, or the number of a label in feedback_words.
  value any not null,
  pieces integer not null check (pieces >= 1),
  primary key (position, name_id, value)
) strict, without rowid;

-- How many rows of earlier_feedback a record has. There are no rows of 0.
create table feedback_histories (
  position integer primary key,
  changes integer not null check (changes >= 1)
) strict;

-- Row by row, since a group of them would keep all texts in memory.
insert into feedback_words (word, uses)
select name, 1 from feedback where true
on conflict (word) do update set uses = uses + 1;

insert into feedback_words (word, uses)
select value, 1 from feedback where typeof(value) = 'text'
on conflict (word) do update set uses = uses + 1;

insert into feedback_counts (position, name_id, value, pieces)
select f.position, n.id, iif(
  typeof(f.value) = 'text', (select id from feedback_words where word = f.value), f.value
), 1
from feedback f cross join feedback_words n on n.word = f.name where true
on conflict do update set pieces = pieces + 1;

insert into feedback_histories (position, changes) select position, count(*) from earlier_feedback group by position;

create trigger feedback_add_count after insert on feedback begin
  insert into feedback_words (word, uses)
  select new.name, 1 union all select new.value, 1 where typeof(new.value) = 'text'
  on conflict (word) do update set uses = uses + 1; insert into feedback_counts (position, name_id, value, pieces)
  select new.position, id, iif(
    typeof(new.value) = 'text', (select id from feedback_words where word = new.value), new.value
  ), 1 from feedback_words where word = new.name
  on conflict do update set pieces = pieces + 1; end;

create trigger feedback_drop_count after delete on feedback begin
  delete from feedback_counts
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ) and pieces = 1; update feedback_counts set pieces = pieces - 1
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ); delete from feedback_words
  where word = old.name and uses = 1; update feedback_words set uses = uses - 1
  where word = old.name; delete from feedback_words
  where typeof(old.value) = 'text' and word = old.value and uses = 1; update feedback_words set uses = uses - 1
  where typeof(old.value) = 'text' and word = old.value; end;

-- The new one first, so that a word that stays keeps its number.
create trigger feedback_change_count after update of position, name, value on feedback
when (new.position, new.name, new.value) is not (old.position, old.name, old.value) begin
  insert into feedback_words (word, uses)
  select new.name, 1 union all select new.value, 1 where typeof(new.value) = 'text'
  on conflict (word) do update set uses = uses + 1; insert into feedback_counts (position, name_id, value, pieces)
  select new.position, id, iif(
    typeof(new.value) = 'text', (select id from feedback_words where word = new.value), new.value
  ), 1 from feedback_words where word = new.name
  on conflict do update set pieces = pieces + 1; delete from feedback_counts
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ) and pieces = 1; update feedback_counts set pieces = pieces - 1
  where position = old.position and name_id = (select id from feedback_words where word = old.name) and value = iif(
    typeof(old.value) = 'text', (select id from feedback_words where word = old.value), old.value
  ); delete from feedback_words
  where word = old.name and uses = 1; update feedback_words set uses = uses - 1
  where word = old.name; delete from feedback_words
  where typeof(old.value) = 'text' and word = old.value and uses = 1; update feedback_words set uses = uses - 1
  where typeof(old.value) = 'text' and word = old.value; end;

create trigger earlier_feedback_add_change after insert on earlier_feedback begin
  insert into feedback_histories (position, changes) values (new.position, 1)
  on conflict do update set changes = changes + 1; end;

create trigger earlier_feedback_drop_change after delete on earlier_feedback begin
  delete from feedback_histories where position = old.position and changes = 1; update feedback_histories
  set changes = changes - 1 where position = old.position; end;
`,
  },
];
