-- A schema with what people have in one: pg_dump must find all of it.
create schema app;
create type app.mood as enum ('sad', 'ok', 'happy');
create type app.a_pair as (mood app.mood, n int);
create domain app.positive as int default 1 check (value > 0);
create table app.author (
    id serial primary key,
    name text not null unique,
    born date default '2000-01-01',
    mood app.mood,
    tags text[] default '{}',
    meta jsonb,
    constraint born_late check (born > '1500-01-01')
);
comment on table app.author is 'Who writes';
comment on column app.author.name is 'Its name';
create sequence app.zz_counter start 100 increment 5 maxvalue 1000 cycle;
create table app.book (
    id int generated always as identity primary key,
    number int default nextval('app.zz_counter'),
    author int references app.author on delete cascade,
    title text,
    price numeric(10, 2) default 9.99,
    total numeric generated always as (price * 2) stored,
    p app.positive,
    pair app.a_pair
);
create index book_title on app.book (lower(title)) where price > 1;
create unique index book_unique on app.book (author, title desc nulls last);
create view app.a_cheap as select id, title from app.book where price < 10;
create view app.a_checked as select id, name from app.author where id < 100 with local check option;
create materialized view app.counts as select author, count(*) as n from app.book group by author;
create function app.add(a int, b int default 2) returns int language sql immutable as 'select a + b';
create function app.touch() returns trigger language plpgsql as $$ begin new.title := upper(new.title); return new; end $$;
create procedure app.nothing() language plpgsql as $$ begin commit; end $$;
create trigger touches before insert or update on app.book for each row execute function app.touch();
insert into app.author (name, mood, tags, meta) values ('Ann', 'ok', '{a,b}', '{"k": 1}'), ('Bob', null, null, null);
insert into app.book (author, title, p, pair) values (1, 'first', 3, row('sad', 4)), (2, E'tab\there', null, null);
create table plain (a int, b bytea, c timestamptz, d float8, e boolean, f uuid);
insert into plain values (1, '\x00ff', '2020-01-01 00:00Z', 1.5, true, '00000000-0000-0000-0000-000000000001');
refresh materialized view app.counts;
grant select (id, name), update (name) on app.author to public;
grant select (title) on app.a_cheap to public;
-- Row types are there before what is made of them.
create table zz_rows (a int, b text);
create function first_row() returns setof zz_rows language sql as $$ select * from zz_rows $$;
create function taking_row(r zz_rows) returns int language sql as $$ select r.a $$;
create table aa_of_rows (x zz_rows, many zz_rows[]);
insert into aa_of_rows values (row(1, 'x'), array[row(2, 'y')::zz_rows]);
