#!/bin/sh
# Builds contenders of the catalogue, one after the other, before assay itself is there to do it:
#
#   scripts/build-contenders.sh node gin vertx
#
# It runs what `[build]` of each contender.toml says. What fails is left to `assay run`, which builds again, says why, and measures
# the others.
set -eu
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

# The line `command = [...]` below `[build]`, as words in quotes.
command_of() { sed -n '/^\[build\]/,/^\[/s/^command = \[\(.*\)\]$/\1/p' "$1" | sed 's/", *"/" "/g'; }

build() {
    file=$1
    words=$(command_of "$file")
    [ -n "$words" ] || return 0 # nothing to build
    eval "set -- $words"
    (cd "$(dirname "$file")" && "$@") >/dev/null 2>&1
}

for name in "$@"; do
    for file in contenders/*/"$name"/contender.toml; do
        if [ -e "$file" ]; then build "$file" || echo "build-contenders: $name is left to assay" >&2; fi
    done
done
