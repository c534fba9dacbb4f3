-- Where an address becomes a text by its cast, it tells its mask.
select 'q' || '192.168.1.1'::inet, '192.168.1.1'::inet || 'q', '10.0.0.0/8'::cidr || 'q', '::1'::inet || 'x';
select quote_literal('192.168.1.1'::inet), quote_nullable('192.168.1.1'::inet), quote_nullable(null::inet);
select quote_literal('10.0.0.0/8'::cidr), quote_literal('::1'::inet), quote_literal('10.1.2.3/8'::inet);
select format('%s %L', '192.168.1.1'::inet, '192.168.1.1'::inet), concat('192.168.1.1'::inet, '1'), '192.168.1.1'::inet::text;
create domain address as inet;
select 'q' || '192.168.1.1'::address, quote_literal('192.168.1.1'::address), '1.2.3.4'::address::text;
create table t (a inet, b cidr); insert into t values ('1.2.3.4', '1.2.3.4'), (null, null);
select 'a' || a, b || 'b', quote_literal(a), quote_nullable(b) from t;
