-- What the codes that applications send as statuses mean in a workspace: a JSON array of {"status", "name", "isFailure"},
-- ordered by status.
alter table workspaces add column statuses text not null default '[]';
