#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# coll/weft in whole jobs: loaded from ~/.openmpi/components; communicators that the NIC does not
# serve, whose calls are counted by reason; MPI_Comm_spawn(), MPI_Abort(), MPI-IO; weftctl colls.
# timeout: 300

# shellcheck disable=SC2154 # lib.sh has out and err
. tests/int/lib.sh

need mpirun.openmpi mpicc.openmpi
[ -e build/lib/openmpi/mca_coll_weft.so ] || skip 'libopenmpi-dev is not installed'
for program in coll_comms coll_io coll_same; do
	mpicc.openmpi -O1 -w -I. -o "$WEFT_TMP/$program" tests/mpi/$program*.c || die "$program does not compile"
done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_coll_weft_verbose=1
# The component's folder is the user's, and its libraries are where the linker finds them.
export HOME=$WEFT_TMP/home LD_LIBRARY_PATH=$PWD/build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
mkdir -p "$HOME/.openmpi/components"
cp build/lib/openmpi/mca_coll_weft.so "$HOME/.openmpi/components/"
# Messages go over shared memory, between jobs over TCP.
mpi=(mpirun.openmpi --oversubscribe --mca pml ob1 --mca btl 'self,vader,tcp' --mca btl_vader_single_copy_mechanism none
	--mca btl_tcp_if_include lo --mca op ^avx)

# count LINE WORD: the number behind WORD in a line of counts
count()
{
	sed -nE "s/.*\\b$2 ([0-9]+).*/\\1/p" <<<"$1"
}

# counted NAME WORD LESS: what rank 0 called of a kind is counted with that reason, less those that no
# component sees, and more by a few calls that Open MPI makes itself
counted()
{
	local line of seen
	line=$(grep '^coll_weft: rank 0: all collectives' "$WEFT_TMP/$1.out")
	of=$(($(count "$(grep '^called: ' "$WEFT_TMP/$1.out")" "$2") - $3))
	seen=$(count "$line" "$2")
	[ "$of" -gt 0 ] && [ "${seen:-0}" -ge "$of" ] && [ "$seen" -le $((of + 20)) ] ||
		die "$1: of $of collectives $seen are counted as '$2': $line"
}

# on_nic LINE: how many calls ran on the NIC
on_nic()
{
	sed -nE 's/.*all collectives: ([0-9]+) of .*/\1/p' <<<"$1"
}

weftd_start weftd --nics 3

spawn loaded "${mpi[@]}" -n 2 "$WEFT_TMP/coll_same" 7 5 1000
expect_ok loaded
[ "$(on_nic "$(cat "$WEFT_TMP/loaded.out")")" -gt 20 ] || die 'the component of ~/.openmpi/components is not used'

for ranks in 2 4; do
	spawn left$ranks "${mpi[@]}" -n $ranks "$WEFT_TMP/coll_comms" left
	expect_ok left$ranks
	counted left$ranks inter 0
	# MPI_Barrier() and MPI_Ibcast() of one rank end in Open MPI at once.
	counted left$ranks single 4
done
# A job of one rank has no use of the NIC, and says so.
spawn alone "${mpi[@]}" -n 1 "$WEFT_TMP/coll_same" 7 3 100
expect_ok alone
grep -qE '^coll_weft: rank 0: all collectives: 0 of [1-9].*, single [1-9]' "$WEFT_TMP/alone.out" || die 'the calls of a job of one rank are not counted'

# Two jobs, each with collectives of its own on the NIC, and those between them.
spawn spawned "${mpi[@]}" -n 2 "$WEFT_TMP/coll_comms" spawn
expect_ok spawned
[ "$(grep -c '^called: .* job 7, own 14$' "$WEFT_TMP/spawned.out")" -eq 2 ] || die 'not both jobs came to their end'
[ "$(grep -c '^coll_weft: rank 0: all' "$WEFT_TMP/spawned.out")" -eq 2 ] || die 'not both jobs count'
while read -r line; do
	# Four of the seven collectives are non-blocking, twice.
	[ "$(on_nic "$line")" -ge 8 ] || die "a job did not use the NIC: $line"
	[ "$(count "$line" inter)" -ge 6 ] && [ "$(count "$line" job)" -ge 7 ] || die "not all calls between jobs are counted: $line"
done < <(grep '^coll_weft: rank 0: all' "$WEFT_TMP/spawned.out")
# A job of one rank, without the NIC, and the one that it spawns, with it.
spawn spawned1 "${mpi[@]}" -n 1 "$WEFT_TMP/coll_comms" spawn
expect_ok spawned1
[ "$(grep -c '^called: ' "$WEFT_TMP/spawned1.out")" -eq 2 ] || die 'not both jobs came to their end'
[ "$(grep -cE '^coll_weft: rank 0: all collectives: (0|[89]|[1-9][0-9]+) of .*, single [0-9]+, job [1-9]' "$WEFT_TMP/spawned1.out")" -eq 2 ] ||
	die "a job of one rank and its child: $(grep ^coll_weft "$WEFT_TMP/spawned1.out")"
for i in 0 1 2; do expect_objects weft$i '0 0 0 0'; done

# Collectives under way when a rank gives up end with the job, within seconds, and leave nothing.
begin=$SECONDS
spawn aborted "${mpi[@]}" -n 3 "$WEFT_TMP/coll_comms" abort
finish aborted
[ "$status" -eq 5 ] || die "the job ended with exit status $status, not that of MPI_Abort"
[ $((SECONDS - begin)) -lt 30 ] || die "the job took $((SECONDS - begin)) s to end"
! grep -q 'without one of its ranks' "$WEFT_TMP/aborted.out" || die 'a collective ended without one of its ranks'
for i in 0 1 2; do expect_objects weft$i '0 0 0 0'; done

# The collectives inside MPI-IO, all on the NIC.
for ranks in 2 4; do
	for io in ompio romio321; do
		rm -f "$WEFT_TMP/file"
		spawn io$ranks.$io env OMPI_MCA_coll_weft_force=1 "${mpi[@]}" --mca io $io -n $ranks "$WEFT_TMP/coll_io" "$WEFT_TMP/file" 4
		expect_ok io$ranks.$io
		taken=$(on_nic "$(cat "$WEFT_TMP/io$ranks.$io.out")")
		[ "${taken:-0}" -ge 40 ] || die "$io: $taken collectives of MPI-IO ran on the NIC"
	done
done

# weftctl shows while the program runs what the line at its end says.
spawn held "${mpi[@]}" -n 3 "$WEFT_TMP/coll_comms" hold "$WEFT_TMP/go"
says held '^called: own 7$'
ctl colls >"$WEFT_TMP/colls"
cat "$WEFT_TMP/colls"
[ "$(awk '$NF == "coll_comms" { n++ } END { print n }' "$WEFT_TMP/colls")" -eq 3 ] || die 'weftctl colls does not list three ranks'
ctl colls weft0 --json >"$WEFT_TMP/colls.json"
python3 - "$WEFT_TMP/colls.json" <<'P' || die "weftctl colls --json: $(cat "$WEFT_TMP/colls.json")"
import json, sys
[row] = json.load(open(sys.argv[1]))
assert row["program"] == "coll_comms" and row["nic"] == "weft0" and row["pid"] > 1, row
# Four non-blocking ones with 4 B, 3 blocks of 4 B, 4 B and none; three blocking ones and those of MPI_Init.
assert row["nic_calls"] == 4 and row["nic_bytes"] == 4 + 12 + 4, row
assert row["left_calls"] >= 3 and row["left_bytes"] >= 12000 + 12, row
percent = 100 * row["nic_calls"] / (row["nic_calls"] + row["left_calls"])
assert abs(row["calls_percent"] - percent) < 0.1, row
P
touch "$WEFT_TMP/go"
expect_ok held
[ "$(on_nic "$(cat "$WEFT_TMP/held.out")")" -eq 4 ] || die 'the line at the end says something else than weftctl'
[ "$(ctl colls | wc -l)" -eq 1 ] || die 'weftctl colls lists processes that have ended'
weftd_stop weftd
