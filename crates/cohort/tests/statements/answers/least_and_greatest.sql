-- min and max that are read from an index, in queries that say more.
create table u (k int primary key, v int);
insert into u values (1, 1), (2, 1), (3, 2);
create table w (k int);

select max(k) from u limit 0;
select max(k) from u offset 1;
select min(k), max(k) from u limit 1 offset 0;
select exists (select max(k) from u limit 0), 3 in (select max(k) from u offset 1);
insert into w select max(k) + 1 from u limit 0;
select * from w;
select s.k, m.max from u s left join lateral (select max(k) from u where k < s.k limit 0) m on true order by 1;
prepare some as select max(k) from u limit $1;
execute some(0);
execute some(1);
deallocate some;

-- An aggregate of the query around, below the index.
select (select max(x.k) from u x where x.k < sum(u.k)) from u;
select (select min(x.k) from u x where x.k > min(u.k)) from u group by v order by 1;
select (select (select max(z.k) from u z where z.k < sum(y.k)) from u y) from u limit 1;
select v from u group by v having (select max(x.k) from u x where x.k <= count(u.k)) = 2;
select v from u group by v order by (select max(x.k) from u x where x.k <= min(u.k)) desc;
select v, 3 in (select max(x.k) from u x where x.k <= max(u.k)) from u group by v order by 1;
create view greatest_below as select v, (select max(x.k) from u x where x.k < max(u.k)) as below from u group by v;
select * from greatest_below order by 1;
drop view greatest_below;
drop table u, w;
