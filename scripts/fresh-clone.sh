#!/bin/sh
# Runs `make showdown` in a clean clone of the last commit and says when each line came, in seconds from the beginning: what the
# first answer takes who has assay for the first time. The folder is removed. Caches of cargo, Go, npm and Maven outside the clone are
# used as they are; `CARGO_HOME=$(mktemp -d)` and its like empty them.
set -eu
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
git clone --quiet . "$work/clone"
unset CARGO_TARGET_DIR
began=$(date +%s)
{
    cd "$work/clone"
    make showdown 2>&1 && echo "fresh-clone: done" || echo "fresh-clone: make failed"
} | while IFS= read -r line; do
    printf '%4d s  %s\n' "$(($(date +%s) - began))" "$line"
done
