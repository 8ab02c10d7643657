-- How many entries are from before the audit log, which alone have no hash of their own. They are the first ones.
alter table audit_head add column older integer not null default 0 check (older >= 0);

update audit_head set older = (select count(*) from audit_log where hash = '');
