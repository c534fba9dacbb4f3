#!/usr/bin/env bash
# Runs the guards that compare Cohort with a PostgreSQL on random input, each of them for a time. A run goes on with the seed at which the
# last one ended.
#
#   scripts/guards.sh                    all of them
#   scripts/guards.sh random_statements  one of them
#
#   SECONDS_EACH  how long each of them runs                               (60)
#   FROM          the first seed                                           (the one that comes next, or 1000)
#   OUT           the folder of the next seeds, and of the output of runs  (target/guards)
#
# A guard ends at the first difference, which is printed in its smallest form with its seed. The status is 0 if all guards agree, 1 if one
# found a difference, 2 if one could not run.
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-60}
out=${OUT:-target/guards}
mkdir -p "$out"
guards=${*:-random_statements dumps constraints_model functions_matrix changing_types rechecks settings_model copied_lines names_model lock_order locked_rows}

# The variables that say how many cases a guard tries, and from which seed on; and how many make a run of half a minute or so.
variables() {
    case $1 in
    random_statements) echo COHORT_RANDOM_CASES COHORT_RANDOM_FROM 4 ;;
    dumps) echo COHORT_DUMPS COHORT_DUMPS_FROM 12 ;;
    constraints_model) echo COHORT_CONSTRAINTS COHORT_CONSTRAINTS_FROM 60 ;;
    functions_matrix) echo COHORT_MATRIX_CALLS COHORT_MATRIX_SEED 1 ;;
    changing_types) echo COHORT_TYPES COHORT_TYPES_FROM 40 ;;
    rechecks) echo COHORT_RECHECKS COHORT_RECHECKS_FROM 600 ;;
    settings_model) echo COHORT_SETTINGS COHORT_SETTINGS_FROM 5000 ;;
    copied_lines) echo COHORT_COPIES COHORT_COPIES_FROM 10000 ;;
    names_model) echo COHORT_NAMES COHORT_NAMES_FROM 5000 ;;
    lock_order) echo COHORT_LOCK_ORDER COHORT_LOCK_ORDER_FROM 2000 ;;
    locked_rows) echo COHORT_LOCKED_ROWS COHORT_LOCKED_ROWS_FROM 3000 ;;
    casts_matrix) echo COHORT_CASTS COHORT_CASTS_FROM 500 ;;
    *)
        echo "there is no guard called $1" >&2
        return 1
        ;;
    esac
}

found=0
for guard in $guards; do
    read -r count first size <<<"$(variables "$guard")"
    [ -n "$size" ] || exit 2
    # Built once: what it costs is no part of the time.
    cargo test --quiet -p cohort --test "$guard" --no-run || exit 2
    next=$out/$guard.next
    seed=${FROM:-$(cat "$next" 2>/dev/null || echo 1000)}
    start=$seed
    ends=$(($(date +%s) + seconds))
    log=$out/$guard.log
    failed=0
    while [ "$(date +%s)" -lt "$ends" ]; do
        if ! env "$count=$size" "$first=$seed" cargo test --quiet -p cohort --test "$guard" -- --nocapture >"$log" 2>&1; then
            failed=1
        fi
        if grep -q -e '^SKIPPED' -e '^error: could not compile' "$log"; then
            echo "$guard: could not run: $log"
            tail -20 "$log"
            exit 2
        fi
        [ "$failed" -eq 0 ] || break
        seed=$((seed + size))
        # A run from a seed of one's choice repeats a finding.
        [ -n "${FROM:-}" ] || echo "$seed" >"$next"
    done
    if [ "$failed" -eq 1 ]; then
        found=1
        echo "$guard: a difference in the run of $size from seed $seed: $log"
        tail -60 "$log"
    else
        echo "$guard: seeds $start to $((seed - 1)) agree"
    fi
done
exit "$found"
