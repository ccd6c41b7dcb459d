#!/bin/sh
# Compiles server.c into build/ against the installed libreactor.
set -eu
mkdir -p build
# shellcheck disable=SC2046 # lists of words
cc -O2 -Wall $(pkg-config --cflags libreactor openssl) -o build/server server.c \
    $(pkg-config --libs libreactor openssl) -lpthread -lm
