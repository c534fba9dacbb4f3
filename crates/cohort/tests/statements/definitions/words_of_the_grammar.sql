-- Calls that are written in words of the grammar are shown in them: in views, checks, defaults, indexes and triggers.
create table ck (t timestamptz, b text, v varchar, d date, y bytea, z timestamp);
create view vk as select substring(b from 'a') a1, substring(b for 2) a2, substring(y from 1) a3, position(y in y) a4,
  overlay(y placing y from 1 for 2) a5, trim(y from y) a6, trim(v) a7, substring(v from 2) a8, v is normalized a9,
  (t + '1 day') at time zone 'UTC' b1, t at time zone interval '1 day' b2, (t, t) overlaps (t, t) b3, d at time zone 'UTC' b4,
  trim(trailing from b) b5, trim(leading 'a' from v) b6, trim('a' from b) b7, position(v in v) b8, not (b is normalized) b9,
  substring(b from 1) is normalized c1, (b || 'x') is normalized c2, collation for (b || 'a') c3, collation for (b) c4,
  (t at time zone 'UTC') at time zone 'x' c5, extract(year from t at time zone 'UTC') c6, normalize(b, nfd) c7, normalize(v) c8,
  (d, d) overlaps (d, '1 day'::interval) c9, (d, '2020-01-01') overlaps (d, d) d1, b is not nfkd normalized d2, overlay(b placing 'x' from 1) d3,
  btrim(b) d4, "overlaps"(t, t, t, t) d5, is_normalized(b) d6, pg_collation_for(b) d7, timezone('UTC', t) d8, "position"(b, 'a') d9,
  "normalize"(b, 'NFC') e1, "substring"(b, 1) e2
  from ck;
select pg_get_viewdef('vk');
select pg_get_viewdef('vk', true);
create view within as select 1 as one from ck where exists (select from ck k where (k.t, ck.t) overlaps (ck.t, k.t) and trim(k.b) = trim(ck.b)) and b is normalized;
select pg_get_viewdef('within');
create table dk (a timestamp default (now() at time zone 'utc'), b text default trim(' x '), c text default substring('abc' from 2),
  check (a at time zone 'UTC' is not null), check (trim(b) <> ''), check (substring(b from 1 for 2) <> ''), check (position('x' in b) > 0),
  check (overlay(b placing 'x' from 1) <> ''), check (collation for (b) is not null), check (extract(year from a) > 0), check (normalize(b) <> ''),
  check (is_normalized(b)), check (btrim(b) <> 'a'), check ((a, a) overlaps (a, a) is not null), check (trim(leading 'y' from b) <> ''), check (b is nfc normalized));
select conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) from pg_constraint where conrelid = 'dk'::regclass order by 1;
select adnum, pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'dk'::regclass order by 1;
insert into dk default values;
insert into dk (a, b) values ('2020-01-01', '   ');
insert into dk (a, b) values ('2020-01-01', E'xA\u030A');
select b, c from dk;
create index on ck ((t at time zone 'UTC'));
create index on ck (trim(b));
create index on ck ((b is normalized));
create index on ck (((t, t) overlaps (t, t)));
create index on ck (substring(b from 1 for 2)) where position('a' in b) > 0;
create index on ck (normalize(b));
create index on ck (is_normalized(v));
select indexdef from pg_indexes where tablename = 'ck' order by 1;
create domain dm as text check (trim(value) <> '') check (value is normalized) default trim(both 'x' from 'xxa');
select pg_get_constraintdef(oid) from pg_constraint where contypid = 'dm'::regtype order by 1;
select typdefault from pg_type where typname = 'dm';
create function tell() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger tr before insert on ck for each row when (new.b is normalized and (new.t, new.t) overlaps (new.t, new.t)) execute function tell('a\b', 'it''s');
select pg_get_triggerdef(oid) from pg_trigger where tgrelid = 'ck'::regclass;
create function defaults(a text default trim(' y '), b timestamp default '2020-01-01' at time zone 'UTC') returns text language sql as 'select a';
select pg_get_function_arguments('defaults'::regproc);
alter table ck rename b to bb;
select pg_get_viewdef('vk');
select pg_get_viewdef('within');
select indexdef from pg_indexes where tablename = 'ck' order by 1;
explain (costs off, timing off) select * from dk where b is normalized and (a, a) overlaps (a, a);
explain (costs off, timing off) select * from dk where trim(b) = 'x' and substring(c from 2) = 'a';
