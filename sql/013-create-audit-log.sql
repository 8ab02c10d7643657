-- The audit log: an entry for each change that management made. It replaces the histories of deployments.

create table audit_log (
  -- Numbered from 1 without gaps.
  position integer primary key check (position >= 1),
  created_at integer not null,
  -- The interface the change came through, and the name of the token or the user.
  source text not null check (source in ('api', 'command line')),
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
