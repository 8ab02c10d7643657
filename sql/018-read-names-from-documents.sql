-- What statistics read of a record, as the inside of a JSON array. A tab in measures stands for the model that the document
-- names, a newline for its provider, so that a record has these names in its document and in the index alone. Rows from
-- before have them in measures too.
alter table diagnoses add column statistics text generated always as (
  prompt_version || ',' || status || ',' || iif(
    instr(measures, char(9)) or instr(measures, char(10)),
    replace(
      replace(measures, char(9), '"' || ifnull(document ->> 'model', '') || '"'),
      char(10), '"' || ifnull(document ->> 'provider', '') || '"'
    ),
    measures
  )
) virtual;

drop index diagnoses_by_deployment;

create index diagnoses_by_deployment on diagnoses
  (position >> 8, deployment_id, session_id, prompt_version, status, statistics);
