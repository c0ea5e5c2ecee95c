#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `make lint` runs every check in turn and prints a line for each, with the check's findings. The
# Makefile has the packages installed before. Exit status 0, 1 when a check found something.

set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p build/cppcheck

broken=0
check()
{
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok    $name"
	else
		echo "FAIL  $name"
		printf "    %s\n" "${out//$'\n'/$'\n'    }"
		broken=1
	fi
}

# Style is left to clang-format and the compiler's own warnings; BPF programs to the kernel's
# verifier.
run_cppcheck()
{
	local dirs=()
	local bpf d
	for d in lib shared_defs nic_fw host_driver sim_harness dpdk_app tools tests; do
		[ -z "$(find "$d" -name '*.c' 2>/dev/null | head -n 1)" ] || dirs+=("$d")
	done
	[ "${#dirs[@]}" -gt 0 ] || return 0
	mapfile -t bpf < <(find "${dirs[@]}" -name '*.bpf.c' -printf '-i%p\n')
	cppcheck -q -j 2 --std=c11 --language=c --library=posix --platform=unix64 -I. \
		--cppcheck-build-dir=build/cppcheck --inline-suppr "${bpf[@]}" \
		--suppressions-list=tools/cppcheck.supp --enable=warning,performance,portability \
		--error-exitcode=1 --template='{file}:{line}: {severity} {id}: {message}' "${dirs[@]}"
}

run_shellcheck()
{
	local scripts
	mapfile -t scripts < <(find .ci tools tests dist -type f \( -name '*.sh' -o -path .ci/run \) 2>/dev/null)
	shellcheck -S warning "${scripts[@]}"
}

check 'include rules' tools/check_layers.sh
check 'floors of nic_fw' tools/check_floors.py
check 'tidy' tools/check_tidy.sh
check 'cppcheck' run_cppcheck
check 'shellcheck' run_shellcheck
check 'commit subjects' tools/check_commit.sh
exit "$broken"
