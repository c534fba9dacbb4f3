#!/usr/bin/env bash
# Runs the models of concurrent state machines under the shuttle scheduler.
set -euo pipefail
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle
for test in crates/*/tests/{models,model,interleavings}.rs; do
    [ -e "$test" ] || continue
    grep -q "cfg(shuttle)" "$test" || continue
    crate=$(basename "$(dirname "$(dirname "$test")")")
    cargo test --quiet --release -p "cohort-$crate" --test "$(basename "$test" .rs)"
done
for crate in $(grep -rl "cfg(all(test, shuttle))" crates/*/src | cut -d/ -f2 | sort -u); do
    cargo test --quiet --release -p "cohort-$crate" --lib models
done
