#!/bin/sh
# Writes lighttpd.conf for this run into $SCRATCH and becomes lighttpd. `serve.sh -v` prints its version instead. The template is
# that of the folder in which it is started: lighttpd as a proxy has one of its own.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" # where lighttpd is installed, and often no part of a user's PATH

if [ "${1:-}" = -v ]; then
    exec lighttpd -v
fi

# Started as root, lighttpd serves as nobody, who must be able to read the files: hence a copy (the checkout may lie in
# a private home) and the right to pass through the scratch folder.
cp -R "$FILES" "$SCRATCH/files"
user=
if [ "$(id -u)" = 0 ]; then
    user="server.username = \"nobody\"\\
server.groupname = \"$(id -gn nobody)\""
    chmod a+x "$SCRATCH"
    chmod -R a+rX "$SCRATCH/files"
fi

# As a proxy it puts what is large aside, as the user that it runs as.
mkdir "$SCRATCH/aside"
chmod 1777 "$SCRATCH/aside"

# Over TLS, where a certificate is given.
tls=
if [ -n "${CERT:-}" ]; then
    tls="server.modules += ( \"mod_openssl\" )\\
ssl.engine = \"enable\"\\
ssl.pemfile = \"$CERT\"\\
ssl.privkey = \"$KEY\""
fi

# A single process serves by itself: a worker beside a parent is for more than one.
workers=$((WORKERS > 1 ? WORKERS : 0))

# As sed takes it literally.
scratch=$(printf '%s' "$SCRATCH" | sed 's/[|&\\]/\\&/g')
sed -e "s|@USER@|$user|" \
    -e "s|@TLS@|$tls|" \
    -e "s|@WORKERS@|$workers|" \
    -e "s|@ADDRESS@|$ADDRESS|" \
    -e "s|@PORT@|$PORT|" \
    -e "s|@OPEN_FILES@|$(ulimit -H -n)|" \
    -e "s|@FILES@|$scratch/files|" \
    -e "s|@ASIDE@|$scratch/aside|" \
    -e "s|@UPSTREAM_HOST@|${UPSTREAM_HOST:-}|" \
    -e "s|@UPSTREAM_PORT@|${UPSTREAM_PORT:-}|" \
    lighttpd.conf >"$SCRATCH/lighttpd.conf"

exec lighttpd -D -f "$SCRATCH/lighttpd.conf"
