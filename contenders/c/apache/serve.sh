#!/bin/sh
# Writes httpd.conf for this run into $SCRATCH and becomes httpd. `serve.sh -v` prints httpd's version instead. The template is
# that of the folder in which it is started: httpd as a proxy has one of its own.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" # where httpd is installed, and often no part of a user's PATH
modules="mpm_event unixd authz_core mime dir filter deflate"

fail() {
    echo "serve.sh: $1" >&2
    exit 1
}

# Debian calls the program apache2, everybody else httpd.
httpd=$(command -v apache2 || command -v httpd) || fail "neither apache2 nor httpd is installed"

if [ "${1:-}" = -v ]; then
    exec "$httpd" -v
fi

[ -z "${CERT:-}" ] || modules="$modules socache_shmcb ssl"
[ -z "${UPSTREAM:-}" ] || modules="$modules proxy proxy_http"

# Over HTTP/2, where that is to be spoken.
protocols=
case ${PROTOCOL:-} in
h2c | h2)
    modules="$modules http2"
    protocols="Protocols $PROTOCOL http/1.1"
    ;;
esac

for folder in /usr/lib/apache2/modules /usr/lib64/httpd/modules /usr/lib/httpd/modules /usr/local/apache2/modules; do
    [ -d "$folder" ] && break
done

# A module may be built in; only those that exist as a file are to be loaded.
load=
for module in $modules; do
    if [ -e "$folder/mod_$module.so" ]; then
        load="${load}LoadModule ${module}_module $folder/mod_$module.so\\
"
    fi
done

case $ADDRESS in
*:*) listen="[$ADDRESS]:$PORT" ;;
*) listen="$ADDRESS:$PORT" ;;
esac

# Started as root, httpd serves as nobody, who must be able to reach the files: hence a copy in the scratch folder
# (the checkout may lie in a private home) and the right to pass through that folder.
cp -R "$FILES" "$SCRATCH/htdocs"
user=
if [ "$(id -u)" = 0 ]; then
    user="User nobody\\
Group $(id -gn nobody)"
    chmod a+x "$SCRATCH"
    chmod -R a+rX "$SCRATCH/htdocs"
fi

# Over TLS, where a certificate is given.
tls=
if [ -n "${CERT:-}" ]; then
    tls="SSLEngine on\\
SSLProtocol -all +TLSv1.2 +TLSv1.3\\
SSLCertificateFile \"$CERT\"\\
SSLCertificateKeyFile \"$KEY\""
fi

# Each process has a single thread that waits for sockets: one process per CPU, but no fewer than four.
processes=$((WORKERS > 4 ? WORKERS : 4))

# As sed takes it literally.
scratch=$(printf '%s' "$SCRATCH" | sed 's/[|&\\]/\\&/g')
sed -e "s|@MODULES@|$load|" \
    -e "s|@USER@|$user|" \
    -e "s|@TLS@|$tls|" \
    -e "s|@PROTOCOLS@|$protocols|" \
    -e "s|@PROCESSES@|$processes|" \
    -e "s|@THREADS@|$((processes * 512))|" \
    -e "s|@LISTEN@|$listen|" \
    -e "s|@SCRATCH@|$scratch|" \
    -e "s|@UPSTREAM@|${UPSTREAM:-}|" \
    httpd.conf >"$SCRATCH/httpd.conf"

ulimit -n "$(ulimit -H -n)" # open files: all that this user may have
exec "$httpd" -f "$SCRATCH/httpd.conf" -D FOREGROUND
