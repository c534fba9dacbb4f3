-- A new version of a row enters all keys again, those that stay the same as well: a duplicate is seen at the end of that statement.
create table d (id int, a int, b int not null);
alter table d add constraint d_ab unique (a, b) deferrable initially deferred;
alter table d add constraint d_a unique (a) deferrable;
create function touch() returns trigger language plpgsql as $$
begin
    if pg_trigger_depth() < 3 then update d set b = coalesce(b, 0) + 1 where id = coalesce(new.a, old.a); end if;
    return coalesce(new, old);
end $$;
create trigger touches before insert or update on d for each row execute function touch();
insert into d values (3, 2, 4), (4, 1, 0);
insert into d values (5, 2, 1), (5, 5, null);
insert into d values (5, 2, 1), (6, 5, null);
select * from d order by id, a, b;
create table e (k int unique deferrable, v int);
create index on e (v);
insert into e values (1, 1);
begin;
set constraints all deferred;
insert into e values (1, 2);
update e set v = 3 where v = 2;
set constraints all immediate;
rollback;
begin;
set constraints all deferred;
insert into e values (1, 2);
update e set v = 3 where v = 1;
delete from e where v = 2;
commit;
select * from e;
