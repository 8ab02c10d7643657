-- A protected deployment takes a higher role to change.
alter table deployments add column is_protected integer not null default 0 check (is_protected in (0, 1));
