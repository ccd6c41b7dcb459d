#!/bin/sh
# Makes build/venv with exactly the packages of requirements.txt.
set -eu
python3 -m venv --clear build/venv
build/venv/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement requirements.txt
