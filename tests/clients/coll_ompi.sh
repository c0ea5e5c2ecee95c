#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The collectives of Open MPI on the NIC at length: tests/int/coll_ompi.sh on 2, 4 and 8 ranks, with
# more calls.
# timeout: 600

WEFT_LONG=1 exec tests/int/coll_ompi.sh
