#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs tools/deps.sh with a fake dpkg: a package that is installed, an unknown one, a removed one,
# one with only its configuration left, and one of two architectures. It passes to apt-get just the
# packages that are not installed.

set -u
# An ordinary user must reach this folder, which the tree itself need not allow.
bin=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX") || exit 1
trap 'rm -rf "$bin"' EXIT
chmod 755 "$bin"
asked=$bin/asked

# Fake dpkg-query -W -f '${db:Status-Status} ' PACKAGE: prints a word for each architecture that
# dpkg knows.
cat >"$bin/dpkg-query" <<'EOF'
#!/bin/sh
for package; do :; done
case $package in
git) printf 'not-installed ' ;;
cppcheck) printf 'config-files ' ;;
clang-format) printf 'half-installed ' ;;
shellcheck) ${FOREIGN:-false} && printf 'not-installed '; printf 'installed ' ;;
*) exit 1 ;;
esac
EOF
cat >"$bin/apt-get" <<'EOF'
#!/bin/sh
echo "$*" >>"$ASKED"
EOF
chmod 755 "$bin"/*

# expect WORDS: checks the packages passed to apt-get
expect()
{
	local got
	: >"$asked"
	PATH=$bin:$PATH ASKED=$asked tools/deps.sh lint >"$WEFT_TMP/out" 2>&1 || {
		echo "deps.sh ended with exit status $?:"
		cat "$WEFT_TMP/out"
		exit 1
	}
	got=$(sed -n 's/^install .*DPkg::Lock::Timeout=[0-9]* //p' "$asked")
	[ "$got" = "$1" ] || {
		echo "apt-get was asked for '$got', not '$1'"
		exit 1
	}
}

expect 'clang-format cppcheck git'
FOREIGN=true expect 'clang-format cppcheck git'

# Unit tests need no package that only integration tests need.
: >"$asked"
PATH=$bin:$PATH ASKED=$asked tools/deps.sh unit >"$WEFT_TMP/out" 2>&1
if ! grep -q ' libcunit1-dev ' "$asked" || grep -qE ' (ethtool|perftest|tshark|valgrind)( |$)' "$asked"; then
	echo "unit: apt-get was asked for '$(cat "$asked")'"
	exit 1
fi

# For an ordinary user it prints the command to type and installs nothing.
: >"$asked"
said=$(setpriv --reuid 65534 --clear-groups env PATH="$bin:$PATH" ASKED="$asked" sh -s lint <tools/deps.sh 2>&1)
if [ $? -ne 1 ] || ! grep -q 'apt-get install clang-format cppcheck git' <<<"$said" || [ -s "$asked" ]; then
	echo "as an ordinary user: '$said'"
	exit 1
fi
