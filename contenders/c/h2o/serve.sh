#!/bin/sh
# Writes h2o.conf for this run into $SCRATCH and becomes h2o. The template is that of the folder in which it is started: h2o as a
# proxy has one of its own.
set -eu

# Started as root, h2o serves as nobody, who must be able to read the files: hence a copy (the checkout may lie in a
# private home) and the right to pass through the scratch folder.
cp -R "$FILES" "$SCRATCH/files"
user=
if [ "$(id -u)" = 0 ]; then
    user="user: nobody"
    chmod a+x "$SCRATCH"
    chmod -R a+rX "$SCRATCH/files"
fi

# Over TLS, where a certificate is given.
tls=
if [ -n "${CERT:-}" ]; then
    tls="  ssl:\\
    certificate-file: \"$CERT\"\\
    key-file: \"$KEY\""
fi

# As sed takes it literally.
scratch=$(printf '%s' "$SCRATCH" | sed 's/[|&\\]/\\&/g')
sed -e "s|@USER@|$user|" \
    -e "s|@WORKERS@|$WORKERS|" \
    -e "s|@ADDRESS@|$ADDRESS|" \
    -e "s|@PORT@|$PORT|" \
    -e "s|@TLS@|$tls|" \
    -e "s|@FILES@|$scratch/files|" \
    -e "s|@UPSTREAM@|${UPSTREAM:-}|" \
    h2o.conf >"$SCRATCH/h2o.conf"

ulimit -n "$(ulimit -H -n)" # open files: all that this user may have
exec h2o --mode worker --conf "$SCRATCH/h2o.conf"
