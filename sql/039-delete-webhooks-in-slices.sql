-- Webhooks that are deleted, and some of whose deliveries are left, which are removed a few at a time.
create table deleted_webhooks (
  id text primary key,
  workspace_id text
) strict;

create index deleted_webhooks_by_workspace on deleted_webhooks (workspace_id);
