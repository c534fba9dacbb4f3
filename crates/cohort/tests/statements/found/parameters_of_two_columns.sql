-- A parameter that is assigned to columns of two types has no type: it would be cast for one of them.
create table pt(i int primary key, t text, d date, ts timestamp, tz timestamptz, n numeric(6,2), f float8, v varchar(5));
insert into pt values (1);
prepare p1 as update pt set d = $1, ts = $1 returning d, ts;
prepare p2 as insert into pt(i, t) values ($1, $1);
prepare p3 as update pt set d = $1, ts = $2 returning d, ts;
execute p3('2024-05-05', '2024-05-05 13:00');
prepare p4 as insert into pt(i, t) values ($1, $2), ($2, $1);
prepare p5 as insert into pt(i, t) select $1, $1;
prepare p6 as update pt set (d, ts) = ($1, $1);
prepare p7 as update pt set i = $1, n = $1 + 1;
prepare p8 as insert into pt(i) values ($1) on conflict (i) do update set i = $1, t = $1;
prepare p9 as update pt set t = $1, v = $1;
prepare p10 as update pt set t = $1 where t = $1;
prepare p11 as update pt set i = $1 where t = $1;
prepare p12 as insert into pt(i, f) values ($1, $1::int);
prepare p13 as insert into pt(i, f) values ($1::int, $1);
create table arr(a int[], p numeric[]);
prepare p14 as update arr set a[1] = $1, p[1] = $1;
prepare p15 as update arr set a[1] = $1, p[1] = $2;
-- A column that cannot be assigned is told of after the values.
update pt set nope = missing;
update pt set nope = 1, d = 'x';
insert into pt (i, d) values (2, default), (3, 'nonsense');
