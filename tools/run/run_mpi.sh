#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `make run-mpi`: the MPI programs of tests/mpi on weft's NICs, under each MPI library that is installed, over UCX and
# over libfabric (ofi: weft's provider; rxm: libfabric's verbs;ofi_rxm; iwarp: the same on an iWARP device), and a table. Starts its own weftd: two NICs at the built-in switch, or two weftd with a NIC each that a
# memif or a veth joins; ranks take the NICs in turn. Exit status 0 only if every program found every byte right and
# the NICs carried the data.
#
#	run_mpi.sh [--quick] [--ranks "2 4"] [--wire switch|memif|veth] [--over "ucx ud ofi rxm iwarp"] [--libraries "openmpi mpich"]
#	           [--programs "p2p coll ..."]
#
# The Makefile and tests/clients/mpi.sh run it with WEFT_BIN (weftd, weftctl), WEFT_RUN (weft-run) and WEFT_MPI
# (one folder of programs per library).

set -u
cd "$(dirname "$0")/../.." || exit 1
WEFT_BIN=${WEFT_BIN:-$PWD/build/bin}
export WEFT_RUN=${WEFT_RUN:-$PWD/build/bin/weft-run}
WEFT_MPI=${WEFT_MPI:-$PWD/build/mpi}
all=("$@")
quick='' ranks='2 4' wire='switch' over='ucx ofi rxm' libraries='openmpi mpich' programs='p2p types coll graph reduce rma threads'
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 ;;
	--ranks | --wire | --over | --libraries | --programs)
		[ $# -ge 2 ] || { echo "run_mpi.sh: $1 needs a value" >&2; exit 2; }
		declare "${1#--}=${2//,/ }"
		shift
		;;
	*) echo "run_mpi.sh: unknown option '$1'; see its head" >&2; exit 2 ;;
	esac
	shift
done
case $wire in
switch | memif | veth) ;;
*) echo "run_mpi.sh: --wire is switch, memif or veth, not '$wire'" >&2; exit 2 ;;
esac
for word in $over; do
	case $word in
	ucx | ud | ofi | rxm | iwarp) ;;
	*) echo "run_mpi.sh: --over has the words ucx, ud (UCX over ud_verbs alone), ofi, rxm and iwarp, not '$word'" >&2; exit 2 ;;
	esac
done
for f in "$WEFT_BIN/weftd" "$WEFT_RUN"; do
	[ -x "$f" ] || { echo "run_mpi.sh: no $f; build it with make (weft-run needs libibverbs-dev)" >&2; exit 1; }
done

# A network namespace of its own: libfabric finds a NIC by its address on an interface, and a veth has to be made.
if [ -z "${WEFT_MPI_NETNS:-}" ]; then
	for how in '--net' '--net --map-root-user'; do
		# shellcheck disable=SC2086 # words
		if unshare $how true 2>/dev/null; then
			WEFT_MPI_NETNS=1 exec unshare $how "$0" ${all[@]+"${all[@]}"}
		fi
	done
	[ "$wire" != veth ] || { echo 'run_mpi.sh: no network namespace here, so no veth' >&2; exit 1; }
	[[ $over != *rxm* && $over != *iwarp* ]] || echo "  no network namespace here (unshare --net): libfabric's verbs are left out"
	over=${over//rxm/} over=${over//iwarp/}
fi

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
	until grep -qs '^weftd: ready' "$tmp/$name.log"; do
		if ! kill -0 "${daemons[-1]}" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then
			cat "$tmp/$name.log" >&2
			echo 'run_mpi.sh: weftd does not start' >&2
			exit 1
		fi
		sleep 0.05
	done
}

# The NICs' addresses on an interface that carries nothing.
addresses()
{
	local ip
	ip link set lo up || exit 1
	ip link add weftaddr type veth peer name weftaddr2 || exit 1
	for ip in "$@"; do
		ip addr add "$ip/24" dev weftaddr || exit 1
	done
	ip link set weftaddr up && ip link set weftaddr2 up || exit 1
}
ips=(10.77.0.1 10.77.0.2)
[ "$wire" = switch ] || ips=(10.78.0.1 10.78.0.2)
[ -z "${WEFT_MPI_NETNS:-}" ] || addresses "${ips[@]}"
case $wire in
switch)
	daemon lan --nics 2
	nics=("$tmp/lan:weft0" "$tmp/lan:weft1")
	;;
memif) ports=("memif:$tmp/wire.sock,server" "memif:$tmp/wire.sock") ;;
veth)
	ip link add weftva type veth peer name weftvb && ip link set weftva up && ip link set weftvb up || exit 1
	ports=(weftva weftvb)
	;;
esac
if [ "$wire" != switch ]; then
	daemon one --name one --port "${ports[0]}" --ip "${ips[0]}/24"
	daemon two --name two --port "${ports[1]}" --ip "${ips[1]}/24"
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

# MPICH's own way to share memory is turned off with NOLOCAL; Open MPI's pml ucx has no other than UCX's, mtl ofi none.
export FI_PROVIDER_PATH=${FI_PROVIDER_PATH:-$WEFT_BIN/../lib/libfabric}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MPIR_CVAR_NOLOCAL=1
launch()
{
	local library=$1 n=$3 more=()
	export WEFT_MPI_OVER=$2
	shift 3
	case $library.$WEFT_MPI_OVER in
	openmpi.ucx | openmpi.ud)
		mpirun.openmpi -n "$n" --oversubscribe --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any \
			--mca btl self --mca mtl ^ofi --mca osc ucx --mca mpi_yield_when_idle 1 tools/run/mpi_rank.sh "$@"
		;;
	openmpi.ofi)
		mpirun.openmpi -n "$n" --oversubscribe --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include weft \
			--mca btl self --mca osc pt2pt --mca mpi_yield_when_idle 1 tools/run/mpi_rank.sh "$@"
		;;
	openmpi.rxm | openmpi.iwarp)
		# The default for other numbers than powers of two sends synchronously, which iWARP devices hang in.
		[ "$WEFT_MPI_OVER" = rxm ] || more=(--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_barrier_algorithm 4)
		# ofi_rxm loses what MPI_Mrecv claims of its messages in segments.
		[ "${1##*/}" != p2p ] || export FI_OFI_RXM_SAR_LIMIT=0
		mpirun.openmpi -n "$n" --oversubscribe --mca pml cm --mca mtl ofi \
			--mca mtl_ofi_provider_include 'verbs;ofi_rxm' --mca btl self --mca osc pt2pt \
			--mca mpi_yield_when_idle 1 ${more[@]+"${more[@]}"} tools/run/mpi_rank.sh "$@"
		;;
	mpich.ucx | mpich.ud) mpirun.mpich -localhost 127.0.0.1 -n "$n" tools/run/mpi_rank.sh "$@" ;;
	esac
}

# Sizes, by what they cost; tests/mpi/README.md has the reasons for what a library is spared.
arguments()
{
	local library=$1 over=$2 program=$3 bytes=67108864
	[ "$program" = p2p ] || bytes=4194304
	[ -z "$quick" ] || bytes=200000
	[ "$library $program" != 'mpich types' ] || bytes=8000
	echo "--timeout 300 --max-bytes $bytes ${quick:+--quick}"
	[ "$program" = p2p ] || [ -n "$quick" ] || echo --quick
	case $library.$over.$program in
	openmpi.u*.rma) echo --flush-requests ;;
	openmpi.iwarp.p2p) echo --issend ;;
	esac
}

row()
{
	printf '  %-14s %-9s %-8s %5s  %-8s %9s %8s %7s\n' "$@"
}

declare -A name=([openmpi]='Open MPI' [mpich]=MPICH [ucx]=UCX [ud]='UCX, UD' [ofi]=libfabric [rxm]='lf, rxm' [iwarp]='lf, iWARP')
right=0 wrong=0
one()
{
	local library=$1 over=$2 program=$3 n=$4 before start rc text=right compared
	before=$(carried)
	start=$SECONDS
	# shellcheck disable=SC2046 # words
	launch "$library" "$over" "$n" "$WEFT_MPI/$library/$program" $(arguments "$library" "$over" "$program") \
		>"$tmp/out" 2>&1 </dev/null &
	job=$!
	wait "$job"
	rc=$?
	job=
	before=$(($(carried) - before))
	compared=$(sed -n "s/^$program: ok, $n ranks, \([0-9]*\) buffers compared$/\1/p" "$tmp/out")
	[ "$rc" -eq 0 ] && [ -n "$compared" ] || text=FAILED
	[ "$text" = FAILED ] || [ "$before" -ge 10000 ] || text='NOT WEFT'
	row "${name[$library]}" "${name[$over]}" "$program" "$n" "$text" "${compared:--}" $((before / 1000000)) \
		$((SECONDS - start))
	if [ "$text" = right ]; then
		right=$((right + 1))
		return
	fi
	wrong=$((wrong + 1))
	sed 's/^/    /' "$tmp/out" | tail -n 20
	echo "    again: tools/run/run_mpi.sh ${quick:+--quick }--wire $wire --libraries $library --over $over" \
		"--programs $program --ranks $n"
}

case $wire in
switch) echo "The programs of tests/mpi on two NICs at weftd's switch; every byte that arrives is compared:" ;;
*) echo "The programs of tests/mpi on the NICs of two weftd that a $wire joins; every byte that arrives is compared:" ;;
esac
row library over program ranks result compared 'weft MB' seconds
found=0
for library in $libraries; do
	command -v "mpirun.$library" >/dev/null && [ -d "$WEFT_MPI/$library" ] || continue
	found=1
	for stack in $over; do
		# Debian's MPICH has UCX alone.
		[[ $library != mpich || $stack = u* ]] || continue
		for n in $ranks; do
			for program in $programs; do
				one "$library" "$stack" "$program" "$n"
			done
		done
	done
done
[ "$found" -eq 1 ] || { echo 'run_mpi.sh: neither Open MPI nor MPICH is here (tools/deps.sh mpi)' >&2; exit 1; }
echo "  $right right, $wrong failed"
[ "$wrong" -eq 0 ] && [ "$right" -gt 0 ] || exit 1
