#!/bin/sh
# Runs the fuzz targets, or those named, for SECONDS each (60 unless set). Needs only the stable toolchain: coverage is
# asked of the compiler as `cargo fuzz run -s none` does it.
set -eu
cd "$(dirname "$0")/../fuzz"
host=$(rustc -vV | sed -n 's/^host: //p')
seconds=${SECONDS_EACH:-60}
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"
cargo build --quiet --target "$host" --bins
targets=${*:-$(ls fuzz_targets | sed 's/\.rs$//')}
folder=${CARGO_TARGET_DIR:-target}/$host/debug
for target in $targets; do
    mkdir -p "corpus/$target" "artifacts/$target"
    echo "== $target"
    "$folder/$target" -max_total_time="$seconds" -print_final_stats=1 -timeout=25 -rss_limit_mb=6000 -artifact_prefix="artifacts/$target/" \
        "corpus/$target" "seeds/$target" 2>"artifacts/$target.log" ||
        { tail -40 "artifacts/$target.log"; exit 1; }
    sed -n 's/^stat::number_of_executed_units: */executions: /p' "artifacts/$target.log"
done
