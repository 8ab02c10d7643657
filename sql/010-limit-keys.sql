-- Keys with less power: a key may be for reads or for submits alone, and for one deployment of its workspace.

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
