#!/bin/sh
# Installs what is missing, as Debian packages, and nothing else:
#
#   scripts/setup.sh compiler   what cargo needs
#   scripts/setup.sh showdown   the same, and what the contenders of the showdown need
#   scripts/setup.sh test       the same, and what the tests need: a browser, a database, a terminal, a Slurm
#   scripts/setup.sh all        the same, and what all other contenders need that Debian has
#
# Needs apt-get, and root or a sudo that asks no password. Without them it says what to install and goes on: a contender
# whose toolchain is missing is shown as "not run". Only Rust is indispensable. No service is started, now or at boot.
set -eu

GO_MINIMUM=1.23   # contenders/go/*/go.mod
NODE_MINIMUM=18   # contenders/javascript/node, and the tools that build and test the report
POLICY=/usr/sbin/policy-rc.d

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:${HOME:-/root}/.cargo/bin" # daemons, and a Rust installed a minute ago
export PATH DEBIAN_FRONTEND=noninteractive

main() {
    case "${1:-}" in
    compiler | showdown | test | all) goal=$1 ;;
    *)
        echo "usage: scripts/setup.sh compiler | showdown | test | all" >&2
        exit 2
        ;;
    esac
    require_rust
    our_policy='' aside='' # what clean_up has to remove
    trap clean_up EXIT
    trap 'exit 130' INT TERM HUP
    packages=$(missing_packages "$goal")
    if [ -n "$packages" ]; then
        # shellcheck disable=SC2086 # a list of words
        if may_install; then install_packages $packages; else advise $packages; fi
    fi
    complain_about_old_versions
}

say() { echo "setup:" "$@" >&2; }

has() { command -v "$1" >/dev/null 2>&1; }

require_rust() {
    if has cargo && has rustc; then return; fi
    say "Rust is missing, and without it there is no assay. Install it with"
    say "    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
    say "or see https://rustup.rs, then try again."
    exit 1
}

# Debian's names of what is not on the PATH.
missing_packages() {
    has cc || echo gcc libc6-dev
    [ "$1" != compiler ] || return 0
    has nginx || echo nginx
    has apache2 || has httpd || echo apache2-bin
    has go || echo golang-go
    has node || echo nodejs
    has javac || echo default-jdk-headless
    has mvn || echo maven
    has npm || echo npm
    [ "$1" != showdown ] || return 0
    has_postgresql || echo postgresql
    has chromium || has chromium-browser || has google-chrome || echo chromium
    has curl || echo curl
    has ip || echo iproute2
    has wrk || echo wrk
    has h2load || echo nghttp2-client
    has nghttpd || echo nghttp2-server
    has tmux || echo tmux
    has sshd || echo openssh-server
    has ssh || echo openssh-client
    has_slurm || echo munge slurmctld slurmd slurm-client
    [ "$1" = all ] || return 0
    has h2o || echo h2o
    has lighttpd || echo lighttpd
    [ -e /usr/lib/lighttpd/mod_openssl.so ] || echo lighttpd-mod-openssl
    has haproxy || echo haproxy
    has caddy || echo caddy
    contenders/php/fpm/serve.sh --driver 2>/dev/null || echo php-fpm php-pgsql
    python3 -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
    [ -e /usr/include/uv.h ] || echo libuv1-dev
    [ -e /usr/include/http_parser.h ] || echo libhttp-parser-dev
}

# Debian keeps its programs out of the PATH, one folder per version.
has_postgresql() {
    has initdb && return
    for program in /usr/lib/postgresql/*/bin/initdb; do [ -x "$program" ] && return; done
    return 1
}

has_slurm() { has munged && has slurmctld && has slurmd && has srun; }

may_install() {
    has apt-get || return 1
    [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

advise() {
    say "cannot install by myself (that needs apt-get, and root or a sudo without password). Missing:"
    say "    apt-get install --no-install-recommends $*"
    say "Going on; what needs them is left out."
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n env DEBIAN_FRONTEND=noninteractive "$@"; fi
}

# Quiet when all is well; when not, everything apt-get had to say.
apt() {
    output=$(as_root apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@" 2>&1) &&
        return
    printf '%s\n' "$output" >&2
    return 1
}

install_packages() {
    keep_services_stopped
    say "reading the lists of packages"
    apt -o APT::Update::Error-Mode=any update ||
        say "apt-get update failed: no network, or a source in /etc/apt that is out of reach (see above)." \
            "Going on with what apt knows already."
    for package in "$@"; do
        say "installing $package"
        case $package in
        golang-go) install_go ;;
        php-fpm) apt install php-fpm && disable_php ;;
        nginx | h2o | lighttpd | postgresql) apt install "$package" && as_root update-rc.d "$package" disable ;;
        openssh-server) apt install openssh-server && as_root update-rc.d ssh disable ;;
        munge | slurmctld | slurmd) apt install "$package" && as_root update-rc.d "$package" disable ;;
        *) apt install "$package" ;;
        esac || say "$package could not be installed (see above); what needs it is left out."
    done
}

# Its service bears its version in its name.
disable_php() {
    for service in /etc/init.d/php*-fpm; do as_root update-rc.d "${service##*/}" disable; done
}

# Debian starts a service as soon as it is installed unless this policy forbids it (101). A policy that is
# there already is left alone; ours lives only as long as this script.
keep_services_stopped() {
    if [ -e "$POLICY" ]; then return; fi
    our_policy=yes
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$POLICY" >/dev/null
    as_root chmod 755 "$POLICY"
}

clean_up() {
    if [ -n "$our_policy" ]; then as_root rm -f "$POLICY"; fi
    if [ -n "$aside" ]; then as_root rm -rf "$aside"; fi
}

# Debian 12's own Go is too old; its backports have a newer one. They are read in a temporary copy of apt's sources, so
# that the machine's own list stays as it is.
install_go() {
    candidate=$(apt-cache policy golang-go | sed -n 's/^ *Candidate: \([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p')
    if at_least "${candidate:-0}" "$GO_MINIMUM"; then
        apt install golang-go
        return
    fi
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)-backports
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -e "$keyring" ] || return 1
    say "apt's Go is ${candidate:-absent}; looking for $GO_MINIMUM or newer in $suite"
    aside=$(mktemp -d)
    chmod 755 "$aside"
    mkdir -p "$aside/lists/partial"
    cp -R /etc/apt/sources.list.d "$aside/parts"
    if [ -e /etc/apt/sources.list ]; then cp /etc/apt/sources.list "$aside/parts/assay-main.list"; fi
    echo "deb [signed-by=$keyring] http://deb.debian.org/debian $suite main" >"$aside/parts/assay-backports.list"
    set -- -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$aside/parts" \
        -o "Dir::State::Lists=$aside/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    apt "$@" update && apt "$@" -t "$suite" install golang-go
}

# Is version $1 as new as $2?
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# The first dotted number that a command prints.
version_of() { "$@" 2>&1 | sed -n 's/^[^0-9]*\([0-9][0-9.]*\).*/\1/p' | head -n 1; }

complain_about_old_versions() {
    if has go && ! at_least "$(version_of go version)" "$GO_MINIMUM"; then
        say "the Go on your PATH is older than $GO_MINIMUM; the Go contenders need a newer one: https://go.dev/dl"
    fi
    if has node && ! at_least "$(version_of node --version)" "$NODE_MINIMUM"; then
        say "the Node.js on your PATH is older than $NODE_MINIMUM; a newer one: https://nodejs.org/en/download"
    fi
}

main "$@"
