// What people use pgx for, against the server whose URL is given. Ends with 1 if anything is not as it should be.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var failed = false

func check(what string, found, wanted any) {
	if !reflect.DeepEqual(found, wanted) {
		failed = true
		fmt.Printf("%s: %#v instead of %#v\n", what, found, wanted)
	}
}

func must(what string, err error) {
	if err != nil {
		fmt.Printf("%s: %v\n", what, err)
		os.Exit(1)
	}
}

func code(err error) string {
	var told *pgconn.PgError
	if errors.As(err, &told) {
		return told.Code
	}
	return fmt.Sprint(err)
}

func bothWays[T any](ctx context.Context, connection *pgx.Conn, name string, value T) {
	modes := []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	}
	for _, mode := range modes {
		var found T
		err := connection.QueryRow(ctx, "select $1::"+name, mode, value).Scan(&found)
		if err != nil {
			failed = true
			fmt.Printf("%s, mode %v: %v\n", name, mode, err)
			continue
		}
		check(fmt.Sprintf("%s, mode %v", name, mode), found, value)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	url := os.Args[1]
	connection, err := pgx.Connect(ctx, url)
	must("connect", err)

	bothWays(ctx, connection, "int2", int16(-3))
	bothWays(ctx, connection, "int4", int32(5))
	bothWays(ctx, connection, "int8", int64(1)<<40)
	bothWays(ctx, connection, "float8", 1.25)
	bothWays(ctx, connection, "numeric", "12.50")
	bothWays(ctx, connection, "text", "täxt 'quoted' \\")
	bothWays(ctx, connection, "bool", true)
	bothWays(ctx, connection, "bytea", []byte{0, 255})
	bothWays(ctx, connection, "date", time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC))
	bothWays(ctx, connection, "timestamp", time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC))
	bothWays(ctx, connection, "uuid", "00000000-0000-0000-0000-000000000007")
	bothWays(ctx, connection, "jsonb", `{"a": [1, null]}`)
	bothWays(ctx, connection, "int4[]", []int32{1, 2, 3})
	bothWays(ctx, connection, "text[]", []string{"a", "b\"c", ""})
	bothWays(ctx, connection, "inet", netip.MustParsePrefix("10.0.0.0/8"))
	bothWays(ctx, connection, "interval", 90*time.Second)

	_, err = connection.Exec(ctx, "create table px_items (id int primary key, name text, price float8, at timestamptz default now())")
	must("create", err)
	rows := [][]any{}
	for number := range 200 {
		rows = append(rows, []any{number, fmt.Sprint("item ", number), float64(number)})
	}
	copied, err := connection.CopyFrom(ctx, pgx.Identifier{"px_items"}, []string{"id", "name", "price"}, pgx.CopyFromRows(rows))
	must("copy", err)
	check("COPY in binary", copied, int64(200))
	var out strings.Builder
	tag, err := connection.PgConn().CopyTo(ctx, &out, "copy (select id, name from px_items order by id limit 2) to stdout csv")
	must("copy to", err)
	check("COPY out", out.String()+tag.String(), "0,item 0\n1,item 1\nCOPY 2")

	// A batch is one round trip: its statements are all under way at once.
	batch := &pgx.Batch{}
	for number := range 50 {
		batch.Queue("select name from px_items where id = $1", number)
	}
	batch.Queue("update px_items set price = price + 1 where id < $1", 10)
	results := connection.SendBatch(ctx, batch)
	for number := range 50 {
		var name string
		must("batch", results.QueryRow().Scan(&name))
		check("a batch", name, fmt.Sprint("item ", number))
	}
	tag, err = results.Exec()
	must("batch update", err)
	check("a batch's tag", tag.String(), "UPDATE 10")
	must("batch end", results.Close())

	batch = &pgx.Batch{}
	batch.Queue("insert into px_items (id) values (1000)")
	batch.Queue("insert into px_items (id) values (1)")
	check("a batch that fails", code(connection.SendBatch(ctx, batch).Close()), "23505")
	var count int
	must("count", connection.QueryRow(ctx, "select count(*) from px_items").Scan(&count))
	check("its first part is undone", count, 200)

	pipeline := connection.PgConn().StartPipeline(ctx)
	pipeline.SendQueryParams("select 1", nil, nil, nil, nil)
	must("sync", pipeline.Sync())
	pipeline.SendQueryParams("select 1/0", nil, nil, nil, nil)
	pipeline.SendQueryParams("select 2", nil, nil, nil, nil)
	must("sync", pipeline.Sync())
	pipeline.SendQueryParams("select 3", nil, nil, nil, nil)
	must("sync", pipeline.Sync())
	said := []string{}
	for {
		result, err := pipeline.GetResults()
		if err != nil {
			said = append(said, code(err))
			continue
		}
		if result == nil {
			break
		}
		switch result := result.(type) {
		case *pgconn.ResultReader:
			read := result.Read()
			if read.Err != nil {
				said = append(said, code(read.Err))
			} else {
				said = append(said, string(read.Rows[0][0]))
			}
		case *pgconn.PipelineSync:
			said = append(said, "sync")
		}
	}
	must("pipeline", pipeline.Close())
	check("a pipeline", said, []string{"1", "sync", "22012", "sync", "3", "sync"})

	err = pgx.BeginTxFunc(ctx, connection, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "delete from px_items where id < 100")
		must("delete", err)
		nested, err := tx.Begin(ctx)
		must("savepoint", err)
		_, err = nested.Exec(ctx, "delete from px_items")
		must("delete", err)
		return nested.Rollback(ctx)
	})
	must("transaction", err)
	must("count", connection.QueryRow(ctx, "select count(*) from px_items").Scan(&count))
	check("a transaction with a savepoint", count, 100)

	_, err = connection.Exec(ctx, "create type px_mood as enum ('sad', 'ok'); create type px_pair as (a int, b text)")
	must("types", err)
	for _, name := range []string{"px_mood", "px_pair", "_px_pair"} {
		loaded, err := connection.LoadType(ctx, name)
		must("load "+name, err)
		connection.TypeMap().RegisterType(loaded)
	}
	type pair struct {
		A int32
		B string
	}
	bothWays(ctx, connection, "px_mood", "ok")
	var found []pair
	must("pairs", connection.QueryRow(ctx, "select array[row(1, 'x'), row(2, 'y')]::px_pair[]").Scan(&found))
	check("an array of a composite type", found, []pair{{1, "x"}, {2, "y"}})

	_, err = connection.Exec(ctx, "select * from nowhere")
	check("an error's code", code(err), "42P01")
	short, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	_, err = connection.Exec(short, "select pg_sleep(50)")
	stop()
	check("a time limit", err != nil, true)

	pool, err := pgxpool.New(ctx, url)
	must("pool", err)
	listener, err := pool.Acquire(ctx)
	must("acquire", err)
	_, err = listener.Exec(ctx, "listen px_news")
	must("listen", err)
	_, err = pool.Exec(ctx, "select pg_notify('px_news', 'hello')")
	must("notify", err)
	heard, err := listener.Conn().WaitForNotification(ctx)
	must("a notification", err)
	check("a notification", heard.Channel+" "+heard.Payload, "px_news hello")
	listener.Release()
	pool.Close()
	if failed {
		os.Exit(1)
	}
}
