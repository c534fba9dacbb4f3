-- Rows that a trigger or a function changes while the statement that called it is about to change them.
create table account (id int primary key, owner text, balance int, touched int default 0);
insert into account values (1, 'ada', 10), (2, 'bob', 20), (3, 'cyd', 30);

-- A trigger before each row that changes the very row.
create function touch_self() returns trigger language plpgsql as $$
begin
    update account set touched = touched + 1 where id = old.id;
    return case when tg_op = 'DELETE' then old else new end;
end $$;
create trigger touching before update of balance or delete on account for each row execute function touch_self();
update account set balance = balance + 1 where id = 1;
update account set balance = balance + 1;
delete from account where id = 2;
delete from account;
select * from account order by id;
-- Other columns don't call it.
update account set owner = upper(owner) where id = 3 returning *;
insert into account values (1, 'eve', 99) on conflict (id) do update set balance = excluded.balance;
insert into account values (1, 'eve', 99) on conflict (id) do update set owner = excluded.owner returning *;
do $$
begin
    update account set balance = 0;
exception when triggered_data_change_violation then
    raise notice 'caught % %', sqlstate, sqlerrm;
end $$;
drop trigger touching on account;

-- One that deletes the very row.
create function remove_self() returns trigger language plpgsql as $$
begin
    if pg_trigger_depth() = 1 then
        delete from account where id = old.id;
    end if;
    return case when tg_op = 'DELETE' then old else new end;
end $$;
create trigger removing before update or delete on account for each row execute function remove_self();
update account set balance = 5 where id = 3;
delete from account where id = 3;
select * from account order by id;
drop trigger removing on account;

-- One that changes the rows still to come: those are met as they are locked.
create function touch_others() returns trigger language plpgsql as $$
begin
    update account set touched = touched + 1 where id > old.id;
    return case when tg_op = 'DELETE' then old else new end;
end $$;
create trigger touching before update of balance or delete on account for each row execute function touch_others();
update account set balance = balance + 1 where id = 3;
update account set balance = balance + 1;
delete from account;
select * from account order by id;
drop trigger touching on account;
-- After each row there is nothing left to disturb.
create trigger touching after update of balance or delete on account for each row execute function touch_others();
update account set balance = balance + 1;
select * from account order by id;
delete from account where id < 3;
select * from account order by id;
drop trigger touching on account;

-- Functions in the statement itself.
truncate account;
insert into account values (1, 'ada', 10), (2, 'bob', 20), (3, 'cyd', 30);
create function change(which int, how int) returns int language plpgsql as $$
begin
    update account set balance = how where id = which;
    return how;
end $$;
create function remove(which int) returns bool language plpgsql as $$
begin
    delete from account where id = which;
    return found;
end $$;
update account set touched = change(id, 100);
update account set touched = change(1, 100) where id = 2;
select * from account order by id;
update account set touched = 1 where change(id, 7) = 7;
update account set touched = 1 where remove(id);
delete from account where change(id, 7) = 7;
delete from account where remove(id);
delete from account where id = 3 and remove(3);
select * from account order by id;
insert into account values (1, 'ada', 1) on conflict (id) do update set touched = change(1, 3);
insert into account values (1, 'ada', 1) on conflict (id) do update set touched = 9 where change(1, 3) = 3;
insert into account values (change(1, 5) - 4, 'ada', 1) on conflict (id) do update set touched = 9 returning *;
insert into account values (change(1, 5) - 4, 'ada', 1) on conflict do nothing;
select * from account order by id;

-- A row is changed once by a statement itself; that is no error.
create table factor (id int, by int);
insert into factor values (1, 2), (1, 3), (2, 5);
update account set balance = by from factor where account.id = factor.id and account.id = 2 returning *;
update account set touched = 0 from factor where account.id = factor.id;
delete from account using factor where account.id = factor.id and account.id = 1;
insert into account values (1, 'ada', 10);
with a as (update account set balance = 1 where id = 1 returning id),
     b as (delete from account where id = 1 returning id)
select (select count(*) from a) + (select count(*) from b);
select count(*) from account;
-- What the statement wrote after a function of it has written is not seen by the statement.
create function note(what int) returns int language plpgsql as $$
begin
    insert into factor values (what, what);
    return what;
end $$;
insert into factor select note(id + 100), by from factor;
select id, by from factor order by id, by;
update factor set by = note(id) where id < 100;
select id, by from factor order by id, by;
insert into factor select f.id, note(f.by) from factor f, factor g where f.id = 2 and g.id = 2;
select id, by from factor order by id, by;
-- But by the functions it calls afterwards.
create function how_many() returns bigint language plpgsql as $$ begin return (select count(*) from factor); end $$;
create table counted (n bigint, at int);
insert into factor select how_many(), 0 from generate_series(1, 3);
select count(*), count(distinct id) from factor where by = 0;
insert into factor select how_many() * note(1), 2 from generate_series(1, 3);
select id, by from factor where by = 2 order by id;

-- FOR UPDATE passes over rows that the statement's own functions have changed.
select id, balance from account where change(id, 50) = 50 order by id for update;
select id, balance from account where id = 1 and change(id, 51) = 51 for share;
select id, balance from account where id = 1 and change(2, 52) = 52 for update;
select id, balance from account where id = 3 and remove(3) for update;
select * from account order by id;
begin;
declare c cursor for select id, balance from account order by id for update;
fetch 1 from c;
update account set balance = balance + 1;
fetch all from c;
commit;
begin;
declare c cursor for select id, balance from account for update;
update account set balance = balance + 1 where id = 1;
fetch all from c;
select * from account order by id;
rollback;
