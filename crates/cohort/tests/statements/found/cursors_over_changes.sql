-- A cursor over a change that reads tables.
create table rc (a int, b int);
insert into rc values (1, 10), (2, 20), (3, 30);
do $$ declare c refcursor; q record;
begin
  open c for insert into rc select a + 10, b from rc where a < 3 returning a, b;
  loop fetch c into q; exit when not found; raise notice '%', q; end loop;
  close c;
  open c for execute 'with d as (delete from rc where a = 3 returning a, b) insert into rc select a + 100, b from d returning a, b';
  fetch c into q; raise notice '%', q;
  close c;
  open c for update rc set b = x.b + 1 from rc x where x.a = rc.a returning rc.a, rc.b;
  fetch c into q; close c;
end $$;
select * from rc order by a;
