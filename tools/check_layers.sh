#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the include rules of ARCHITECTURE.md, by grep: which folder may include which headers.
#
#	tools/check_layers.sh [DIR]	DIR: root of the tree (default: this one)
#
# Prints FILE:LINE: what is wrong. Exit status 0, 1 when a rule is broken, 2 usage.
# tests/int/lint_selftest.sh breaks each rule once to see it fail.

set -u
[ $# -le 1 ] || { echo "usage: check_layers.sh [DIR]" >&2; exit 2; }
cd "${1:-$(dirname "$0")/..}" || exit 2

broken=0
complain()
{
	echo "$1"
	broken=1
}

# includes FOLDER: "file:line:header" for each #include, <header> or "header"
includes()
{
	[ -d "$1" ] || return 0
	grep -rnE '^[[:space:]]*#[[:space:]]*include' "$1" --include='*.c' --include='*.h' |
		sed -E 's/^([^:]*:[0-9]*):[^<"]*([<"][^>"]*[>"]).*/\1:\2/'
}

# allow FOLDER REGEX WHY: every include of FOLDER matches REGEX
allow()
{
	local line
	while IFS= read -r line; do
		complain "${line%:*}: ${line##*:} is not for $1: $3"
	done < <(includes "$1" | grep -vE ":($2)\$")
}

# forbid FOLDER REGEX WHY: no include of FOLDER matches REGEX
forbid()
{
	local line
	while IFS= read -r line; do
		complain "${line%:*}: ${line##*:} is not for $1: $3"
	done < <(includes "$1" | grep -E ":($2)\$")
}

plain='<(assert|errno|limits|stdalign|stdatomic|stdbool|stddef|stdint|string)\.h>'
fw_face='"nic_fw/(fw|fw_port|fw_pace|base/crc32c|coll/goal_op)\.h"'

# The headers of lib/ that have no source: they add no symbol to a library that is installed.
inline_lib='"lib/(clock|crc32c|heap|prng)\.h"'

allow lib '<.*>|"(shared_defs|lib)/.*"' 'libc and shared_defs only'
forbid lib '<(rte_|bpf/|xdp/|jansson|libmnl/).*>' 'lib needs libc alone'
allow shared_defs "$plain|\"shared_defs/.*\"" 'libc only'
allow nic_fw "$plain|\"(shared_defs|nic_fw)/.*\"" \
	'the firmware knows shared_defs, and of the world nic_fw/fw_port.h'
allow host_driver "<.*>|\"(shared_defs|host_driver)/.*\"|$inline_lib" \
	'libc, shared_defs and what of lib/ is inline'
forbid host_driver '<(rte_|bpf/|xdp/|jansson).*>' 'the host driver needs libc alone'
# The component of Open MPI stands on libgoal's public headers and on what MPI libraries share.
allow host_driver/ompi '<.*>|"shared_defs/.*"|"host_driver/(ompi/cw|mpi/mc|goal/goal|goal/goal_coll)\.h"' \
	'the component of Open MPI knows host_driver/mpi, goal.h and goal_coll.h'
# host_driver/mpi knows no MPI library, and stands on libgoal.
if [ -d host_driver/mpi ]; then
	allow host_driver/mpi "<.*>|\"host_driver/(mpi/mc|goal/goal|goal/goal_coll)\.h\"|$inline_lib" \
		'what MPI libraries share knows goal.h, goal_coll.h and what of lib/ is inline'
	forbid host_driver/mpi '<(mpi|ompi|opal)[./].*>' 'it knows no MPI library'
	allow host_driver/mpich '<.*>|"host_driver/(mpi/mc|mpich/mw)\.h"' \
		"MPICH's side knows host_driver/mpi alone"
fi
# libgoal uses libweft, never the other way round.
while IFS= read -r line; do
	complain "${line%:*}: ${line##*:} is not for libweft: it does not know libgoal"
done < <(includes host_driver | grep -E '^host_driver/[^/]*:[0-9]*:"host_driver/goal/')
# The provider of libfabric stands on libweft and libgoal, and no other folder knows it.
if [ -d host_driver/fabric ]; then
	allow host_driver/fabric "<.*>|\"(shared_defs|host_driver/fabric)/.*\"|\"host_driver/(weft|weft_tag|goal/goal|goal/goal_coll)\.h\"|$inline_lib" \
		'libc, libfabric, libweft and libgoal by their public headers, and what of lib/ is inline'
fi
while IFS= read -r line; do
	complain "${line%:*}: ${line##*:} is not for other folders: the provider is called by libfabric alone"
done < <(includes host_driver | grep -E '"host_driver/fabric/' | grep -v '^host_driver/fabric/')
allow dpdk_app "<.*>|\"(lib|shared_defs|dpdk_app)/.*\"|$fw_face|\"[a-z0-9_]*\.skel\.h\"" \
	'of the firmware it sees fw.h, fw_port.h, fw_pace.h, crc32c.h and goal_op.h'
allow sim_harness "<.*>|\"(lib|shared_defs|host_driver|sim_harness)/.*\"|$fw_face" \
	'of the firmware it sees fw.h, fw_port.h, fw_pace.h, crc32c.h and goal_op.h'
forbid sim_harness '<(rte_|bpf/|xdp/).*>' 'the simulator builds without DPDK'
for d in tests tools; do
	allow "$d" '<.*>|"(lib|shared_defs|nic_fw|host_driver|dpdk_app|sim_harness|tests|tools)/.*"|"[a-z0-9_]*\.skel\.h"' \
		'includes are relative to the root'
done

# The installed headers include each other and no other header of weft.
for f in host_driver/weft{,_device,_mr,_cq,_qp,_atomic,_coalesce,_tag}.h; do
	[ -f "$f" ] || continue
	while IFS= read -r line; do
		complain "$f:${line%%:*}: the public header includes libc's headers only"
	done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$f" |
		grep -vE '"host_driver/weft(_device|_mr|_cq|_qp|_atomic|_coalesce|_tag)?\.h"')
done

# Functions that firmware must not call, whatever it includes. Comments may mention them.
words='malloc|calloc|realloc|free|alloca|[a-z]*printf|f?puts|perror|abort|exit|getenv'
words="$words|pthread_[a-z_]*|clock_gettime|gettimeofday|time|nanosleep|usleep|sleep"
words="$words|open|close|read|write|ioctl|mmap|munmap|socket"
if [ -d nic_fw ]; then
	while IFS= read -r f; do
		# A line "# N "FILE"" of the preprocessor resets the line number.
		while IFS= read -r line; do
			complain "$f:${line%%:*}: ${line#*:}: not in firmware; see nic_fw/fw_port.h"
		done < <(gcc -fpreprocessed -dD -E "$f" 2>/dev/null | awk -v words="^($words)\$" '
			/^# [0-9]+ "/ { n = $2 - 1; next }
			{
				n++
				if (/^[ \t]*#[ \t]*include/)
					next
				gsub(/"([^"\\]|\\.)*"/, "\"\"")
				rest = $0
				while (match(rest, /(->|\.)?[A-Za-z_][A-Za-z_0-9]*[ \t]*\(/)) {
					w = substr(rest, RSTART, RLENGTH)
					rest = substr(rest, RSTART + RLENGTH)
					sub(/[ \t]*\($/, "", w)
					if (w ~ words)
						print n ":" w "()"
				}
			}')
	done < <(find nic_fw -name '*.[ch]' | sort)
fi

exit "$broken"
