#!/usr/bin/env bash
# The figures the project watches: the commit loop without SQL, and pgbench over the wire.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --quiet --release -p cohort-wal --example flush_loop
cargo run --quiet --release -p cohort-xact --example commit_loop
work=$(mktemp -d)
target/release/cohort serve "$work/data" --host 127.0.0.1 --port 5641 --socket-dir "$work" 2>"$work/log" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do psql -h "$work" -p 5641 -U postgres -Atc 'select 1' postgres >/dev/null 2>&1 && break; sleep 0.1; done
psql -q -h "$work" -p 5641 -U postgres postgres <<'SQL'
create table test(id int, info text);
create table hot(id int primary key, n bigint);
insert into hot values (1, 0);
SQL
pgbench -i -q -s 10 -h "$work" -p 5641 -U postgres postgres >/dev/null 2>&1
echo "insert into test values (1,'test');" >"$work/ins.sql"
echo "update hot set n = n + 1 where id = 1;" >"$work/hot.sql"
run() { # run NAME CLIENTS ARGUMENTS...
    local name=$1 clients=$2
    shift 2
    printf '%-8s ' "$name"
    pgbench -n -h "$work" -p 5641 -U postgres -c "$clients" -j 2 -M prepared -T 5 "$@" postgres 2>&1 | grep '^tps'
}
run ins1 1 -f "$work/ins.sql"
run ins32 32 -f "$work/ins.sql"
run ins128 128 -f "$work/ins.sql"
run hot64 64 -f "$work/hot.sql"
run tpcb32 32 -b tpcb-like
run upd32 32 -b simple-update
run sel32 32 -b select-only
