#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a program of libibverbs on weft's NICs: puts weft's libraries before the system's libraries
# of the same name. With --sockets runs a program of TCP or UDP sockets, with --libfabric one of
# libfabric, with --mpi the collectives of an MPICH program.
#
#	weft-run [--device NAME] [--transport iwarp|ib] [--llp tcp|rd] [--run-dir DIR]
#	         [--sockets | --libfabric | --mpi] [--] PROGRAM [ARGUMENT...]
#
# mpirun, mpiexec, srun and ranks that they start get the settings of Open MPI, MPICH and UCX for the NIC,
# unless the user has set them. Open MPI is shown the folder with mca_coll_weft.so.
#
# The program keeps its process, its arguments and its exit code. weft-run changes only
# LD_LIBRARY_PATH, WEFT_VERBS_DEVICE, WEFT_VERBS_TRANSPORT, WEFT_LLP, WEFT_RUN_DIR and, with
# --transport ib, LD_PRELOAD (libweft-preload.so: the device's node) or with --sockets
# (libweft-sockets.so: socket calls) or --mpi (libweft-mpich.so: MPI calls); with --libfabric
# FI_PROVIDER, FI_PROVIDER_PATH, WEFT_DEVICE and WEFT_RUN_DIR alone. LD_PRELOAD of the libraries
# themselves has the same effect.
# Exit codes: the program's; 1 no NIC or no library; 2 usage; 127 no such program. The Makefile puts
# the way from this file to the libraries in the place of LIBS.

set -eu

usage()
{
	cat <<-END
		Usage: weft-run [OPTION...] PROGRAM [ARGUMENT...]

		Runs a program that uses libibverbs, librdmacm or, with --sockets, sockets or, with
		--libfabric, libfabric on the NICs of a weftd, without rebuilding it.

		  --device NAME          shows the program this NIC alone (default: all)
		  --transport iwarp|ib   the device shows itself as an iWARP NIC (default), or as a RoCE
		                         one (default of MPI), to programs that want that (perftest's
		                         ib_send_bw without -R)
		  --llp tcp|rd           what carries the connections of rdma_cm (RDMA_PS_TCP): iWARP as standardised,
		                         over TCP, as any iWARP device speaks it; or weft's reliable datagrams
		                         (default: WEFT_LLP, else tcp with --transport iwarp, rd with ib)
		  --sockets              gives the program's TCP and UDP sockets the NIC, for addresses of the NIC's
		                         network; both ends need it (host_driver/sockets/README.md)
		  --libfabric            gives a program of libfabric the provider weft and no other, and says so;
		                         MPI programs, too (Open MPI: mtl ofi): the NIC matches their messages
		  --mpi                  lets the NIC carry out the collectives of MPICH programs (docs/mpich.md);
		                         Open MPI's go there without it
		  --run-dir DIR          where weftd's sockets are (default: WEFT_RUN_DIR, /run/weft)
		  --help                 this text

		mpirun, mpiexec, srun and the ranks of an MPI job are made to use the NIC: Open MPI by UCX (pml and
		osc) and, for collectives, coll/weft; MPICH between all ranks. Variables that are set already
		(OMPI_MCA_pml, UCX_TLS ...) and --mca on the command line of mpirun stay as they are.

		Examples: weft-run --device weft0 ibv_rc_pingpong localhost
		          weft-run mpirun -n 4 ./program
		          weft-run --mpi mpiexec.mpich -n 4 ./program
		          weft-run --device weft1 --sockets iperf3 -s
		          weft-run --libfabric mpirun -n 4 ./program
	END
}

wrong()
{
	echo "weft-run: $1; weft-run --help says more" >&2
	exit 2
}

device=
transport=
llp=${WEFT_LLP:-}
run_dir=${WEFT_RUN_DIR:-/run/weft}
sockets=
libfabric=
mpich=
while [ $# -gt 0 ]; do
	case $1 in
	--device | --transport | --llp | --run-dir) [ $# -ge 2 ] || wrong "$1 needs a value" ;;
	esac
	case $1 in
	--device) device=$2 && shift ;;
	--device=*) device=${1#*=} ;;
	--transport) transport=$2 && shift ;;
	--transport=*) transport=${1#*=} ;;
	--llp) llp=$2 && shift ;;
	--llp=*) llp=${1#*=} ;;
	--run-dir) run_dir=$2 && shift ;;
	--run-dir=*) run_dir=${1#*=} ;;
	--sockets) sockets=1 ;;
	--libfabric) libfabric=1 ;;
	--mpi) mpich=1 ;;
	--help | -h) usage && exit 0 ;;
	--) shift && break ;;
	-*) wrong "unknown option '$1'" ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || wrong "no program given"
[ "$sockets$libfabric$mpich" = 1 ] || [ -z "$sockets$libfabric$mpich" ] ||
	wrong "--sockets, --libfabric and --mpi exclude each other"

# True for an MPI launcher, or a rank that one has started.
mpi=${OMPI_COMM_WORLD_RANK:+rank}
[ -z "${PMI_RANK:-}${PMIX_RANK:-}" ] || mpi=rank
case ${1##*/} in
mpirun | mpirun.* | mpiexec | mpiexec.* | orterun | srun) mpi=launcher ;;
esac
[ -z "$sockets" ] || mpi=
[ -z "$mpich" ] || mpi=${mpi:-rank}
# UCX uses RoCE devices only.
[ -n "$transport" ] || { [ -n "$mpi" ] && transport=ib; } || transport=iwarp
case $transport in
iwarp | ib) ;;
*) wrong "--transport is iwarp or ib, not '$transport'" ;;
esac

case $llp in
'' | tcp | rd) ;;
*) wrong "--llp is tcp or rd, not '$llp'" ;;
esac

here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
libs=
dir=$here/@LIBS@/verbs
[ ! -e "$dir/libibverbs.so.1" ] || libs=$(cd "$dir" && pwd)
if [ -z "$libs" ] && [ -z "$libfabric" ]; then
	echo "weft-run: weft's libibverbs.so.1 is not beside $here; it is built where libibverbs-dev is installed" >&2
	exit 1
fi
if [ -d "$run_dir" ] && ! { [ -r "$run_dir" ] && [ -x "$run_dir" ]; }; then
	echo "weft-run: $run_dir: permission denied; be root, or in the group weft" >&2
	exit 1
fi
found=
for socket in "$run_dir"/*; do
	[ -S "$socket" ] && found=1 && break
done
if [ -z "$found" ]; then
	echo "weft-run: no NIC in $run_dir; start weftd, or give the directory with --run-dir" >&2
	exit 1
fi
if [ -n "$device" ] && [ ! -S "$run_dir/$device" ]; then
	echo "weft-run: no NIC '$device' in $run_dir; 'weftctl list' shows those that are there" >&2
	exit 1
fi

if ! command -v "$1" >/dev/null 2>&1; then
	echo "weft-run: there is no program '$1', or it cannot be executed" >&2
	exit 127
fi

# default NAME VALUE: sets a variable unless the user has set it
default()
{
	eval "export $1=\"\${$1-\$2}\""
}

# The provider is beside the tree's programs; an installed one is where libfabric looks.
if [ -n "$libfabric" ]; then
	for dir in "$here/@LIBS@/libfabric" "$here/@LIBS@/../libfabric"; do
		[ -e "$dir/libweft-fi.so" ] || continue
		default FI_PROVIDER_PATH "$(cd "$dir" && pwd)"
		break
	done
	export FI_PROVIDER=weft WEFT_RUN_DIR="$run_dir"
	[ -z "$device" ] || export WEFT_DEVICE="$device"
	if [ -n "$mpi" ]; then
		default OMPI_MCA_pml cm
		default OMPI_MCA_mtl ofi
		default OMPI_MCA_mtl_ofi_provider_include weft
		# Ranks of one machine would use its shared memory instead.
		default OMPI_MCA_btl self
		default I_MPI_FABRICS ofi
		default MPIR_CVAR_NOLOCAL 1
	fi
	[ "$mpi" = rank ] || echo "weft-run: libfabric's provider is weft, on ${device:-every NIC} of $run_dir" >&2
	exec "$@"
fi

# UCX looks for a device node, and uses RoCE devices only.
if [ "$transport" = ib ]; then
	export LD_PRELOAD="$libs/libweft-preload.so${LD_PRELOAD:+:$LD_PRELOAD}"
fi
if [ -n "$sockets" ]; then
	if [ ! -e "$libs/libweft-sockets.so" ]; then
		echo "weft-run: libweft-sockets.so is not in $libs; it is built where librdmacm-dev is installed" >&2
		exit 1
	fi
	export LD_PRELOAD="$libs/libweft-sockets.so${LD_PRELOAD:+:$LD_PRELOAD}"
fi
if [ -n "$mpich" ]; then
	preload=
	dir=$here/@LIBS@/mpich
	[ ! -e "$dir/libweft-mpich.so" ] || preload=$(cd "$dir" && pwd)/libweft-mpich.so
	if [ -z "$preload" ]; then
		echo "weft-run: libweft-mpich.so is not beside $here; it is built where libmpich-dev is installed" >&2
		exit 1
	fi
	export LD_PRELOAD="$preload${LD_PRELOAD:+:$LD_PRELOAD}"
fi

if [ -n "$mpi" ]; then
	dir=$here/@LIBS@/openmpi
	if [ -e "$dir/mca_coll_weft.so" ]; then
		default OMPI_MCA_mca_base_component_path "$(cd "$dir" && pwd):SYSTEM_DEFAULT:USER_DEFAULT"
	fi
	# coll/weft opens the NIC through libgoal.
	[ -z "$device" ] || default WEFT_DEVICE "$device"
fi
if [ -n "$mpi" ] && [ "$transport" = ib ]; then
	# Open MPI with a choice of the user's, by variable or by --mca pml, keeps to it.
	case "${OMPI_MCA_pml:-} $* " in
	*' pml '* | [!\ ]*) ;;
	*)
		export OMPI_MCA_pml=ucx
		default OMPI_MCA_pml_ucx_tls any
		default OMPI_MCA_pml_ucx_devices any
		default OMPI_MCA_osc ucx
		;;
	esac
	default MPIR_CVAR_NOLOCAL 1
	# Ranks of one machine would use its shared memory instead.
	default UCX_TLS rc_verbs,ud_verbs,self
	# NICs of one weftd share its cores: a second one adds no bandwidth.
	default UCX_MAX_RNDV_RAILS 1
fi
export LD_LIBRARY_PATH="$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export WEFT_RUN_DIR="$run_dir" WEFT_VERBS_TRANSPORT="$transport"
[ -z "$llp" ] || export WEFT_LLP="$llp"
[ -z "$device" ] || export WEFT_VERBS_DEVICE="$device"
exec "$@"
