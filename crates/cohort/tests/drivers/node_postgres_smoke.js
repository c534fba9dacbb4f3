// What people use node-postgres for, against the server whose URL is given. Ends with 1 if anything is not as it should be.
const assert = require('assert');
const { Client, Pool } = require('pg');

const connectionString = process.argv[2];

async function main() {
  const client = new Client({ connectionString });
  await client.connect();
  const typed = await client.query(
    "select 1::int4 a, 2::int8 b, 1.5::float8 c, '1.50'::numeric d, true e, 'x'::text f, array[1,2] g, '{\"a\":1}'::jsonb h, '\\x01'::bytea i");
  assert.deepStrictEqual(typed.rows[0],
    { a: 1, b: '2', c: 1.5, d: '1.50', e: true, f: 'x', g: [1, 2], h: { a: 1 }, i: Buffer.from([1]) });
  const given = await client.query('select $1::int + $2::int as s, $3::text as t, $4::timestamptz as z, $5::jsonb as j, $6::int[] as a',
    [1, 2, 'x', new Date(0), { a: 1 }, [1, 2, 3]]);
  assert.deepStrictEqual(given.rows[0], { s: 3, t: 'x', z: new Date(0), j: { a: 1 }, a: [1, 2, 3] });
  for (let number = 0; number < 3; number++) {
    const { rows } = await client.query({ name: 'prepared', text: 'select $1::int as v', values: [number] });
    assert.strictEqual(rows[0].v, number);
  }
  const both = await client.query('select 1 as a; select 2 as b');
  assert.deepStrictEqual(both.map((result) => result.rows[0]), [{ a: 1 }, { b: 2 }]);
  await assert.rejects(client.query('select * from nowhere'), { code: '42P01', position: '15' });

  const listener = new Client({ connectionString });
  await listener.connect();
  await listener.query('listen news');
  const told = new Promise((resolve) => listener.on('notification', (message) => resolve(message.payload)));
  await client.query("notify news, 'hello'");
  assert.strictEqual(await told, 'hello');
  await listener.end();

  const pool = new Pool({ connectionString, max: 4 });
  const results = await Promise.all([...Array(20).keys()].map((number) => pool.query('select $1::int as v', [number])));
  assert.deepStrictEqual(results.map(({ rows }) => rows[0].v), [...Array(20).keys()]);
  await pool.end();

  await client.query('create table items (a int, b text)');
  await client.query('begin');
  await client.query("insert into items values (1, 'x')");
  await client.query('rollback');
  assert.deepStrictEqual((await client.query('select count(*) from items')).rows, [{ count: '0' }]);
  await client.end();
}

const tooLong = setTimeout(() => { console.error('it took too long'); process.exit(1); }, 60000);
main().then(() => clearTimeout(tooLong), (error) => { console.error(error); process.exit(1); });
