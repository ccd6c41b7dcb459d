#!/bin/sh
# Starts one Bun process for each CPU given; when one ends, all end.
set -eu

if [ "${1:-}" = -v ]; then
    exec node_modules/.bin/bun --version
fi

workers=
trap 'kill $workers 2>/dev/null; wait; exit 0' TERM INT
for _ in $(seq "$WORKERS"); do
    node_modules/.bin/bun server.js &
    workers="$workers $!"
done

# Fewer workers would be a different contender: end instead.
while kill -0 $workers 2>/dev/null; do
    sleep 1 &
    wait $!
done
kill $workers 2>/dev/null || true
exit 1
