#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs the missing Debian packages of a target.
#
#	tools/deps.sh [build|unit|run|test|fuzz|bench|apps|mpi|interop|lint|plot|cross|nodes|ops|deb|clients|suites|slurm|all]...	(default: run)
#
# Prints nothing when nothing is missing, else one line. Package lists are refreshed only when
# something is missing. Exit status 0, 1 when packages cannot be installed, 2 usage.

set -u

build="gcc libc6-dev make pkg-config libdpdk-dev libbpf-dev libisal-dev libjansson-dev libmicrohttpd-dev libncurses-dev libmd-dev libmnl-dev libpmix-dev libibverbs-dev librdmacm-dev libfabric-dev clang
	bpftool linux-libc-dev"
tune="python3 python3-scipy python3-statsmodels python3-jinja2"
unit="$build libcunit1-dev util-linux $tune"
run="$build libopenmpi-dev iproute2 procps iperf3 rdmacm-utils socat"
test="$run $tune g++ libcunit1-dev tshark ethtool iputils-ping util-linux git valgrind ibverbs-utils
	rdmacm-utils netcat-openbsd socat curl iperf3 perftest qperf ucx-utils libfabric-bin systemd"
fuzz="$run libcunit1-dev libclang-rt-14-dev llvm"
bench="$run $tune iperf3 ethtool perftest qperf openmpi-bin libopenmpi-dev"
apps="$bench hpcc lammps fio redis-server redis-tools nginx-light wrk"
interop="rdmacm-utils perftest tshark ethtool python3 qemu-system-x86 seabios make gcc xz-utils zstd cpio flex bison kmod
	linux-headers-amd64"
mpi="openmpi-bin libopenmpi-dev mpich libmpich-dev ucx-utils"
lint="git clang-format cppcheck shellcheck"
plot="$tune gnuplot-nox graphviz scour"
cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross make"
nodes="qemu-user-static qemu-system-x86 qemu-system-arm seabios xz-utils cpio kmod busybox-static binutils socat
	rdmacm-utils ibverbs-utils perftest iperf3"
clients="$mpi python3-pyverbs rdma-core"
suites="$mpi hpcc lammps quantum-espresso quantum-espresso-data scalapack-mpi-test python3-mpi4py"
ops="prometheus fio qemu-system-x86 debootstrap podman"
slurm="slurm-wlm munge"
deb="build-essential debhelper devscripts lintian fakeroot python3"

[ $# -gt 0 ] || set -- run
want=
for set_name in "$@"; do
	case $set_name in
	build) want="$want $build" ;;
	unit) want="$want $unit" ;;
	run) want="$want $run" ;;
	test) want="$want $test $lint" ;;
	fuzz) want="$want $fuzz" ;;
	bench) want="$want $bench" ;;
	apps) want="$want $apps" ;;
	mpi) want="$want $mpi" ;;
	interop) want="$want $interop" ;;
	lint) want="$want $lint" ;;
	plot) want="$want $plot" ;;
	cross) want="$want $cross" ;;
	nodes) want="$want $nodes" ;;
	ops) want="$want $ops" ;;
	deb) want="$want $deb" ;;
	clients) want="$want $clients" ;;
	suites) want="$want $suites" ;;
	slurm) want="$want $slurm" ;;
	all) want="$want $run $test $fuzz $apps $mpi $interop $lint $plot $cross $nodes $ops $deb $clients $suites $slurm" ;;
	*)
		echo "deps.sh: unknown set '$set_name'; give build, unit, run, test, fuzz, bench, apps, mpi, interop, lint, plot, cross, nodes, ops, deb, clients, suites, slurm or all" >&2
		exit 2
		;;
	esac
done

if ! command -v dpkg-query >/dev/null 2>&1; then
	exit 0 # not a Debian system: the compiler will say what is missing
fi

missing=
# shellcheck disable=SC2086 # the list is words
for p in $(printf '%s\n' $want | sort -u); do
	# A state is a word of its own: "not-installed" is the state of a removed package. A package
	# of several architectures has a word for each.
	case " $(dpkg-query -W -f '${db:Status-Status} ' "$p" 2>/dev/null)" in
	*' installed '*) ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "deps.sh: packages are missing; as root: apt-get install$missing" >&2
	exit 1
fi

echo "installing packages:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
apt_install()
{
	# shellcheck disable=SC2086
	apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=120 $missing >"$log" 2>&1
}

# show_progress PID: until the process ends, a line with the step of apt-get: written over each
# second on a terminal, else once in ten seconds.
show_progress()
{
	seconds=0
	while kill -0 "$1" 2>/dev/null; do
		text=$(awk '/ newly installed/ { n = $3 } /^Get:/ { g++ } /^Unpacking/ { u++ } /^Setting up/ { s++ }
			END { if (n) printf "%d packages: %d fetched, %d unpacked, %d set up", n, g, u, s }' "$log")
		if [ -t 1 ]; then
			printf '\r\033[K  %s' "${text:-reading package lists}"
		elif [ -n "$text" ] && [ $((seconds % 10)) -eq 9 ]; then
			echo "  $text"
		fi
		seconds=$((seconds + 1))
		sleep 1
	done
	[ ! -t 1 ] || printf '\r\033[K'
}
apt-get update -q -o DPkg::Lock::Timeout=120 >"$log" 2>&1 || cat "$log" >&2
apt_install &
show_progress $!
if ! wait $!; then
	tail -n 20 "$log" >&2
	echo "deps.sh: apt-get could not install:$missing" >&2
	exit 1
fi
exit 0
