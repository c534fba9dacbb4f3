"""What people use psycopg for, against the server whose URL is given. Ends with 1 if anything is not as it should be."""

import datetime
import decimal
import sys
import threading
import uuid

import psycopg
from psycopg.types.composite import CompositeInfo, register_composite
from psycopg.types.enum import EnumInfo
from psycopg.types.json import Json, Jsonb

URL = sys.argv[1]
failed = []


def check(found, wanted, what):
    if found != wanted:
        failed.append(what)
        print(f"{what}: {found!r} instead of {wanted!r}")


def error_of(work):
    try:
        work()
    except psycopg.Error as error:
        return error
    return None


connection = psycopg.connect(URL, autocommit=True)
execute = connection.execute

VALUES = [
    1, 2**40, 1.5, decimal.Decimal("12.50"), "text", b"\x00\xff", True, datetime.date(2024, 1, 2),
    datetime.datetime(2024, 1, 2, 3, 4, 5, 678), datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
    datetime.time(1, 2, 3), datetime.timedelta(days=1, seconds=5), uuid.UUID(int=5), [1, 2, 3], None,
]
for is_binary in (False, True):
    for value in VALUES:
        cursor = connection.cursor(binary=is_binary)
        found = cursor.execute("select %s", (value,)).fetchone()[0]
        check(found, value, f"{type(value).__name__} both ways, binary={is_binary}")
    found = connection.cursor(binary=is_binary).execute("select %s::text[]", (["a", None, 'b"c'],)).fetchone()[0]
    check(found, ["a", None, 'b"c'], "an array of texts")
check(execute("select %s::jsonb, %s::json", (Jsonb({"a": [1, 2]}), Json([None]))).fetchone(), ({"a": [1, 2]}, [None]), "json")

execute("create table things (id serial primary key, name text unique, n numeric, at timestamptz default now())")
connection.cursor().executemany("insert into things (name, n) values (%s, %s)", [(f"t{n}", n) for n in range(20)])
check(execute("update things set n = n + 1").rowcount, 20, "the count of changed rows")
with connection.pipeline():
    cursors = [execute("select %s::int", (number,)) for number in range(50)]
check([cursor.fetchone()[0] for cursor in cursors], list(range(50)), "a pipeline")


def failing_pipeline():
    with connection.pipeline():
        execute("select 1")
        execute("select 1/0")
        execute("select 2")


check(getattr(error_of(failing_pipeline), "sqlstate", None), "22012", "an error in a pipeline")
with connection.cursor() as cursor:
    with cursor.copy("copy things (name, n) from stdin") as copy:
        for number in range(100):
            copy.write_row((f"copied {number}\t\\", number))
    with cursor.copy("copy things (name, n) from stdin (format binary)") as copy:
        copy.set_types(["text", "numeric"])
        for number in range(100):
            copy.write_row((f"binary {number}", decimal.Decimal(number)))
    with cursor.copy("copy (select name from things where name like 'copied 70%') to stdout") as copy:
        check(list(copy.rows()), [("copied 70\t\\",)], "COPY out")
check(execute("select count(*) from things").fetchone(), (220,), "COPY in")

with psycopg.connect(URL) as other:
    with other.transaction():
        other.execute("insert into things (name) values ('outer')")
        try:
            with other.transaction():
                other.execute("insert into things (name) values ('inner')")
                raise ValueError
        except ValueError:
            pass
check(execute("select name from things where name in ('outer', 'inner')").fetchall(), [("outer",)], "savepoints")

error = error_of(lambda: execute("insert into things (name) values ('outer')"))
check(
    (error.sqlstate, error.diag.constraint_name, error.diag.table_name, error.diag.message_detail),
    ("23505", "things_name_key", "things", "Key (name)=(outer) already exists."),
    "an error's fields",
)
check(error_of(lambda: execute("select * from nowhere")).sqlstate, "42P01", "an unknown table")
check(error_of(lambda: execute("select %s::int", ("x",))).sqlstate, "22P02", "a parameter that is no number")

for cancel in ("cancel", "cancel_safe"):
    other = psycopg.connect(URL, autocommit=True)
    timer = threading.Timer(0.3, getattr(other, cancel))
    timer.start()
    check(error_of(lambda: other.execute("select pg_sleep(60)")).sqlstate, "57014", cancel)
    timer.join()

listener = psycopg.connect(URL, autocommit=True)
listener.execute("listen news")
execute("notify news, 'hello'")
check([told.payload for told in listener.notifies(timeout=20, stop_after=1)], ["hello"], "a notification")

with psycopg.connect(URL) as other, other.cursor(name="rows", scrollable=True) as cursor:
    cursor.execute("select generate_series(1, 1000)")
    check(cursor.fetchmany(2), [(1,), (2,)], "a cursor of the server")
    cursor.scroll(10)
    check(cursor.fetchone(), (13,), "a cursor that scrolls")

other = psycopg.connect(URL)
other.tpc_begin(other.xid(1, "global", "branch"))
other.execute("insert into things (name) values ('prepared')")
other.tpc_prepare()
finisher = psycopg.connect(URL)
finisher.tpc_commit(finisher.tpc_recover()[0])
check(execute("select count(*) from things where name = 'prepared'").fetchone(), (1,), "two-phase commit")

execute("create type mood as enum ('sad', 'ok')")
check(list(EnumInfo.fetch(connection, "mood").labels), ["sad", "ok"], "an enum's labels")
execute("create type pair as (a int, b text)")
register_composite(CompositeInfo.fetch(connection, "pair"), connection)
check(tuple(execute("select row(1, 'x')::pair").fetchone()[0]), (1, "x"), "a composite value")
check([execute("select %s::int + 1", (n,), prepare=True).fetchone()[0] for n in range(10)], list(range(1, 11)), "prepared")
sys.exit(1 if failed else 0)
