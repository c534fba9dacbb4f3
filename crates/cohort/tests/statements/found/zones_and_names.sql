-- The ends of time are in every zone, and a text is a relation's name even if it is a number.
select timezone('nonsense', 'infinity'::timestamptz), timezone('nonsense', '-infinity'::timestamp), 'infinity'::timestamptz at time zone 'nonsense';
select timezone('nonsense', '2024-01-01'::timestamptz);
select '123'::text::regclass;
select regclass('1259'::text);
select '1259'::regclass, 'pg_class'::text::regclass, '-'::regclass;
select '-'::text::regclass;
select '1259'::varchar::regclass;
select ' pg_class '::text::regclass;
select ''::text::regclass;
select 'a.b.c.d'::text::regclass;
select nextval('1'::text);
