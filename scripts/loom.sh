#!/usr/bin/env bash
# Runs the models of memory orderings that are weaker than sequential consistency, under loom.
set -euo pipefail
cd "$(dirname "$0")/../orderings"
CARGO_TARGET_DIR=../target/loom cargo test --quiet
