#!/bin/sh
# Compiles a crate of this workspace and says what clippy and rustdoc find in it. `make test` names this script to cargo as
# RUSTC_WORKSPACE_WRAPPER: one build of everything then lints and documents too, where `cargo clippy` and `cargo doc` would each check all
# dependencies once more. A finding fails the build.
#
#   scripts/lint-while-compiling.sh RUSTC ARGUMENTS…
set -eu

main() {
    root=$(dirname "$(dirname "$(readlink -f "$0")")")
    case "${CARGO_MANIFEST_DIR:-}" in
    "$root"/crates/* | "$root"/xtask) ;;
    *) exec "$@" ;; # a contender that a test builds, or a question of cargo's about the compiler
    esac
    if has_unsafe_code; then
        "$@"
        again lint clippy-driver "$@" --emit=metadata
    else
        clippy-driver "$@" -Dwarnings
    fi
    if is_documented "$@"; then
        shift # the compiler
        again doc rustdoc "$@"
    fi
}

# Clippy compiles as rustc does, but without the checks of pointers with which such code must be tested.
has_unsafe_code() (
    cd "$CARGO_MANIFEST_DIR"
    # What forbids it may still name it, in a text; its tests and examples are crates of their own.
    places=.
    if grep -qF '#![forbid(unsafe_code)]' src/lib.rs src/main.rs 2>/dev/null; then places='build.rs tests examples benches'; fi
    grep -rqsE --include='*.rs' 'unsafe (\{|fn|impl|extern|trait)' $places
)

# As `cargo doc` has it: libraries and programs; neither tests, nor examples, nor what builds.
is_documented() {
    for argument; do
        case "$argument" in
        --test | */examples/*.rs | */benches/*.rs | build_script_*) return 1 ;;
        esac
    done
}

# Runs a program with the compiler's arguments, but for those that say what is to be written and where.
#
#   again FOLDER PROGRAM ARGUMENTS…
again() {
    folder=$1
    shift
    left=$#
    while [ "$left" -gt 0 ]; do
        case "$1" in
        --emit=dep-info*) ;;
        --json=*) set -- "$@" "${1%,artifacts*}" ;; # or cargo would take what is written here for the crate
        --out-dir)
            set -- "$@" --out-dir "$2/../$folder"
            shift
            left=$((left - 1))
            ;;
        *) set -- "$@" "$1" ;;
        esac
        shift
        left=$((left - 1))
    done
    "$@" -Dwarnings
}

main "$@"
