#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# coll/weft under Open MPI: the same results as the components before it, of all forms and for random
# calls (tests/mpi/coll_same.c); threads; rules, also measured ones; counts; ranks that are stopped or killed; no NIC.
#
# WEFT_LONG=1: on 8 ranks, too, and with more calls (tests/clients/coll_ompi.sh).
# timeout: 300

. tests/int/lib.sh
. tests/mpi/user_ops.sh

need mpirun.openmpi mpicc.openmpi
component=$PWD/build/lib/openmpi
[ -e "$component/mca_coll_weft.so" ] || skip 'libopenmpi-dev is not installed'
for program in coll_same coll_late; do
	mpicc.openmpi -O1 -I. -o "$WEFT_TMP/$program" tests/mpi/$program*.c || die "$program does not compile"
done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mca_base_component_path=$component:SYSTEM_DEFAULT
export OMPI_MCA_coll_weft_verbose=1
# Messages go over shared memory. Open MPI 4.1.4's op/avx computes some integer types wrongly.
mpi=(mpirun.openmpi --oversubscribe --mca pml ob1 --mca btl 'self,vader' --mca btl_vader_single_copy_mechanism none --mca op ^avx)

weftd_start weftd --nics 3

# share NAME: the calls that ran on the NIC, and all
share()
{
	sed -nE 's/^coll_weft: rank 0: all collectives: ([0-9]+) of ([0-9]+) calls.*/\1 \2/p' "$WEFT_TMP/$1.out"
}

seed=${WEFT_SEED:-$RANDOM}
say "seed $seed"
for ranks in 2 4 ${WEFT_LONG:+8}; do
	spawn same$ranks "${mpi[@]}" -n $ranks "$WEFT_TMP/coll_same" "$seed" $((${WEFT_LONG:+20} + 20 / ranks)) 20000 free
	expect_ok same$ranks
	read -r taken all < <(share same$ranks)
	grep -q '^coll_weft: rank 0: all.*size 0, operation 1, type 1,' "$WEFT_TMP/same$ranks.out" ||
		die "not one call is handed on for its operation, and one for its type"
	# Blocking forms go on, non-blocking ones are taken but for types and operations.
	[ "${taken:-0}" -gt $((all / 5)) ] && [ "$taken" -lt "$all" ] || die "$taken of $all calls ran on the NIC"
done

# Calls that take requests, communicators of all kinds, more collectives at once than there are records.
mpicc.openmpi -O1 -o "$WEFT_TMP/coll_requests" tests/mpi/coll_requests.c || die 'coll_requests does not compile'
spawn requests "${mpi[@]}" -n 2 "$WEFT_TMP/coll_requests" free
expect_ok requests

# Persistent requests that each rank starts in another order; more than a communicator has room for.
mpicc.openmpi -O1 -o "$WEFT_TMP/coll_order" tests/mpi/coll_order.c || die 'coll_order does not compile'
for ranks in 2 4 ${WEFT_LONG:+8}; do
	spawn order$ranks "${mpi[@]}" -n $ranks "$WEFT_TMP/coll_order" 7
	expect_ok order$ranks
	[ "$(share order$ranks)" = '39 39' ] || die "not all persistent requests ran on the NIC: $(share order$ranks)"
done
spawn order_many "${mpi[@]}" -n 2 "$WEFT_TMP/coll_order" 40
expect_ok order_many
grep -q '^coll_weft: rank 0: all.*room 24$' "$WEFT_TMP/order_many.out" || die 'no 8 of 40 requests, three times, are handed on'

user_ops mpicc.openmpi "${mpi[@]}"

# With threads Open MPI waits in another way.
spawn threads "${mpi[@]}" -n 3 "$WEFT_TMP/coll_same" "$seed" 10 2000 threads
expect_ok threads

# Rules turn it round: the blocking forms run on the NIC. Open MPI 4.1.4's non-blocking ones, with which they are
# compared, fail for 2 seeds of 60 by themselves; not for this one.
for c in barrier bcast {,all}gather{,v} scatter{,v} alltoall{,v,w} {,all}reduce reduce_scatter{,_block} \
	{,ex}scan neighbor_{allgather{,v},alltoall{,v,w}}; do
	printf '%s: 2/100=previous, any=weft # small ones of two ranks\ni%s: previous\n' $c $c
done >"$WEFT_TMP/rules"
sed -i 's/, any=weft/, weft/' "$WEFT_TMP/rules"
spawn turned env OMPI_MCA_coll_weft_rules="$WEFT_TMP/rules" "${mpi[@]}" -n 3 "$WEFT_TMP/coll_same" 3 12 20000 turned
expect_ok turned
read -r taken all < <(share turned)
[ "${taken:-0}" -gt $((all / 5)) ] || die "$taken of $all calls ran on the NIC by rules"
echo 'ibcast: 8=weft' >"$WEFT_TMP/bad"
spawn bad env OMPI_MCA_coll_weft_rules="$WEFT_TMP/bad" "${mpi[@]}" -n 2 "$WEFT_TMP/coll_same" 1 3 100
expect_ok bad
grep -q 'bad, line 1 is none' "$WEFT_TMP/bad.err" || die 'rules that are none are taken'

# Rules by measurement: as many as there are collectives that it measures, and the component takes them.
tune=$PWD/build/bin/weft-coll-tune
finish_usage=0
"$tune" --sizes 8,7 2>"$WEFT_TMP/usage" || finish_usage=$?
[ "$finish_usage" -eq 2 ] && grep -q -- --sizes "$WEFT_TMP/usage" || die 'sizes that descend are taken'
spawn tune "${mpi[@]}" -n 2 "$tune" --rules "$WEFT_TMP/measured" --sizes 8 --iterations 1 --json
expect_ok tune
[ "$(grep -c ': .*\(weft\|previous\)$' "$WEFT_TMP/measured")" -eq 32 ] || die 'not 16 collectives in two forms have rules'
[ "$(grep -c '^{.*"weft_us": [0-9.]*, "previous_us": [0-9.]*}$' "$WEFT_TMP/tune.out")" -eq 32 ] || die 'not all is measured'
taken=$(share tune)
[ "${taken% *}" -gt 100 ] || die "the NIC was not measured: $taken"
spawn measured env OMPI_MCA_coll_weft_rules="$WEFT_TMP/measured" "${mpi[@]}" -n 2 "$WEFT_TMP/coll_same" 1 3 100
expect_ok measured
! grep -q 'is none' "$WEFT_TMP/measured.err" || die 'the component does not take measured rules'

# Ranks with different settings: nobody uses the NIC, and nobody waits.
spawn differ "${mpi[@]}" -n 1 "$WEFT_TMP/coll_same" 1 3 100 : -n 1 -x WEFT_GOAL_COLL=bcast:chain "$WEFT_TMP/coll_same" 1 3 100
expect_ok differ
[ -z "$(share differ)" ] || [ "$(share differ)" = '0 0' ] || die "ranks that differ use the NIC: $(share differ)"

for i in 0 1 2; do expect_objects weft$i '0 0 0 0'; done

# A rank that is stopped after it started its part keeps nobody waiting.
spawn late "${mpi[@]}" -n 3 "$WEFT_TMP/coll_late" stop "$WEFT_TMP/late"
wait_until 'the others are through' grep -q through "$WEFT_TMP/late.out"
kill -CONT "$(cat "$WEFT_TMP/late")"
expect_ok late

# A rank that is killed ends the collectives of the others with an error.
spawn killed "${mpi[@]}" --enable-recovery -n 3 "$WEFT_TMP/coll_late" kill none
finish killed
[ "$(grep -c 'the collective ended with an error' "$WEFT_TMP/killed.err")" -eq 2 ] || die 'not two ranks report the loss of the third'

for i in 0 1 2; do expect_objects weft$i '0 0 0 0'; done
weftd_stop weftd

# Without a NIC programs run as they do without the component.
spawn none "${mpi[@]}" -n 2 "$WEFT_TMP/coll_same" 1 3 100
expect_ok none
[ -z "$(share none)" ] || die 'there is no NIC, and it is used'
