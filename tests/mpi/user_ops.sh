#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The part of coll_ompi.sh and coll_mpich.sh that is about operations of the program's own, the
# same under either MPI library. Sourced after tests/int/lib.sh.

# user_ops COMPILER LAUNCHER...: the NIC's results are the function's; ranks that name different
# programs, none, or one that is no program, all get an error
user_ops()
{
	local mpicc=$1 n ranks other
	shift
	command -v clang >/dev/null || skip "clang is missing, which compiles programs for BPF"
	"$mpicc" -O1 -w -o "$WEFT_TMP/coll_user" tests/mpi/coll_user.c || die 'coll_user does not compile'
	"$mpicc" -O1 -o "$WEFT_TMP/mersenne_mpi" docs/examples/user-ops/mersenne_mpi.c || die 'the example does not compile'
	for n in mersenne sum; do
		clang -target bpf -O2 -mcpu=v2 -I. -c docs/examples/user-ops/$n.bpf.c -o "$WEFT_TMP/$n.o" || die "$n cannot be compiled"
	done
	for ranks in 2 3; do
		spawn user$ranks "$@" -n $ranks "$WEFT_TMP/coll_user" same "$WEFT_TMP/mersenne.o:mersenne"
		expect_ok user$ranks
	done
	for other in "$WEFT_TMP/sum.o:sum" - "$WEFT_TMP/none.o:mersenne" "$WEFT_TMP/mersenne.o"; do
		spawn differ.user "$@" -n 2 "$WEFT_TMP/coll_user" differ "$WEFT_TMP/mersenne.o:mersenne" "$other"
		expect_ok differ.user
		[ "$(grep -c 'info key weft=' "$WEFT_TMP/differ.user.err")" -eq 2 ] || die "not both ranks say that programs differ: $other"
	done
	spawn example "$@" -n 3 "$WEFT_TMP/mersenne_mpi" "$WEFT_TMP/mersenne.o"
	expect_ok example
	grep -q '^2305843009213693936 .* by the NIC$' "$WEFT_TMP/example.out" || die "the example: $(cat "$WEFT_TMP/example.out")"
}
