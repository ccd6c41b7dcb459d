#!/bin/sh
# Writes the Caddyfile for this run into $SCRATCH and becomes Caddy. The template is that of the folder in which it is started:
# Caddy as a proxy has one of its own.
set -eu

# Over TLS, where a certificate is given.
scheme=http tls=
if [ -n "${CERT:-}" ]; then
    scheme=https
    tls="tls \"$CERT\" \"$KEY\""
fi

# Over TLS it speaks HTTP/2 by itself; without, where that is to be spoken.
protocols="h1 h2 h3"
[ "${PROTOCOL:-}" != h2c ] || protocols="h1 h2 h2c"

# As sed takes them literally.
literally() {
    printf '%s' "$1" | sed 's/[|&\\]/\\&/g'
}
sed -e "s|@SCHEME@|$scheme|" \
    -e "s|@PROTOCOLS@|$protocols|" \
    -e "s|@PORT@|$PORT|" \
    -e "s|@ADDRESS@|$ADDRESS|" \
    -e "s|@TLS@|$(literally "$tls")|" \
    -e "s|@FILES@|$(literally "$FILES")|" \
    -e "s|@UPSTREAM@|${UPSTREAM:-}|" \
    Caddyfile >"$SCRATCH/Caddyfile"

# What it would keep for later stays in the scratch folder.
export XDG_DATA_HOME="$SCRATCH/data" XDG_CONFIG_HOME="$SCRATCH/config"
ulimit -n "$(ulimit -H -n)" # open files: all that this user may have
exec caddy run --adapter caddyfile --config "$SCRATCH/Caddyfile"
