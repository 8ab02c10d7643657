-- Archiving is a change of a deployment too. The rule of a column can only be changed by making the table anew.
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
