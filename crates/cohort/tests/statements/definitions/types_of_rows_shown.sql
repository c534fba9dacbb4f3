-- Rows of composite types in definitions are shown with their types.
create type trs_p as (a int, b text);
create function trs_f(trs_p) returns text language sql immutable as 'select $1::text';
create table trs_t (id int, k text, j jsonb default to_jsonb(row(1, 'x')::trs_p), l trs_p[] default array[row(1, 'x')::trs_p, '(2,y)'], p trs_p default row(3, 'z'), check (to_jsonb(row(id, k)::trs_p) ? 'a'), check ((row(id, k)::trs_p) is not null), check (trs_f(row(id, k)::trs_p) <> ''));
create index trs_i on trs_t ((row(id, k)::trs_p)) where row(id, k)::trs_p <> row(1, 'q')::trs_p;
create view trs_v as select row(id, k)::trs_p as r, trs_t as whole from trs_t;
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'trs_t'::regclass order by adnum;
select pg_get_indexdef('trs_i'::regclass);
select pg_get_viewdef('trs_v'::regclass);
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'trs_t'::regclass order by 1;
insert into trs_t (id, k) values (1, 'k');
select * from trs_t;
