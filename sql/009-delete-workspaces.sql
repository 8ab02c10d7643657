-- Deleted workspaces, with what they had used in all. While finished_at is null, the rest of the workspace is being removed.
create table deleted_workspaces (
  id text primary key,
  reads integer not null check (reads >= 0),
  submits integer not null check (submits >= 0),
  -- In how many months.
  months integer not null check (months >= 0),
  deleted_at integer not null,
  finished_at integer
) strict;
