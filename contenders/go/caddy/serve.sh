#!/bin/sh
# Writes the Caddyfile for this run into $SCRATCH and becomes Caddy.
set -eu

# Over TLS, where a certificate is given.
scheme=http tls=
if [ -n "${CERT:-}" ]; then
    scheme=https
    tls="tls \"$CERT\" \"$KEY\""
fi

# As sed takes them literally.
literally() {
    printf '%s' "$1" | sed 's/[|&\\]/\\&/g'
}
sed -e "s|@SCHEME@|$scheme|" \
    -e "s|@PORT@|$PORT|" \
    -e "s|@ADDRESS@|$ADDRESS|" \
    -e "s|@TLS@|$(literally "$tls")|" \
    -e "s|@FILES@|$(literally "$FILES")|" \
    Caddyfile >"$SCRATCH/Caddyfile"

# What it would keep for later stays in the scratch folder.
export XDG_DATA_HOME="$SCRATCH/data" XDG_CONFIG_HOME="$SCRATCH/config"
ulimit -n "$(ulimit -H -n)" # open files: all that this user may have
exec caddy run --adapter caddyfile --config "$SCRATCH/Caddyfile"
