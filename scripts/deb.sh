#!/bin/sh
# Makes a Debian package of what `make install` installs:
#
#   scripts/deb.sh FOLDER VERSION     FOLDER/assay_VERSION_ARCHITECTURE.deb
#
# Needs dpkg-deb, dpkg-shlibdeps (Debian: dpkg-dev) and strip (binutils).
set -eu
cd "$(dirname "$0")/.."
folder=$1 version=$2

for tool in dpkg-deb dpkg-shlibdeps strip; do
    command -v "$tool" >/dev/null 2>&1 && continue
    echo "deb: $tool is missing: apt install dpkg-dev binutils" >&2
    exit 1
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
root=$work/debian/assay # where dpkg-shlibdeps expects it
doc=$root/usr/share/doc/assay
architecture=$(dpkg --print-architecture)

make --no-print-directory install DESTDIR="$root" PREFIX=/usr ZSH_FUNCTIONS=/usr/share/zsh/vendor-completions
strip --strip-unneeded "$root/usr/bin/assay" "$root/usr/lib/assay/libassay_preload.so"
gzip --best --no-name "$root/usr/share/man/man1/assay.1"
install -D -m 644 -t "$doc" README.md CHANGELOG.md
{
    echo 'MIT or Apache-2.0, as you like; the latter is in /usr/share/common-licenses/Apache-2.0.'
    echo
    cat LICENSE-MIT
} | install -D -m 644 /dev/stdin "$doc/copyright"

mkdir "$root/DEBIAN"
# Which packages have the shared libraries that it is linked with; the tool insists on a source package's file.
touch "$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O debian/assay/usr/bin/assay debian/assay/usr/lib/assay/libassay_preload.so)

cat >"$root/DEBIAN/control" <<CONTROL
Package: assay
Version: $version
Architecture: $architecture
Maintainer: The assay authors <assay@localhost>
Section: net
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: ${depends#shlibs:Depends=}
Description: a laboratory for web servers
 assay finds out how fast each of several web servers is, how sure that is,
 what limited it, how far it is from what the machine could do, and whether
 the difference to the next one is real.
CONTROL

mkdir -p "$folder"
dpkg-deb --root-owner-group --build "$root" "$folder/assay_${version}_$architecture.deb"
