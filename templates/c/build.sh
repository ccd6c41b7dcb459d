#!/bin/sh
# Compiles server.c into build/. `--probe HEADER` tells whether a header is there, `--version HEADER PREFIX` prints
# PREFIX_MAJOR.PREFIX_MINOR as that header defines them.
set -eu

case ${1:-} in
--probe)
    echo "#include <$2>" | cc -E -o /dev/null -
    ;;
--version)
    printf '#include <%s>\nversion %s_MAJOR.%s_MINOR\n' "$2" "$3" "$3" | cc -E -P - | sed -n 's/^version //p' | tr -d ' '
    ;;
*)
    mkdir -p build
    cc -std=c11 -O2 -Wall -Wextra -o build/server server.c -luv -lhttp_parser -lpthread
    ;;
esac
