#!/bin/sh
# Compiles server.cc into build/ against the installed Seastar.
set -eu
mkdir -p build
# shellcheck disable=SC2046 # lists of words
c++ -std=c++20 -O2 $(pkg-config --cflags seastar) -o build/server server.cc $(pkg-config --libs seastar)
