#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The MPI programs of tests/mpi under Debian's Open MPI, over UCX (also over ud_verbs alone) and over libfabric (weft's
# provider; verbs;ofi_rxm, also over TCP, on an iWARP device), and under its MPICH over UCX: at a switch with 2, 5 and 8 ranks, between two weftd with 3.
# timeout: 2400

. tests/int/lib.sh

need mpirun.openmpi mpirun.mpich
[ -x build/bin/weft-run ] || skip 'libibverbs-dev is not installed'
export TMPDIR=$WEFT_TMP
export LIMIT=400
for args in '--ranks 2' '--ranks 3 --wire memif' '--ranks 3 --wire veth --programs p2p,coll' '--ranks 5' '--ranks 8 --programs coll,threads' \
	'--ranks 8 --over ofi --programs p2p,types,coll' '--ranks 8 --over ofi --programs graph,reduce,rma,threads' \
	'--ranks 3 --over ud --libraries openmpi' '--ranks 3 --over rxm' '--ranks 3 --over iwarp'; do
	# shellcheck disable=SC2086 # words
	spawn "mpi_${args//[^a-z0-9]/_}" tools/run/run_mpi.sh --quick $args
	expect_ok "mpi_${args//[^a-z0-9]/_}"
done
