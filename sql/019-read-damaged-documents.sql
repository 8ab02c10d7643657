-- A document that is damaged, as by a bad sector, has no model and no provider. Without the test SQLite could neither check such
-- a record nor remove it.
drop index diagnoses_by_deployment;

alter table diagnoses drop column statistics;

alter table diagnoses add column statistics text generated always as (
  prompt_version || ',' || status || ',' || iif(
    instr(measures, char(9)) or instr(measures, char(10)),
    replace(
      replace(measures, char(9), '"' || iif(json_valid(document), ifnull(document ->> 'model', ''), '') || '"'),
      char(10), '"' || iif(json_valid(document), ifnull(document ->> 'provider', ''), '') || '"'
    ),
    measures
  )
) virtual;

create index diagnoses_by_deployment on diagnoses
  (position >> 8, deployment_id, session_id, prompt_version, status, statistics);
