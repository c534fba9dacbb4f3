-- A function with the rights of its owner goes by session_replication_role as it is now.
create role lender superuser;
create table lent(i int);
grant all on lent to lender;
create function says() returns trigger language plpgsql as $$ begin new.i := new.i + 100; return new; end $$;
create trigger t before insert on lent for each row execute function says();
create function lends(n int) returns void language plpgsql security definer as $$ begin insert into lent values (n); end $$;
alter function lends(int) owner to lender;
select lends(1);
select lends(2);
set session_replication_role to replica;
select lends(3);
set session_replication_role to origin;
select lends(4);
select * from lent;
drop table lent;
drop function lends(int);
drop role lender;
