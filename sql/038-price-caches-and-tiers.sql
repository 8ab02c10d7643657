-- Prices of input that is written to a cache, for some minutes or for an hour. Null if it costs what other input does, or what
-- it costs for some minutes.
alter table prices add column cache_write text;
alter table prices add column cache_write_hour text;
-- Other prices, for requests with more input or at some hours, as a JSON array. The last one that holds counts.
alter table prices add column tiers text not null default '[]';
-- Media besides text whose tokens have other prices than these, as a JSON array. Records with such tokens have no cost.
alter table prices add column unpriced_media text not null default '[]';

-- Whether a record costs what its provider reports, or what the prices say.
alter table workspaces add column cost_source text not null default 'provider' check (cost_source in ('provider', 'prices'));

-- Tokens are counted by another rule, with those that were written to a cache.
update reindexing set position = 0;

select 'Tokens of ' || total || ' records are counted by an older rule. See reindex' as notice
from (select count(*) as total from diagnoses) where total > 0;
