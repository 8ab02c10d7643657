-- A change may also come through MCP. The rule of a column can only be changed by making the table anew. Its entries stay as
-- they are, and so do their hashes.
create table extended_log (
  -- Numbered from 1 without gaps.
  position integer primary key check (position >= 1),
  created_at integer not null,
  -- The interface the change came through, and the name of the token or the user.
  source text not null check (source in ('api', 'command line', 'console', 'embedded', 'mcp')),
  actor text not null,
  token_id text,
  -- A noun and what happened to it: `deployment.promoted`.
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
