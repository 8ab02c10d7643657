-- The person that a token belongs to. All tokens of a person are one person where two have to agree.
alter table management_tokens add column owner text;
