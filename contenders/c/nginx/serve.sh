#!/bin/sh
# Writes nginx.conf for this run into $SCRATCH and becomes nginx. `serve.sh -v` prints nginx's version instead. The template is
# that of the folder in which it is started: nginx as a proxy has one of its own.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" # where nginx is installed, and often no part of a user's PATH

if [ "${1:-}" = -v ]; then
    exec nginx -v
fi

case $ADDRESS in
*:*) listen="[$ADDRESS]:$PORT" ;;
*) listen="$ADDRESS:$PORT" ;;
esac

# Workers may not run as root; nobody's group has different names on different systems.
user=
if [ "$(id -u)" = 0 ]; then
    user="user nobody $(id -gn nobody);"
    # The wire of a user-space stack is open to one user only.
    [ -z "${ASSAY_STACK:-}" ] || user="user root $(id -gn root);"
fi

# A copy that nobody can read: the checkout may lie in a private home.
cp -R "$FILES" "$SCRATCH/files"
chmod a+x "$SCRATCH"
chmod -R a+rX "$SCRATCH/files"

# Over TLS, where a certificate is given; over HTTP/2, where that is to be spoken. Without TLS a port speaks one of both versions.
ssl= certificate=
case ${PROTOCOL:-} in
h2c | h2) http2=' http2' ;;
*) http2= ;;
esac
if [ -n "${CERT:-}" ]; then
    ssl=' ssl'
    certificate="ssl_certificate \"$CERT\"; ssl_certificate_key \"$KEY\"; ssl_protocols TLSv1.2 TLSv1.3;"
fi

# As sed takes it literally.
scratch=$(printf '%s' "$SCRATCH" | sed 's/[|&\\]/\\&/g')
sed -e "s|@USER@|$user|" \
    -e "s|@WORKERS@|$WORKERS|" \
    -e "s|@LISTEN@|$listen|" \
    -e "s|@SSL@|$ssl$http2|" \
    -e "s|@CERTIFICATE@|$certificate|" \
    -e "s|@FILES@|$scratch/files|" \
    -e "s|@UPSTREAM@|${UPSTREAM:-}|" \
    -e "s|@SCRATCH@|$scratch|" \
    nginx.conf >"$SCRATCH/nginx.conf"

ulimit -n "$(ulimit -H -n)" # open files: all that this user may have
exec nginx -e stderr -p "$SCRATCH" -c "$SCRATCH/nginx.conf"
