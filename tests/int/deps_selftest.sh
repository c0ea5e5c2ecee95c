#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tools/deps.sh beside a made-up dpkg: a package that is there, one that was never heard of, one that was
# removed, one of which only the configuration is left, and one of two architectures. It asks apt-get for just
# those that are not installed.

set -u
# A folder that an ordinary user reaches: the tree may lie where none does.
bin=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX") || exit 1
trap 'rm -rf "$bin"' EXIT
chmod 755 "$bin"
asked=$bin/asked

# dpkg-query -W -f '${db:Status-Status} ' PACKAGE: a word for each architecture that dpkg knows of.
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

# expect WORDS: what apt-get is asked to install
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

# As an ordinary user it says what to type, and installs nothing.
: >"$asked"
said=$(setpriv --reuid 65534 --clear-groups env PATH="$bin:$PATH" ASKED="$asked" sh -s lint <tools/deps.sh 2>&1)
if [ $? -ne 1 ] || ! grep -q 'apt-get install clang-format cppcheck git' <<<"$said" || [ -s "$asked" ]; then
	echo "as an ordinary user: '$said'"
	exit 1
fi
