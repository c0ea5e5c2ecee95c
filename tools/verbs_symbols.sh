#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Lists the symbols that a stand-in for a shared library must export: every symbol of the real
# library with its version. Programs are bound to all of them when they start, whether they call
# them or not.
#
#	tools/verbs_symbols.sh map REAL_LIBRARY [FUNCTION...]		> the linker's version script
#	tools/verbs_symbols.sh fillers REAL_LIBRARY OBJECT...		> C source of those that OBJECTs lack
#	tools/verbs_symbols.sh table REAL_LIBRARY OBJECT...		> symbol, version, implemented or refusing (or data, silent)
#
# FUNCTIONs are weft's own, exported beside the private ones of the real library (WEFT_PRIVATE where
# it has none). A filler sets errno to EOPNOTSUPP and returns it where the real function returns an
# errno, NULL where it returns a pointer, else -1; it never reports success. Silent fillers are
# called by the constructors of vendors' libraries and have no result. Exit codes: 0, 1 failure, 2
# usage.

set -eu

usage()
{
	echo "usage: tools/verbs_symbols.sh map|fillers|table REAL_LIBRARY [FUNCTION|OBJECT...]" >&2
	exit 2
}

[ $# -ge 2 ] || usage
what=$1
real=$2
shift 2
[ -e "$real" ] || { echo "verbs_symbols.sh: $real is not there; install libibverbs1 and librdmacm1" >&2; exit 1; }

# name, version, "old" for one that only programs linked long ago use, "data" or "text", bytes in
# hex
exported()
{
	objdump -T "$real" | awk '
		$2 == "g" && ($4 == ".text" || $4 == ".bss" || $4 == ".data" || $4 == ".rodata" || $4 ~ /^\.data/) {
			version = $6
			old = version ~ /^\(/ ? "old" : "default"
			gsub(/[()]/, "", version)
			print $7, version, old, $4 == ".text" ? "text" : "data", $5
		}' | sort
}

# Functions that the objects define.
implemented()
{
	[ $# -eq 0 ] || nm --defined-only -g "$@" | awk 'NF == 3 && $2 == "T" { print $3 }' | sort -u
}

map()
{
	exported | awk -v ours="$*" '
		!seen[$2]++ { versions[++n] = $2 }
		$3 == "default" { names[$2] = names[$2] "\t\t" $1 ";\n" }
		END {
			count = split(ours, list, " ")
			for (i = 1; i <= n; i++) {
				v = versions[i]
				for (j = 1; j <= count && v ~ /PRIVATE/; j++)
					names[v] = names[v] "\t\t" list[j] ";\n"
				printf "%s {\n", v
				if (names[v] != "")
					printf "\tglobal:\n%s", names[v]
				if (i == 1)
					printf "\tlocal:\n\t\t*;\n"
				printf "};\n"
				private = private || v ~ /PRIVATE/
			}
			if (count && !private) {
				print "WEFT_PRIVATE {\n\tglobal:"
				for (j = 1; j <= count; j++)
					printf "\t\t%s;\n", list[j]
				print "};"
			}
		}'
}

fillers()
{
	have=$(implemented "$@" | tr '\n' ' ')
	cat <<-'END'
		/* Made by tools/verbs_symbols.sh: symbols of the real library that are refused. */
		#include <errno.h>
		#include <stdio.h>
		#include <stdlib.h>
		#define EXPORT __attribute__((visibility("default")))
		static void refuse(const char *name)
		{
			const char *debug = getenv("WEFT_VERBS_DEBUG");
			if (debug && *debug && *debug != '0')
				fprintf(stderr, "weft: %s is not served\n", name);
			errno = EOPNOTSUPP;
		}
	END
	exported | awk -v have="$have" '
		BEGIN { split(have, list, " "); for (i in list) is[list[i]] = 1 }
		# Functions whose callers expect a pointer.
		function pointer(name) {
			return name ~ /^ibv_(alloc|create|open|reg|import|get_device|get_sysfs|.*_str)/ ||
			       name ~ /^(rdma_create_event|rdma_event_str|rdma_get_devices|_verbs_init|verbs_open)/
		}
		# Callbacks of vendors, called by constructors, not by the program.
		function silent(name) {
			return name == "verbs_register_driver_34" || name == "ibv_register_driver" || name == "__verbs_log"
		}
		# Functions that return an errno: those of rdma-core that its providers call, and
		# most verbs.
		function number(name) {
			return name ~ /^(ibv_cmd_|execute_ioctl|ibv_(query_(device|port|qp|srq)|modify_|resize_|de(alloc|reg)_|destroy_|(at|de)tach_))/
		}
		function body(name) {
			if (silent(name))
				return "{\n}\n"
			return "{\n\trefuse(\"" name "\");\n\treturn " \
				(pointer(name) ? "NULL" : number(name) ? "EOPNOTSUPP" : "-1") ";\n}\n"
		}
		function type(name) {
			return silent(name) ? "void " : pointer(name) ? "void *" : "long "
		}
		$4 == "data" && !is[$1] { printf "EXPORT char %s[0x%s];\n", $1, $5; next }
		$3 == "old" {
			f = "old_" ++n "_" $1
			printf "__attribute__((used)) EXPORT %s%s(void);\n", type($1), f
			printf "%s%s(void)\n%s", type($1), f, body($1)
			printf "__asm__(\".symver %s, %s@%s\");\n", f, $1, $2
			next
		}
		!is[$1] { printf "EXPORT %s%s(void);\n%s%s(void)\n%s", type($1), $1, type($1), $1, body($1) }'
}

table()
{
	have=$(implemented "$@" | tr '\n' ' ')
	exported | awk -v have="$have" '
		BEGIN { split(have, list, " "); for (i in list) is[list[i]] = 1 }
		{
			state = $4 == "data" ? "data" : $3 == "old" || !is[$1] ? "refusing" : "implemented"
			if ($1 == "verbs_register_driver_34" || $1 == "ibv_register_driver" || $1 == "__verbs_log")
				state = "silent"
			count[state]++
			printf "%-36s %-20s %s\n", $1, $2, state
		}
		END { printf "%d implemented, %d refusing, %d silent, %d data\n", count["implemented"], count["refusing"], count["silent"], count["data"] }'
}

case $what in
map | fillers | table) "$what" "$@" ;;
*) usage ;;
esac
