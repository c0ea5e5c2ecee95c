#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the Debian packages of dist/debian: dist/build_deb.sh FOLDER VERSION, in the root of the
# tree; `make deb` runs it. FOLDER gets a copy of the tree; its objects stay for the next time.
# Packages go into FOLDER/.., lintian's report into FOLDER/../lintian.
#
# Exit status 0, 1 when the build fails or lintian has something to say, 2 usage.

set -eu
[ $# -eq 2 ] || { echo 'build_deb.sh FOLDER VERSION' >&2; exit 2; }
folder=$1
version=$2
log=$folder/../build.log

mkdir -p "$folder"
find "$folder" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
rm -f "$folder"/../*.deb "$folder"/../*.changes "$folder"/../*.buildinfo "$folder/../built"
tar -c --exclude=./build --exclude=./.git . | tar -x -C "$folder"
cp -r dist/debian "$folder/debian"
sed -i "s/@VERSION@/$version/" "$folder/debian/changelog"

# shellcheck disable=SC2094 # the log is shown after the end
(cd "$folder" && dpkg-buildpackage -b -us -uc -nc) >"$log" 2>&1 || {
	grep -v '^  [A-Z]' "$log" | tail -n 40 >&2
	echo "build_deb.sh: dpkg-buildpackage failed; all of it is in $log" >&2
	exit 1
}
cd "$folder/.."
root=
[ "$(id -u)" -ne 0 ] || root=--allow-root
# shellcheck disable=SC2086 # one word or none
lintian $root --fail-on error,warning --tag-display-limit 0 ./*.changes >lintian 2>&1 || {
	cat lintian >&2
	echo 'build_deb.sh: lintian has something to say: mend it, or override it with the reason' >&2
	exit 1
}
touch built
ls -- *.deb
