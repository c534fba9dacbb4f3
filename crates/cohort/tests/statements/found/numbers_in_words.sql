-- Roman numbers of what lies between two of them or has none, and scales beyond 2000 digits.
select to_char(2.5::float8, 'RN'), to_char(0.5::float8, 'RN'), to_char(3.5::float4, 'RN'), to_char(2.5::numeric, 'RN');
select to_char(1e300::float8, 'RN'), to_char('NaN'::float8, 'RN'), to_char('-infinity'::float4, 'rn'), to_char(-1.2::float8, 'RN');
select to_char(4000.2::float8, 'RN'), to_char(3999.4::float8, 'RN'), to_char(2147483647, 'RN'), to_char(12::bigint, 'rn');
select to_char(9223372036854775807, 'RN');
select to_char(2147483648, 'RN');
select to_char(2147483648::numeric, 'RN');
select length(round(1::numeric, 16383)::text), length(round(1::numeric, 20000)::text), length(trunc(1::numeric, 3000)::text);
select round(12345::numeric, -3000), trunc(12345::numeric, -3), round(1e2500::numeric, -2400) = 1e2500::numeric;
select round(5e2500::numeric, -2501) = 1e2501::numeric, length(round(1.5::numeric, 2147483647)::text), round(1.5::numeric, -2147483648);
