-- Defaults that are NULL.
create table null_defaults (a numeric(6,2) default null::numeric(6,2), b int default null::int, c char(3) default null::char(3), d text default null::varchar(3), e interval day default null::interval day, f timestamp(3) default null::timestamp(3), g numeric default null::numeric(6,2));
select attname, atthasdef, pg_get_expr(adbin, adrelid) from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum where attrelid = 'null_defaults'::regclass and attnum > 0 order by attnum;
