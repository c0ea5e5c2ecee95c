#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rdma_cm call by call, between two NICs, as iWARP and as RoCE devices: wrong calls and their errno,
# private data of every length, flushes at the end of a connection, rdma_migrate_id() with events
# waiting, rdma_create_ep() and rdma_getaddrinfo(), groups; quotas; and the death of weftd, which
# every identifier reports, and after which the process connects on the NICs of the next one.

. tests/int/lib.sh

run=build/bin/weft-run
[ -e build/lib/verbs/librdmacm.so.1 ] || skip 'librdmacm-dev is not installed'
gcc -std=gnu11 -O1 -g -Wall -Wextra -Werror -I. tests/clients/cm_{calls,calls_ep,ends}.c -pthread \
	-o "$WEFT_TMP/cm_calls" -lrdmacm -libverbs || die 'cm_calls does not compile'

weftd_start weftd --nics 2 --quota cm=20
for transport in iwarp ib; do
	spawn "calls.$transport" "$run" --transport $transport "$WEFT_TMP/cm_calls" calls 10.77.0.1 10.77.0.2
done
spawn quota "$run" "$WEFT_TMP/cm_calls" quota 10.77.0.1 20
expect_ok calls.iwarp calls.ib quota
spawn dies "$run" "$WEFT_TMP/cm_calls" dies 10.77.0.1 10.77.0.2
says dies waiting
kill9 weftd
says dies gone
weftd_start next --nics 2
expect_ok dies
weftd_stop next
