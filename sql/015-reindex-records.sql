-- The column measures of diagnoses may have an array behind its three numbers: cached input tokens, model, provider and
-- cost, as far as a record has them. Records that were stored before get it by `reindex`.

-- The one row is how far `reindex` has come.
create table reindexing (
  id integer primary key check (id = 1),
  -- All records before this position have been read again.
  position integer not null
) strict;

insert into reindexing (id, position) values (1, 0);

select 'Tokens of ' || total || ' records are counted by an older rule. See reindex' as notice
from (select count(*) as total from diagnoses) where total > 0;
