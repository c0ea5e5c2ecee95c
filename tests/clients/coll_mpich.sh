#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The collectives of MPICH programs on the NIC by libweft-mpich.so: the same results as the same
# programs without it, over random calls, calls that take requests, Fortran; rules, counts, a
# stopped rank, no NIC, another MPI library. Nothing changes the machine's alternatives for mpicc.
# timeout: 600

# shellcheck disable=SC2154 # lib.sh has out and err
. tests/int/lib.sh
. tests/mpi/user_ops.sh

need mpiexec.mpich mpicc.mpich mpif90.mpich
preload=$PWD/build/lib/mpich/libweft-mpich.so
[ -e "$preload" ] || skip 'libmpich-dev is not installed'
for program in coll_random coll_requests coll_late; do
	mpicc.mpich -O1 -w -o "$WEFT_TMP/$program" tests/mpi/$program.c || die "$program does not compile"
done
mpif90.mpich -O1 -w -o "$WEFT_TMP/coll_fortran" tests/mpi/coll_fortran.f90 || die 'coll_fortran does not compile'
with=(mpiexec.mpich -genv LD_PRELOAD "$preload")
export WEFT_MPI_VERBOSE=1

weftd_start weftd --nics 3

# share NAME: the calls that ran on the NIC, and all
share()
{
	sed -nE 's/^weft-mpich: rank 0: all collectives: ([0-9]+) of ([0-9]+) calls.*/\1 \2/p' "$WEFT_TMP/$1.out"
}

# both NAME RANKS LEAST PROGRAM...: the program prints the same with the library, which takes over
# LEAST percent of its calls
both()
{
	local name=$1 ranks=$2 least=$3 taken all
	shift 3
	spawn "$name.plain" mpiexec.mpich -n "$ranks" "$@"
	expect_ok "$name.plain"
	spawn "$name" "${with[@]}" -n "$ranks" "$@"
	expect_ok "$name"
	grep -v '^weft-mpich' "$WEFT_TMP/$name.out" | cmp - "$WEFT_TMP/$name.plain.out" || die "$name: other results on the NIC"
	read -r taken all < <(share "$name")
	[ $((100 * ${taken:-0})) -gt $((least * ${all:-1})) ] || die "$name: $taken of $all calls ran on the NIC"
}

seed=${WEFT_SEED:-$RANDOM}
say "seed $seed"
for ranks in 2 4 ${WEFT_LONG:+3 8}; do
	for i in 1 2 3 4 ${WEFT_LONG:+5 6 7 8 9}; do
		both random$ranks.$i $ranks 10 "$WEFT_TMP/coll_random" $((seed + i)) 40 20000
	done
	both requests$ranks $ranks 50 "$WEFT_TMP/coll_requests"
	both fortran$ranks $ranks 50 "$WEFT_TMP/coll_fortran"
done
# Persistent forms, too, against MPICH's blocking ones. MPICH itself fails with some seeds: those say nothing.
mpicc.mpich -O1 -w -I. -o "$WEFT_TMP/coll_same" tests/mpi/coll_same*.c || die 'coll_same does not compile'
for ranks in 2 4 ${WEFT_LONG:+3 8}; do
	sound=0
	for i in 1 2 3 4 5 6 7 8; do
		timeout 60 mpiexec.mpich -n $ranks "$WEFT_TMP/coll_same" $((seed + i)) 20 20000 plain >"$WEFT_TMP/null" 2>&1 || continue
		spawn same$ranks.$i "${with[@]}" -n $ranks "$WEFT_TMP/coll_same" $((seed + i)) 20 20000 free
		expect_ok same$ranks.$i
		read -r taken all < <(share same$ranks.$i)
		[ "${taken:-0}" -gt $((all / 5)) ] && [ "$taken" -lt "$all" ] || die "$taken of $all calls ran on the NIC"
		sound=$((sound + 1))
		[ $sound -lt 2 ] || break
	done
	say "$ranks ranks: $sound seeds with persistent collectives"
	[ $sound -gt 0 ] || die "MPICH itself fails with all seeds from $seed on"
done

# Each rank starts its requests in another order.
mpicc.mpich -O1 -w -o "$WEFT_TMP/coll_order" tests/mpi/coll_order.c || die 'coll_order does not compile'
for ranks in 2 4; do
	spawn order$ranks "${with[@]}" -n $ranks "$WEFT_TMP/coll_order" 7
	expect_ok order$ranks
	[ "$(share order$ranks)" = '39 39' ] || die "not all persistent requests ran on the NIC: $(share order$ranks)"
done

# Neighbourhoods, against what MPI says: MPICH's own are wrong.
mpicc.mpich -O1 -o "$WEFT_TMP/coll_near" tests/mpi/coll_near.c || die 'coll_near does not compile'
for ranks in 2 3 4; do
	spawn near$ranks "${with[@]}" -n $ranks "$WEFT_TMP/coll_near" 8
	expect_ok near$ranks
	[ "$(share near$ranks)" = '320 480' ] || die "not all neighbourhoods ran on the NIC: $(share near$ranks)"
done
both threads 3 10 "$WEFT_TMP/coll_random" "$seed" 10 2000 threads
for i in 0 1 2; do expect_objects weft$i '0 0 0 0'; done

# A request that is freed while its collective is under way: MPICH itself refuses that.
spawn freed "${with[@]}" -n 3 "$WEFT_TMP/coll_requests" free
expect_ok freed

user_ops mpicc.mpich "${with[@]}"

# Communicators that the NIC does not serve: their calls are counted by reason.
mpicc.mpich -O1 -w -o "$WEFT_TMP/coll_comms" tests/mpi/coll_comms.c || die 'coll_comms does not compile'
for ranks in 2 4; do
	spawn left$ranks "${with[@]}" -n $ranks "$WEFT_TMP/coll_comms" left
	expect_ok left$ranks
	grep -qx 'called: inter 6, single 14, idup 7, large 3' "$WEFT_TMP/left$ranks.out" || die 'coll_comms calls other collectives'
	grep -q '^weft-mpich: rank 0: all.* inter 6, single 14, job 0, room 0, argument 0, idup 7, large 3$' "$WEFT_TMP/left$ranks.out" ||
		die "not all calls are counted by their communicator: $(grep ^weft-mpich "$WEFT_TMP/left$ranks.out")"
done
spawn alone "${with[@]}" -n 1 "$WEFT_TMP/coll_random" 1 3 100
expect_ok alone
grep -qE '^weft-mpich: rank 0: all collectives: 0 of [1-9].* single [1-9]' "$WEFT_TMP/alone.out" || die 'the calls of a job of one rank are not counted'
[ "$(ctl colls | wc -l)" -eq 1 ] || die 'weftctl colls lists processes that have ended'
spawn held "${with[@]}" -n 3 "$WEFT_TMP/coll_comms" hold "$WEFT_TMP/go"
says held '^called: own 7$'
ctl colls >"$WEFT_TMP/colls"
# NIC_CALLS and LEFT_CALLS: four are non-blocking, three are not.
[ "$(awk '$NF == "coll_comms" && $5 == 4 && $6 == 3 { n++ } END { print n }' "$WEFT_TMP/colls")" -eq 3 ] || die "weftctl colls: $(cat "$WEFT_TMP/colls")"
touch "$WEFT_TMP/go"
expect_ok held

# Rules turn it round: the blocking forms run on the NIC, also behind messages of MPICH.
# A file for Open MPI's component, which takes more collectives, serves as well.
for c in barrier bcast {,all}gather{,v} scatter{,v} alltoall{,v,w} {,all}reduce reduce_scatter{,_block} \
	{,ex}scan neighbor_{allgather{,v},alltoall{,v,w}}; do
	printf '%s: 2/100=previous, weft # small ones of two ranks\ni%s: previous\n' $c $c
done >"$WEFT_TMP/rules"
export WEFT_MPI_RULES=$WEFT_TMP/rules
both turned 4 10 "$WEFT_TMP/coll_random" "$seed" 40 20000
both behind 3 0 "$WEFT_TMP/coll_requests"
echo 'ibcast: 8=weft' >"$WEFT_TMP/bad"
spawn bad env WEFT_MPI_RULES="$WEFT_TMP/bad" "${with[@]}" -n 2 "$WEFT_TMP/coll_random" 1 3 100
expect_ok bad
grep -q 'bad, line 1 is none' "$WEFT_TMP/bad.err" || die 'rules that are none are taken'
[ -z "$(share bad)" ] || die 'the NIC is used without rules'
unset WEFT_MPI_RULES

# Ranks with different settings, and small limits.
spawn differ "${with[@]}" -n 1 "$WEFT_TMP/coll_random" 1 3 100 : -n 1 -env WEFT_MPI_MAX_BYTES 1000 "$WEFT_TMP/coll_random" 1 3 100
expect_ok differ
[ -z "$(share differ)" ] || die "ranks that differ use the NIC: $(share differ)"
spawn small env WEFT_MPI_MAX_BYTES=64 "${with[@]}" -n 2 "$WEFT_TMP/coll_random" "$seed" 40 20000
expect_ok small
grep -qE 'size [1-9]' "$WEFT_TMP/small.out" || die 'no call was too large'

# A rank that is stopped after it started its part keeps nobody waiting.
spawn late "${with[@]}" -n 3 "$WEFT_TMP/coll_late" stop "$WEFT_TMP/late"
wait_until 'the others are through' grep -q through "$WEFT_TMP/late.out"
kill -CONT "$(cat "$WEFT_TMP/late")"
expect_ok late

# weft-run: MPICH's messages go over the NICs, too.
if [ -x build/bin/weft-run ]; then
	spawn run build/bin/weft-run --mpi mpiexec.mpich -n 2 "$WEFT_TMP/coll_requests"
	expect_ok run
	[ -n "$(share run)" ] || die 'weft-run --mpi does not use the NIC'
	tool 2 build/bin/weft-run --mpi --sockets true
fi

# A program of Open MPI ends before its first call.
if command -v mpicc.openmpi >"$WEFT_TMP/null"; then
	mpicc.openmpi -o "$WEFT_TMP/other" tests/mpi/coll_random.c || die 'coll_random does not compile with Open MPI'
	LD_PRELOAD=$preload tool 2 "$WEFT_TMP/other"
	grep -q 'this program uses Open MPI' "$err" || die "$(cat "$err")"
fi
for i in 0 1 2; do expect_objects weft$i '0 0 0 0'; done
weftd_stop weftd

# Without a NIC programs run as they do without the library.
spawn none "${with[@]}" -n 2 "$WEFT_TMP/coll_random" 1 3 100
expect_ok none
[ -z "$(share none)" ] || die 'there is no NIC, and it is used'
