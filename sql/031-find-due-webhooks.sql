-- Finds the webhooks with due deliveries by one search for each, however many are due. The index before led through all of them.
drop index due_deliveries;

create index due_deliveries on webhook_deliveries (webhook_id, due_at) where due_at is not null;
