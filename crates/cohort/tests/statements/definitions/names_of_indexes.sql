-- Indexes of casts are called by the outermost one.
create domain whole as int;
create table named_by_casts (b bigint, d text);
create index on named_by_casts (((1::int)::whole));
create index on named_by_casts ((('1'::text)::varchar(3)));
create index on named_by_casts ((b::int::whole));
create index on named_by_casts ((case when b = 1 then 2 else 1::smallint end));
create index on named_by_casts ((case when b = 1 then '' else d end));
create index on named_by_casts ((('{1}'::int[])[1]));
select indexrelid::regclass from pg_index where indrelid = 'named_by_casts'::regclass order by indexrelid;
