-- Tells a version from another of the same number, which a database that was set back may have, without reading its texts.
create index prompt_versions_by_time on prompt_versions (prompt_id, version, created_at);
