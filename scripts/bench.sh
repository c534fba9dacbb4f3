#!/usr/bin/env bash
# The figures the project watches, in about four minutes: the commit loop without SQL, the experiments in short rounds, and
# pgbench over the wire, on a real PostgreSQL as well where one is installed (PG_BINDIR).
#
# They are left in target/bench. The first run becomes the baseline, target/bench-baseline, which later runs are compared
# with; KEEP=1 makes this run the baseline, BASELINE=FOLDER compares with another one. SECONDS_EACH sets how long a round takes (2).
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/bench
baseline=${BASELINE:-target/bench-baseline}
seconds=${SECONDS_EACH:-2}
program=${COHORT:-target/release/cohort}
mkdir -p "$out"
: >"$out/wire.tsv"
work=$(mktemp -d)
chmod 755 "$work"
server='' is_root=''
[ "$(id -u)" = 0 ] && is_root=1
as_postgres() { # as_postgres COMMAND...: PostgreSQL does not run as root
    if [ -n "$is_root" ]; then (cd "$work" && su postgres -s /bin/sh -c "exec $(printf '%q ' "$@")"); else "$@"; fi
}
finish() {
    [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
    [ -e "$work/pg/postmaster.pid" ] && as_postgres "$PG_BINDIR/pg_ctl" -D "$work/pg" -m fast stop >/dev/null
    rm -rf "$work"
}
trap finish EXIT

if [ -z "${WIRE_ONLY:-}" ]; then
    echo "== The commit loop without SQL"
    cargo run --quiet --release -p cohort-wal --example flush_loop
    cargo run --quiet --release -p cohort-xact --example commit_loop
    echo "== The experiments (report: $out/index.html)"
    "$program" lab run all --quick --out "$out" >"$out/lab.txt"
    sed -n '/^| experiment/,/^$/p' "$out/report.md"
fi

echo "== pgbench over the wire"
mkdir "$work/cohort"
"$program" serve "$work/cohort/data" --host 127.0.0.1 --port 5641 --socket-dir "$work/cohort" 2>"$work/cohort/log" &
server=$!
servers=cohort
declare -A port=([cohort]=5641 [postgres]=5642)
if [ -n "${PG_BINDIR:-}" ] && [ -x "$PG_BINDIR/initdb" ]; then
    mkdir "$work/postgres"
    [ -z "$is_root" ] || chown postgres "$work" "$work/postgres"
    as_postgres "$PG_BINDIR/initdb" -D "$work/pg" -A trust -U postgres --locale=C -E UTF8 >/dev/null
    as_postgres "$PG_BINDIR/pg_ctl" -D "$work/pg" -w -l "$work/postgres/log" -o "-p 5642 -k $work/postgres -h '' \
        -c max_connections=300 -c shared_buffers=512MB -c max_wal_size=8GB" start >/dev/null
    servers="cohort postgres"
else
    echo "(no PostgreSQL to compare with: PG_BINDIR names no folder with initdb)"
fi
for name in $servers; do
    address=(-h "$work/$name" -p "${port[$name]}" -U postgres)
    for _ in $(seq 100); do psql "${address[@]}" -Atc 'select 1' postgres >/dev/null 2>&1 && break; sleep 0.1; done
    psql -q "${address[@]}" postgres <<'SQL'
create table test(id int, info text);
create table hot(id int primary key, n bigint);
insert into hot values (1, 0);
SQL
    pgbench -i -q -s 10 "${address[@]}" postgres >/dev/null 2>&1
done
echo "insert into test values (1,'test');" >"$work/ins.sql"
echo "update hot set n = n + 1 where id = 1;" >"$work/hot.sql"
chmod 644 "$work"/*.sql
run() { # run NAME CLIENTS ARGUMENTS...: three rounds, the servers in turn
    local workload=$1 clients=$2 name tps
    shift 2
    for _ in 1 2 3; do
        for name in $servers; do
            tps=$(pgbench -n -h "$work/$name" -p "${port[$name]}" -U postgres -c "$clients" -j 2 -M prepared -T "$seconds" "$@" \
                postgres 2>&1 | sed -n 's/^tps = \([0-9.]*\).*/\1/p')
            printf '%s\t%s\t%s\n' "$workload" "$name" "${tps:-0}" >>"$out/wire.tsv"
        done
    done
}
run ins1 1 -f "$work/ins.sql"
run ins32 32 -f "$work/ins.sql"
run ins128 128 -f "$work/ins.sql"
run hot64 64 -f "$work/hot.sql"
run tpcb32 32 -b tpcb-like
run upd32 32 -b simple-update
run sel32 32 -b select-only

# Medians of three rounds with the lowest and highest; ratios to PostgreSQL and to the baseline, which is told better or worse where
# every round of the one is above every round of the other.
before=/dev/null
[ -e "$baseline/wire.tsv" ] && before=$baseline/wire.tsv
awk -F'\t' '
    function note(run, workload, server, tps,    key) {
        key = run SUBSEP workload SUBSEP server
        count[key]++; value[key, count[key]] = tps + 0
        if (run == "now" && server == "cohort" && count[key] == 1) order[++workloads] = workload
    }
    function sorted(key,    i, j, swap) {
        for (i = 1; i <= count[key]; i++) for (j = i + 1; j <= count[key]; j++)
            if (value[key, j] < value[key, i]) { swap = value[key, i]; value[key, i] = value[key, j]; value[key, j] = swap }
    }
    function low(key) { return value[key, 1] }
    function high(key) { return value[key, count[key]] }
    function median(key) { return value[key, int((count[key] + 1) / 2)] }
    function ratio(one, two) { return median(two) > 0 ? sprintf("%.2f", median(one) / median(two)) : "-" }
    FILENAME == ARGV[1] { note("then", $1, $2, $3); next }
    { note("now", $1, $2, $3) }
    END {
        printf "%-8s %10s %21s %12s %10s %12s\n", "", "Cohort tps", "lowest to highest", "PostgreSQL", "ratio", "to baseline"
        for (i = 1; i <= workloads; i++) {
            now = "now" SUBSEP order[i] SUBSEP "cohort"; other = "now" SUBSEP order[i] SUBSEP "postgres"
            past = "then" SUBSEP order[i] SUBSEP "cohort"
            sorted(now); sorted(other); sorted(past)
            mark = ""
            if (count[past] > 2) mark = low(now) > high(past) ? " better" : high(now) < low(past) ? " WORSE" : " same"
            printf "%-8s %10.0f %21s %12s %10s %12s%s\n", order[i], median(now), sprintf("%.0f to %.0f", low(now), high(now)),
                count[other] ? sprintf("%.0f", median(other)) : "-", count[other] ? ratio(now, other) : "-",
                count[past] ? ratio(now, past) : "-", mark
        }
    }' "$before" "$out/wire.tsv"

if [ -e "$baseline/results.json" ] && [ -e "$out/results.json" ]; then
    echo "== The experiments beside the baseline, $baseline"
    # Status 1 tells of something worse, which is a figure like any other here; 2 of trouble.
    "$program" lab compare "$baseline/results.json" "$out/results.json" || [ $? = 1 ]
fi
if [ ! -e "$baseline" ] || [ -n "${KEEP:-}" ]; then
    mkdir -p "$baseline"
    cp "$out/wire.tsv" "$baseline/"
    [ ! -e "$out/results.json" ] || cp "$out/results.json" "$baseline/"
    echo "This run is the baseline now: $baseline"
fi
