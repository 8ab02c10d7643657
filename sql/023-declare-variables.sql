-- What a version declares of its variables: a JSON object by name, as written but for the white space between tokens. Null
-- if it declares none.
alter table prompt_versions add column declarations text;
