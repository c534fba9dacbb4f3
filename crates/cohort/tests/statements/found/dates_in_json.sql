-- Dates before Christ, and offsets in JSON.
select to_json('0044-03-15 BC'::date), to_json('infinity'::date), to_json('2024-01-01'::date);
select to_json('0044-03-15 10:00 BC'::timestamp), to_json('-infinity'::timestamp), to_json('2024-01-01 1:2:3.4'::timestamp);
select to_json('0044-03-15 10:00 BC'::timestamptz), to_json('2044-03-15 10:00'::timestamptz), to_json('infinity'::timestamptz);
select jsonb_build_object('0044-03-15 BC'::date, '0044-03-15 BC'::date, '0044-03-15 10:00 BC'::timestamptz, 1);
select row_to_json(row('0044-03-15 BC'::date)), json_agg('0044-03-15 BC'::date), to_jsonb(array['0044-03-15 BC'::date, null]);
select json_object_agg('0044-03-15 BC'::date, '0044-03-15 10:00 BC'::timestamptz);
set timezone = 'Asia/Kolkata';
select to_json('0044-03-15 10:00 BC'::timestamptz), to_json('2044-03-15 10:00'::timestamptz);
set timezone = 'America/New_York';
select to_json('0044-03-15 10:00 BC'::timestamptz), to_json('2044-03-15 10:00'::timestamptz), to_jsonb('0044-03-15 10:00 BC'::timestamptz);
set datestyle = 'German';
select to_json('0044-03-15 BC'::date), to_json('0044-03-15 10:00 BC'::timestamptz), to_json('2044-03-15 10:00'::timestamptz);
