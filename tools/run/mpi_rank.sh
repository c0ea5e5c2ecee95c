#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# One rank of an MPI job on weft: mpi_rank.sh PROGRAM [ARGUMENT...]. Ranks take the NICs of WEFT_MPI_NICS in turn,
# words "RUN-DIR:DEVICE", and see no other; WEFT_MPI_OVER is ucx or ud (UCX, which has no transport but
# weft's then, or ud_verbs alone), ofi (libfabric's provider weft), rxm (libfabric's verbs), or iwarp (the same on an iWARP
# device: TCP). run_mpi.sh starts it through mpirun; it calls weft-run, which WEFT_RUN names, but for ofi. Exit
# status: the program's.

set -eu
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
# shellcheck disable=SC2086 # words
set -- "$(set -- $WEFT_MPI_NICS && shift $((rank % $#)) && echo "$1")" "$@"
nic=$1
shift
transport=ib
case ${WEFT_MPI_OVER:-ucx} in
ucx) export UCX_TLS=rc_verbs,ud_verbs,self UCX_NET_DEVICES="${nic##*:}:1" ;;
iwarp) transport=iwarp ;;
ofi)
	export WEFT_DEVICE="${nic##*:}" WEFT_RUN_DIR="${nic%:*}"
	exec "$@"
	;;
ud) export UCX_TLS=ud_verbs,self UCX_NET_DEVICES="${nic##*:}:1" ;;
esac
exec "$WEFT_RUN" --transport "$transport" --device "${nic##*:}" --run-dir "${nic%:*}" "$@"
