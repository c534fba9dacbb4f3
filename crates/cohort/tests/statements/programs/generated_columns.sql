-- Triggers and generated columns: computed between BEFORE and AFTER triggers, and named by UPDATE OF.
create table doubled (a int, b int generated always as (a * 2) stored, c int generated always as (a + 1) stored);
create function tell() returns trigger language plpgsql as $$
begin
  raise notice '% % new % old %', tg_op, tg_when, new, old;
  return new;
end $$;
create trigger before_any before insert or update on doubled for each row execute function tell();
create trigger after_any after insert or update on doubled for each row execute function tell();
insert into doubled values (1);
update doubled set a = 2;
drop trigger before_any on doubled;
create trigger wrong before insert or update on doubled for each row when (new.b > 0) execute function tell();
create trigger wrong before insert or update on doubled for each row when (new is not null) execute function tell();
create trigger wrong before insert or update on doubled for each row when (new.* is not null) execute function tell();
create trigger wrong before insert or update on doubled for each row when (row(new.*) is not null) execute function tell();
create trigger by_old before update on doubled for each row when (old.b > 0) execute function tell();
update doubled set a = 3;
drop trigger by_old on doubled;
create trigger of_b before update of b on doubled for each row execute function tell();
drop trigger after_any on doubled;
update doubled set a = 4;
update doubled set a = 4 where false;
drop trigger of_b on doubled;
create trigger of_c after update of c on doubled for each row when (new.c > 5) execute function tell();
update doubled set a = 4;
update doubled set a = 5;
create trigger of_b_once after update of b on doubled for each statement execute function tell();
update doubled set a = 6;
create function change() returns trigger language plpgsql as $$
begin
  new.b := 77;
  new.a := new.a + 100;
  return new;
end $$;
create trigger change before insert or update on doubled for each row execute function change();
insert into doubled values (1) returning *;
update doubled set a = 7;
table doubled;
insert into doubled (a, b) values (1, 5);
insert into doubled (a, b) values (1, default);
update doubled set b = 5;
update doubled set b = default where a < 110;
table doubled;
create table keyed (id int primary key, a int, b int generated always as (a * 2) stored, n int);
create trigger before_any before insert or update on keyed for each row execute function tell();
create trigger of_b before update of b on keyed for each row execute function tell();
insert into keyed values (1, 1) on conflict (id) do update set a = excluded.a + keyed.b + 1;
insert into keyed values (1, 1) on conflict (id) do update set a = excluded.a + keyed.b + coalesce(excluded.b, 1000);
insert into keyed values (1, 1) on conflict (id) do update set n = 4;
update keyed set n = 5;
table keyed;
drop trigger before_any on keyed;
create function note_b() returns trigger language plpgsql as $$
begin
  new.n := coalesce(new.b, -1);
  return new;
end $$;
create trigger note_b before insert on keyed for each row execute function note_b();
copy keyed (id, a) from stdin;
5	9
\.
table keyed;
create table strict (a int, b int not null generated always as (a * 2) stored check (b < 100));
create trigger before_any before insert or update on strict for each row execute function tell();
insert into strict values (1);
insert into strict values (null);
insert into strict values (100);
