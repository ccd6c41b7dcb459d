#!/bin/sh
# Runs the showdown for `make showdown`, so that the first verdict is there five minutes after the command was given:
#
#   scripts/run-showdown.sh BEGAN
#
# BEGAN is when that was, in seconds since 1970. What was built before leaves the time for the whole experiment. After a long build the rest of
# the five minutes is too short for that: half of the intervals would be too wide to be told (docs/results/showdown.md). So the run then takes a
# first look, at one number of connections and without the A/A control.
set -eu
cd "$(dirname "$0")/.."

ANSWER=300 # from the command to the verdict
AFTER=12   # looking for contenders, and writing the record and the report
LEAST=110  # a first look takes this long, also where a slow machine gives its answer later for it

whole=$(sed -n 's/^budget_s = \([0-9]*\).*/\1/p' experiments/showdown.toml)
built=$(($(date +%s) - $1))
left=$((ANSWER - AFTER - built))
[ "$left" -ge "$LEAST" ] || left=$LEAST

set -- "${CARGO_TARGET_DIR:-target}/showdown/assay" run -e showdown --no-check -o report.html
if [ "$left" -lt "$whole" ]; then
    echo "showdown: building took $built s, so this is a first look of $left s, with 64 connections." >&2
    echo "showdown: everything is built now, so the next \`make showdown\` measures at all loads, for $whole s." >&2
    set -- "$@" --connections 64 --rounds 3 --no-aa --budget "${left}s"
fi
exec "$@"
