#!/usr/bin/env bash
# Runs the whole test suite again and again, with busy loops beside it that take the processor away from it. A test that
# fails once has a defect, or shows one.
#
#   ROUNDS    how often; 0: until HOURS have passed                (0)
#   HOURS     how long, when ROUNDS is 0                           (1)
#   LOAD      busy loops; more of them make other orders of events  (twice the processors)
#   FILTER    arguments for each test program, such as the name of one test
#   OUT       where the output of tests that fail is kept           (target/flakes)
#
# The tests run as they are built, without cargo. Exits with 1 if any test failed.
set -uo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-0}
load=${LOAD:-$((2 * $(nproc)))}
out=${OUT:-target/flakes}
mkdir -p "$out"

# Each line: the package's folder, and its test program.
programs=$(cargo test --workspace --no-run --message-format=json |
    python3 -c '
import json, os, sys
for line in sys.stdin:
    message = json.loads(line) if line.startswith("{") else {}
    if message.get("executable") and message.get("profile", {}).get("test"):
        print(os.path.dirname(message["manifest_path"]) + "\t" + message["executable"])
') || exit 1

loops=()
stop_load() {
    for loop in ${loops[@]+"${loops[@]}"}; do kill "$loop" 2>/dev/null; done
}
trap stop_load EXIT
trap 'exit 130' INT TERM
for _ in $(seq "$load"); do
    # In spells: a load that never lets go is only a slower machine.
    (while :; do
        for ((spin = RANDOM * 8; spin > 0; spin--)); do :; done
        sleep "0.0$((RANDOM % 10))"
    done) &
    loops+=($!)
done

ends=$(($(date +%s) + $(awk -v hours="${HOURS:-1}" 'BEGIN { printf "%d", hours * 3600 }')))
failed=0
round=0
while { [ "$rounds" -gt 0 ] && [ "$round" -lt "$rounds" ]; } || { [ "$rounds" -eq 0 ] && [ "$(date +%s)" -lt "$ends" ]; }; do
    round=$((round + 1))
    while IFS=$'\t' read -r folder program; do
        name=$(basename "$program")
        log=$out/$name.$round.log
        # shellcheck disable=SC2086
        if (cd "$folder" && CARGO_MANIFEST_DIR=$folder "$program" ${FILTER:-}) </dev/null >"$log" 2>&1; then
            rm "$log"
        else
            failed=$((failed + 1))
            echo "round $round: $name failed: $log"
            grep -E '^test .* \.\.\. FAILED|panicked at' "$log" | head -5
        fi
    done <<<"$programs"
    echo "round $round: $failed failures so far"
done
[ "$failed" -eq 0 ]
