#!/bin/sh
# Writes fpm.conf and nginx.conf for this run into $SCRATCH and runs both servers; when one ends, both end.
# `serve.sh -v` prints PHP-FPM's version, `serve.sh --driver` tells whether it has a driver for PostgreSQL.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" # where servers are installed, and often no part of a user's PATH

fpm=
for candidate in php-fpm php-fpm8.4 php-fpm8.3 php-fpm8.2 php-fpm8.1 php-fpm8.0; do
    if command -v "$candidate" >/dev/null; then fpm=$candidate && break; fi
done
[ -n "$fpm" ] || { echo "serve.sh: php-fpm is not installed" >&2 && exit 1; }

case ${1:-} in
-v) exec "$fpm" -v ;;
--driver) "$fpm" -m | grep -qx pdo_pgsql && exit 0 || exit 1 ;;
esac

case $ADDRESS in
*:*) listen="[$ADDRESS]:$PORT" ;;
*) listen="$ADDRESS:$PORT" ;;
esac

# Neither serves as root; nobody's group has different names on different systems.
user= nginx_user= owner=
# With its time of change: OPcache compiles files younger than two seconds for every request (opcache.file_update_protection).
cp -p server.php "$SCRATCH/server.php"
cp -R "$FILES" "$SCRATCH/files"
if [ "$(id -u)" = 0 ]; then
    group=$(id -gn nobody)
    user="user = nobody\\
group = $group"
    owner="listen.owner = nobody\\
listen.group = $group"
    nginx_user="user nobody $group;"
    chmod a+x "$SCRATCH"
    chmod a+r "$SCRATCH/server.php"
    chmod -R a+rX "$SCRATCH/files"
fi

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
fill() {
    sed -e "s|@USER@|$2|" \
        -e "s|@OWNER@|$owner|" \
        -e "s|@PROCESSES@|$((WORKERS * 16))|" \
        -e "s|@WORKERS@|$WORKERS|" \
        -e "s|@LISTEN@|$listen|" \
        -e "s|@SSL@|$ssl$http2|" \
        -e "s|@CERTIFICATE@|$certificate|" \
        -e "s|@SCRATCH@|$scratch|" \
        "$1" >"$SCRATCH/$1"
}
fill fpm.conf "$user"
fill nginx.conf "$nginx_user"

ulimit -n "$(ulimit -H -n)" # open files: all that this user may have
"$fpm" --nodaemonize --fpm-config "$SCRATCH/fpm.conf" &
php=$!
nginx -e stderr -p "$SCRATCH" -c "$SCRATCH/nginx.conf" &
http=$!
trap 'kill $php $http 2>/dev/null; wait; exit 0' TERM INT

while kill -0 $php 2>/dev/null && kill -0 $http 2>/dev/null; do
    sleep 1 &
    wait $! || true
done
kill $php $http 2>/dev/null || true
exit 1
