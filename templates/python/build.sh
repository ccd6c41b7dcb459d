#!/bin/sh
# Makes build/venv with exactly the packages of requirements.txt, down to the byte. Wheels only: what builds one from source
# would be fetched without a version or a hash.
set -eu
python3 -m venv --clear build/venv
build/venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --only-binary :all: --requirement requirements.txt
