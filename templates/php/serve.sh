#!/bin/sh
# Writes the settings of PHP-FPM and nginx for this run into $SCRATCH and runs both; when one ends, both end.
# `serve.sh --php-version` and `--nginx-version` print versions instead.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" # where servers are installed, and often no part of a user's PATH

fpm=
for candidate in php-fpm php-fpm8.4 php-fpm8.3 php-fpm8.2 php-fpm8.1 php-fpm8.0; do
    if command -v "$candidate" >/dev/null; then fpm=$candidate && break; fi
done
[ -n "$fpm" ] || { echo "serve.sh: php-fpm is not installed" >&2 && exit 1; }

case ${1:-} in
--php-version) exec "$fpm" -v ;;
--nginx-version) exec nginx -v ;;
esac

case $ADDRESS in
*:*) listen="[$ADDRESS]:$PORT" ;;
*) listen="$ADDRESS:$PORT" ;;
esac

# Neither serves as root; nobody's group has different names on different systems.
php_user= nginx_user=
cp server.php "$SCRATCH/server.php"
if [ "$(id -u)" = 0 ]; then
    group=$(id -gn nobody)
    php_user="user = nobody
group = $group
listen.owner = nobody
listen.group = $group"
    nginx_user="user nobody $group;"
    chmod a+x "$SCRATCH"
    chmod a+r "$SCRATCH/server.php"
fi

cat >"$SCRATCH/fpm.conf" <<FPM
[global]
error_log = /dev/stderr
daemonize = no

[www]
$php_user
listen = $SCRATCH/php.sock
listen.backlog = 4096
pm = static
pm.max_children = $((WORKERS * 16))
clear_env = no
FPM

cat >"$SCRATCH/nginx.conf" <<NGINX
$nginx_user
worker_processes $WORKERS;
daemon off;
pid "$SCRATCH/nginx.pid";
error_log stderr warn;

events {
    worker_connections 16384;
}

http {
    access_log off;
    keepalive_requests 1000000000;

    client_body_temp_path "$SCRATCH/client_body";
    proxy_temp_path "$SCRATCH/proxy";
    fastcgi_temp_path "$SCRATCH/fastcgi";
    uwsgi_temp_path "$SCRATCH/uwsgi";
    scgi_temp_path "$SCRATCH/scgi";

    server {
        listen $listen backlog=4096;

        location / {
            fastcgi_pass "unix:$SCRATCH/php.sock";
            fastcgi_param SCRIPT_FILENAME "$SCRATCH/server.php";
            fastcgi_param REQUEST_METHOD \$request_method;
            fastcgi_param QUERY_STRING \$query_string;
            fastcgi_param DOCUMENT_URI \$document_uri;
            fastcgi_param CONTENT_TYPE \$content_type;
            fastcgi_param CONTENT_LENGTH \$content_length;
        }
    }
}
NGINX

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
