#!/bin/sh
# Installs assay as a stranger would: `cargo install` from a clean clone of the last commit. The binary by itself must then, in an
# empty folder, list its catalogue, write its manual page and completions, measure a server, and put an unmodified program on the
# user-space stack. Leaves nothing behind.
set -eu
cd "$(dirname "$0")/.."

work=$(mktemp -d)
ring=$(mktemp -d /dev/shm/assay-package.XXXXXX)
server=''
clean_up() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$work" "$ring"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

fail() {
    echo "package-check:" "$@" >&2
    exit 1
}

git clone --quiet . "$work/clone"
CARGO_TARGET_DIR="$work/target" cargo install --quiet --locked --path "$work/clone/crates/cli" --root "$work/installed"
rm -rf "$work/clone" "$work/target" # it has only what it carries

mkdir "$work/empty"
cd "$work/empty"
assay="$work/installed/bin/assay"
export XDG_DATA_HOME="$work/data"
unset ASSAY_PRELOAD ASSAY_CATALOGUE
"$assay" list | grep -q nginx || fail "no catalogue"
"$assay" man | grep -q '^\.TH assay' || fail "no manual page"
for shell in bash zsh fish; do "$assay" completions "$shell" | grep -q redline || fail "no completions for $shell"; done
# Its queue for connections is five long (socketserver.TCPServer).
"$assay" run --cmd 'python3 -m http.server $PORT' --quick -c 4 --runs "$work/runs" >"$work/told" 2>&1 ||
    fail "no run: $(cat "$work/told")"
[ -s "$work"/runs/*/report.html ] || fail "the run left no page"
"$assay" exec --wire "ring:$ring/wire" --address 10.77.0.1/24 -- python3 -m http.server 8080 >"$work/log" 2>&1 &
server=$!
"$assay" load http://10.77.0.1:8080/ --stack user --wire "ring:$ring/wire" -c 1 -n 100 --expect-status 200 >"$work/told" 2>&1 ||
    fail "no answer over the user-space stack: $(cat "$work/told" "$work/log")"
grep -q '100 right' "$work/told" || fail "not every answer was right: $(cat "$work/told")"
[ -z "$(ls -A)" ] || fail "the folder is no longer empty: $(ls -A)"
echo "package-check: the installed binary is whole"
