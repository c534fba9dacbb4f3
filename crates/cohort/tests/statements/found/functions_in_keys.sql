-- An index's key may be computed by a function that runs statements.
create table fi (a int);
insert into fi select generate_series(1, 5);
create table fl (a int);
create function fi_reads(a int) returns int language plpgsql as $$ begin perform count(*) from fl; return a; end $$;
create function fi_key(a int) returns int language plpgsql immutable as $$ begin return fi_reads(a) % 3; end $$;
create index fi_index on fi (fi_key(a));
create index on fi (a) where fi_key(a) = 1;
reindex table fi;
set enable_seqscan = off;
select a from fi where fi_key(a) = 1 order by a;
reset enable_seqscan;
