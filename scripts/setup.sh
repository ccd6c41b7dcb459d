#!/bin/sh
# Installs what is missing, as Debian packages, and nothing else:
#
#   scripts/setup.sh compiler   what cargo needs
#   scripts/setup.sh showdown   the same, and what the contenders of the showdown need
#   scripts/setup.sh all        the same, and what all other contenders and generators need that Debian has, and a database
#   scripts/setup.sh test       what the showdown needs, and what the tests insist on: the database and generators, a browser, a
#                               terminal, an ssh server, a Slurm
#
# Needs apt-get, and root or a sudo that asks no password. Without them it says what to install and goes on: a contender
# whose toolchain is missing is shown as "not run". Only Rust is indispensable. No service is started, now or at boot, and none
# is touched that was there before.
set -eu
cd "$(dirname "$0")/.."

GO_MINIMUM=1.23   # contenders/go/*/go.mod
NODE_MINIMUM=18   # contenders/javascript/node, and the tools that build and test the report
# Tests have the parts of the machine that change in a folder of their own.
MACHINE=${ASSAY_SETUP_MACHINE:-}
POLICY=$MACHINE/usr/sbin/policy-rc.d
OUR_POLICY='# Made by scripts/setup.sh of assay.' # its second line

# Daemons, and a Rust installed a minute ago.
PATH="$PATH:$MACHINE/usr/local/sbin:$MACHINE/usr/sbin:$MACHINE/sbin:${HOME:-/root}/.cargo/bin"
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
    minimum=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    if ! has cargo || ! has rustc; then
        say "Rust is missing, and without it there is no assay. Install it with"
    else
        found=$(rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9.]*\).*/\1/p')
        if at_least "$found" "$minimum"; then return; fi
        say "Rust is too old: assay needs $minimum or newer, and rustc is ${found:-of no known version}. Install a newer one with"
    fi
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
    has wrk || echo wrk
    has h2load || echo nghttp2-client
    case $1 in
    test) missing_for_tests ;;
    all) missing_for_contenders ;;
    esac
}

missing_for_tests() {
    has chromium || has chromium-browser || has google-chrome || echo chromium
    has curl || echo curl
    has ip || echo iproute2
    has nghttpd || echo nghttp2-server
    has tmux || echo tmux
    has sshd || echo openssh-server
    has ssh || echo openssh-client
    has munged || echo munge
    has slurmctld || echo slurmctld
    has slurmd || echo slurmd
    has srun || echo slurm-client
    has podman || echo podman
}

missing_for_contenders() {
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
        before=$(starts_at_boot)
        case $package in
        golang-go) install_go ;;
        *) apt install "$package" ;;
        esac || say "$package could not be installed (see above); what needs it is left out."
        disable_all_but "$before"
    done
}

# What starts at boot, one a line: units of systemd, and init scripts by their links (init-d-script(5), update-rc.d(8)).
starts_at_boot() {
    if has systemctl; then
        systemctl list-unit-files --state=enabled --no-legend --no-pager 2>/dev/null | sed -n 's/^\([^ ]*\).*/unit \1/p'
    fi
    for link in "$MACHINE"/etc/rc[2345].d/S[0-9][0-9]*; do
        if [ -L "$link" ] || [ -e "$link" ]; then echo "script ${link##*/S[0-9][0-9]}"; fi
    done | sort -u
}

# Debian lets what it installs start at boot. What did so before is somebody's own, and stays.
disable_all_but() {
    starts_at_boot | grep -Fvx -e "$1" | while read -r kind name; do
        case $kind in
        unit) as_root systemctl disable "$name" ;;
        script) as_root update-rc.d "$name" disable ;;
        esac </dev/null >/dev/null 2>&1 || say "$name starts at boot from now on; disable it if you do not want that."
    done
}

# Debian starts a service as soon as it is installed unless this policy forbids it (101). A policy that is there already is left
# alone, unless it is ours, left by a setup that was killed. Ours forbids only as long as this very process lives.
keep_services_stopped() {
    if [ -e "$POLICY" ] && [ "$(sed -n 2p "$POLICY")" != "$OUR_POLICY" ]; then return; fi
    our_policy=yes
    as_root tee "$POLICY" >/dev/null <<END
#!/bin/sh
$OUR_POLICY
began=\$(sed 's/.*) //' /proc/$$/stat 2>/dev/null | cut -d ' ' -f 20) # proc_pid_stat(5)
if [ "\$began" = $(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20) ]; then exit 101; fi
END
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
