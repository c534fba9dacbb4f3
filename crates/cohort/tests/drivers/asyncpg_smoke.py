"""What people use asyncpg for, against the server whose URL is given. Ends with 1 if anything is not as it should be."""

import asyncio
import datetime
import decimal
import io
import ipaddress
import sys
import uuid

import asyncpg

URL = sys.argv[1]
failed = []
TYPED = [
    ("int2", 3), ("int4", 5), ("int8", 2**40), ("float4", 0.5), ("float8", 1.5), ("numeric", decimal.Decimal("1.50")),
    ("text", "x"), ("varchar(5)", "abc"), ("char(3)", "ab "), ("name", "n"), ('"char"', b"c"), ("bytea", b"\x01"),
    ("bool", True), ("date", datetime.date(2024, 1, 1)), ("time", datetime.time(1, 2)),
    ("timestamp", datetime.datetime(2024, 1, 1, 2, 3)),
    ("timestamptz", datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)),
    ("interval", datetime.timedelta(days=2, seconds=3)), ("uuid", uuid.UUID(int=9)), ("int4[]", [1, None, 2]),
    ("text[]", ["a", None]), ("json", '{"a": 1}'), ("jsonb", '{"a": 1}'), ("oid", 7),
    ("inet", ipaddress.ip_address("10.0.0.1")), ("cidr", ipaddress.ip_network("10.0.0.0/8")),
]


def check(found, wanted, what):
    if found != wanted:
        failed.append(what)
        print(f"{what}: {found!r} instead of {wanted!r}")


async def main():
    connection = await asyncpg.connect(URL)
    for name, value in TYPED:
        check(await connection.fetchval(f"select $1::{name}", value), value, f"{name} both ways")

    await connection.execute("create table numbers (id serial primary key, name text, n int)")
    await connection.executemany("insert into numbers (name, n) values ($1, $2)", [("a", 1), ("b", 2)] * 50)
    rows = [(f"r{number}", number) for number in range(100)]
    tag = await connection.copy_records_to_table("numbers", records=rows, columns=["name", "n"])
    check(tag, "COPY 100", "COPY in, in binary")
    out = io.BytesIO()
    await connection.copy_from_query("select id, name from numbers order by id limit 2", output=out, format="csv")
    check(out.getvalue(), b"1,a\n2,b\n", "COPY out")
    async with connection.transaction():
        seen = [row[0] async for row in connection.cursor("select generate_series(1, 200)", prefetch=50)]
    check(seen, list(range(1, 201)), "a cursor")
    async with connection.transaction(isolation="serializable"):
        async with connection.transaction():
            await connection.execute("insert into numbers (name) values ('x')")
    check(await connection.fetchval("select count(*) from numbers"), 201, "transactions")

    await connection.execute("create type mood as enum ('sad', 'ok')")
    await connection.execute("create type pair as (a int, b text)")
    await connection.execute("create domain positive as int check (value > 0)")
    check(await connection.fetchval("select 'ok'::mood"), "ok", "an enum")
    check(await connection.fetchval("select array['ok', 'sad']::mood[]"), ["ok", "sad"], "an array of an enum")
    check(tuple(await connection.fetchval("select row(1, 'x')::pair")), (1, "x"), "a composite value")
    check(await connection.fetchval("select 5::positive"), 5, "a domain")

    told = asyncio.Queue()
    listener = await asyncpg.connect(URL)
    await listener.add_listener("news", lambda *heard: told.put_nowait(heard[3]))
    await connection.execute("notify news, 'hello'")
    check(await asyncio.wait_for(told.get(), 20), "hello", "a notification")
    await listener.close()

    try:
        await connection.fetchval("select pg_sleep(60)", timeout=0.3)
        check("no error", "a timeout", "a timeout")
    except asyncio.TimeoutError:
        pass
    check(await connection.fetchval("select 1"), 1, "the connection after a timeout")
    try:
        await connection.execute("select 1/0")
        check("no error", "22012", "an error's code")
    except asyncpg.PostgresError as error:
        check(error.sqlstate, "22012", "an error's code")

    async with asyncpg.create_pool(URL, min_size=2, max_size=5) as pool:
        sums = await asyncio.gather(*[pool.fetchval("select $1::int", number) for number in range(50)])
    check(sum(sums), 1225, "a pool")
    statement = await connection.prepare("select id, name from numbers where n > $1")
    check([column.name for column in statement.get_attributes()], ["id", "name"], "a prepared statement's columns")
    check([parameter.name for parameter in statement.get_parameters()], ["int4"], "its parameters")


asyncio.run(main())
sys.exit(1 if failed else 0)
