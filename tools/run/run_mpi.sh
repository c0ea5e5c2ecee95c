#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `make run-mpi`: the MPI programs of tests/mpi on weft's NICs, under each MPI library that is installed, and a table.
# Starts its own weftd: two NICs at the built-in switch, or two weftd with a NIC each that a memif joins; ranks take
# the NICs in turn. Exit status 0 only if every program found every byte right and the NICs carried the data.
#
#	run_mpi.sh [--quick] [--ranks "2 4"] [--wire switch|memif] [--programs p2p,coll,...]
#
# Called by the Makefile and tests/clients/mpi.sh with WEFT_BIN (weftd, weftctl), WEFT_RUN (weft-run) and WEFT_MPI
# (one folder of programs per library).

set -u
cd "$(dirname "$0")/../.." || exit 1
WEFT_BIN=${WEFT_BIN:-$PWD/build/bin}
export WEFT_RUN=${WEFT_RUN:-$PWD/build/bin/weft-run}
WEFT_MPI=${WEFT_MPI:-$PWD/build/mpi}
quick='' ranks='2 4' wire='switch' programs='p2p types coll reduce rma threads'
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 ;;
	--ranks | --wire | --programs)
		[ $# -ge 2 ] || { echo "run_mpi.sh: $1 needs a value" >&2; exit 2; }
		declare "${1#--}=$2"
		shift
		;;
	*) echo "run_mpi.sh: unknown option '$1'; see its head" >&2; exit 2 ;;
	esac
	shift
done
case $wire in
switch | memif) ;;
*) echo "run_mpi.sh: --wire is switch or memif, not '$wire'" >&2; exit 2 ;;
esac
for f in "$WEFT_BIN/weftd" "$WEFT_RUN"; do
	[ -x "$f" ] || { echo "run_mpi.sh: no $f; build it with make (weft-run needs libibverbs-dev)" >&2; exit 1; }
done

tmp=$(mktemp -d "${TMPDIR:-/tmp}/weft-mpi.XXXXXX") || exit 1
daemons=()
job=
clean_up()
{
	[ -z "$job" ] || kill -TERM "$job" 2>/dev/null
	[ "${#daemons[@]}" -eq 0 ] || kill -TERM "${daemons[@]}" 2>/dev/null
	wait
	rm -rf "$tmp"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# daemon NAME OPTION...: a weftd with the run directory $tmp/NAME, ready
daemon()
{
	local name=$1 end=$((SECONDS + 60))
	shift
	mkdir -p "$tmp/$name"
	"$WEFT_BIN/weftd" --run-dir "$tmp/$name" "$@" >"$tmp/$name.log" 2>&1 </dev/null &
	daemons+=($!)
	until grep -q '^weftd: ready' "$tmp/$name.log"; do
		if ! kill -0 "${daemons[-1]}" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then
			cat "$tmp/$name.log" >&2
			echo 'run_mpi.sh: weftd does not start' >&2
			exit 1
		fi
		sleep 0.05
	done
}
if [ "$wire" = switch ]; then
	daemon lan --nics 2
	nics=("$tmp/lan:weft0" "$tmp/lan:weft1")
else
	daemon one --name one --port "memif:$tmp/wire.sock,server" --ip 10.78.0.1/24
	daemon two --name two --port "memif:$tmp/wire.sock" --ip 10.78.0.2/24
	nics=("$tmp/one:one0" "$tmp/two:two0")
fi
export WEFT_MPI_NICS="${nics[*]}"

# Bytes that both NICs received from the other one.
carried()
{
	local nic sum=0 bytes
	for nic in "${nics[@]}"; do
		bytes=$("$WEFT_BIN/weftctl" --run-dir "${nic%:*}" stats "${nic##*:}" | awk '$1 == "rx_bytes:" { print $2 }')
		sum=$((sum + ${bytes:-0}))
	done
	echo "$sum"
}

# MPICH's own way to share memory is turned off with NOLOCAL; Open MPI's pml ucx has no other than UCX's.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MPIR_CVAR_NOLOCAL=1
launch()
{
	local library=$1 n=$2
	shift 2
	case $library in
	openmpi)
		mpirun.openmpi -n "$n" --oversubscribe --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any \
			--mca btl self --mca mtl ^ofi --mca osc ucx --mca mpi_yield_when_idle 1 tools/run/mpi_rank.sh "$@"
		;;
	mpich) mpirun.mpich -n "$n" tools/run/mpi_rank.sh "$@" ;;
	esac
}

# Sizes, by what they cost; tests/mpi/README.md has the reasons for what a library is spared.
arguments()
{
	local bytes=67108864
	[ "$2" = p2p ] || bytes=4194304
	[ -z "$quick" ] || bytes=200000
	[ "$1 $2" != 'mpich types' ] || bytes=8000
	echo "--timeout 300 --max-bytes $bytes ${quick:+--quick}"
	[ "$2" = p2p ] || [ -n "$quick" ] || echo --quick
	[ "$1 $2" != 'openmpi rma' ] || echo --flush-requests
}

wrong=0
printf '  %-10s %-8s %5s  %-8s %s\n' library program ranks result 'over weft'
one()
{
	local library=$1 program=$2 n=$3 before start rc text=right
	before=$(carried)
	start=$SECONDS
	# shellcheck disable=SC2046 # words
	launch "$library" "$n" "$WEFT_MPI/$library/$program" $(arguments "$library" "$program") >"$tmp/out" 2>&1 </dev/null &
	job=$!
	wait "$job"
	rc=$?
	job=
	before=$(($(carried) - before))
	[ "$rc" -eq 0 ] && grep -q "^$program: ok, $n ranks" "$tmp/out" || text=FAILED
	[ "$before" -ge 10000 ] || text='NOT WEFT'
	printf '  %-10s %-8s %5d  %-8s %d MB in %d s\n' "$library" "$program" "$n" "$text" $((before / 1000000)) $((SECONDS - start))
	if [ "$text" != right ]; then
		sed 's/^/    /' "$tmp/out" | tail -n 20
		wrong=$((wrong + 1))
	fi
}

found=0
for library in openmpi mpich; do
	command -v "mpirun.$library" >/dev/null && [ -d "$WEFT_MPI/$library" ] || continue
	found=1
	for n in $ranks; do
		for program in ${programs//,/ }; do
			if [ "$library $program" = 'openmpi threads' ] && [ "$n" -gt 2 ]; then
				printf '  %-10s %-8s %5d  %-8s %s\n' "$library" "$program" "$n" 'not run' 'tests/mpi/README.md says why'
				continue
			fi
			one "$library" "$program" "$n"
		done
	done
done
[ "$found" -eq 1 ] || { echo 'run_mpi.sh: neither Open MPI nor MPICH is here (tools/deps.sh mpi)' >&2; exit 1; }
[ "$wrong" -eq 0 ] || { echo "run_mpi.sh: $wrong of them failed" >&2; exit 1; }
echo '  every byte was right'
