#!/bin/sh
# Writes haproxy.cfg for this run into $SCRATCH and becomes HAProxy. `serve.sh -v` prints its version instead. The template is
# that of the folder in which it is started: HAProxy as a proxy has one of its own.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" # where haproxy is installed, and often no part of a user's PATH

if [ "${1:-}" = -v ]; then
    exec haproxy -v
fi

case $ADDRESS in
*:*) listen="[$ADDRESS]:$PORT" ;;
*) listen="$ADDRESS:$PORT" ;;
esac

# Over TLS, where a certificate is given: HAProxy takes it and its key from one file.
ssl=
if [ -n "${CERT:-}" ]; then
    (umask 077 && cat "$CERT" "$KEY" >"$SCRATCH/both.pem")
    ssl=" ssl crt $SCRATCH/both.pem"
fi

# Over HTTP/2, where that is to be spoken.
case ${PROTOCOL:-} in
h2) ssl="$ssl alpn h2,http/1.1" ;;
h2c) ssl=" proto h2" ;;
esac

# As sed takes it literally.
ssl=$(printf '%s' "$ssl" | sed 's/[|&\\]/\\&/g')
sed -e "s|@WORKERS@|$WORKERS|" -e "s|@LISTEN@|$listen|" -e "s|@SSL@|$ssl|" -e "s|@UPSTREAM@|${UPSTREAM:-}|" \
    haproxy.cfg >"$SCRATCH/haproxy.cfg"

ulimit -n "$(ulimit -H -n)" # open files: all that this user may have
exec haproxy -db -f "$SCRATCH/haproxy.cfg"
