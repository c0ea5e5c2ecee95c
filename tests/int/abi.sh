#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# make abi: the stand-ins for libibverbs and librdmacm export every symbol of the real libraries.
# Each function that is listed as refusing fails with errno EOPNOTSUPP when it is called, and never
# returns 0.

. tests/int/lib.sh

[ -e build/lib/verbs/libibverbs.so.1 ] || skip 'libibverbs-dev is not installed'
real=/usr/lib/$(gcc -dumpmachine)

exported()
{
	objdump -T "$1" | awk '$2 == "g" && $4 != "*UND*" && $4 != "*ABS*" && $7 !~ /^weft_/ { print $6, $7 }' | sort
}

# An exported function that silently does nothing would be found nowhere else.
cat >"$WEFT_TMP/call.c" <<'C'
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef intptr_t (*function)(void *, void *, void *, void *, void *, void *);

/* LIBRARY; names and versions of functions from standard input, all of which are to refuse. */
int main(int argc, char **argv)
{
	void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	static char zero[4096];
	char name[100], version[100];
	int n = 0, wrong = 0;

	if (!lib)
		return fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "which library?"), 1;
	while (scanf("%99s %99s", name, version) == 2) {
		function f = (function)dlvsym(lib, name, version);
		intptr_t rc;

		errno = 0;
		n++;
		if (!f) {
			wrong++;
			printf("%s@%s is not there\n", name, version);
			continue;
		}
		rc = f(zero, zero, zero, zero, zero, zero);
		if (errno != EOPNOTSUPP ||
		    (rc != 0 && (int)rc != -1 && (int)rc != EOPNOTSUPP)) {
			wrong++;
			printf("%s@%s: returns %ld, errno %d\n", name, version, (long)rc, errno);
		}
		/* NULL where a pointer is asked for, and there alone */
		if (rc == 0 && !strstr(name, "alloc") && !strstr(name, "create") && !strstr(name, "open") &&
		    !strstr(name, "reg_") && !strstr(name, "import") && !strstr(name, "get_")) {
			wrong++;
			printf("%s@%s: 0 looks like success\n", name, version);
		}
	}
	printf("%d functions refuse\n", n - wrong);
	return wrong != 0;
}
C
gcc -std=gnu11 -D_GNU_SOURCE -Wall -Werror "$WEFT_TMP/call.c" -o "$WEFT_TMP/call" -ldl || die 'does not compile'

for lib in ibverbs rdmacm; do
	ours=build/lib/verbs/lib$lib.so.1
	[ -e "$ours" ] || continue
	diff <(exported "$real/lib$lib.so.1") <(exported "$ours") || die "lib$lib: the symbols are not those of the real library"
	folder=$([ $lib = ibverbs ] && echo verbs || echo rdmacm)
	tools/verbs_symbols.sh table "$real/lib$lib.so.1" build/obj/release/host_driver/"$folder"/*.o >"$WEFT_TMP/$lib.table" || die 'no table'
	tail -n 1 "$WEFT_TMP/$lib.table"
	awk '$3 == "refusing" { print $1, $2 }' "$WEFT_TMP/$lib.table" >"$WEFT_TMP/$lib.refusing"
	LD_LIBRARY_PATH=build/lib/verbs "$WEFT_TMP/call" "$ours" <"$WEFT_TMP/$lib.refusing" || die "lib$lib: not all that is listed as refusing refuses"
done
[ -s "$WEFT_TMP/ibverbs.refusing" ] || die 'nothing is listed as refusing'
