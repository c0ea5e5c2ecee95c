#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fabtests of libfabric v1.17.0 on weft's provider. Their sources are not part of weft: WEFT_FABTESTS names the folder
# fabtests of a checkout (git clone -b v1.17.0 https://github.com/ofiwg/libfabric), from which the programs are built
# here against the installed libfabric-dev. WEFT_FABTESTS_WIRE is switch (the default: NICs of one weftd), memif or veth:
# two weftd, each with a NIC, that it joins.
#
# Left out of the lists of fabtests' own script, with reasons:
#	-e msg, fi_msg*, fi_cm_data				no connected endpoints (fi_msg_inject has others, and runs)
#	-k							no prefix (FI_MSG_PREFIX): buffers need none
#	fi_rdm_rma_trigger, fi_rdm_deferred_wq			no FI_TRIGGER
#	fi_scalable_ep, fi_shared_ctx -e dgram			no scalable endpoints, no shared contexts of datagrams
#	fi_multi_mr, fi_rdm_rma_event, fi_rdm_multi_domain	FI_RMA_EVENT: the NIC does not tell a host of peers' RDMA
#	fi_dgram_waitset					no exchange out of band: its first datagram may come before the receive
#	fi_av_test over memif and a veth			resolves six addresses in a row, which two NICs do not have
# WEFT_FABTESTS_LIST is one of
#	short		(the default) the lists unit, functional, short and multinode, ubertest with a list of its own
#	standard	the list of that name, each program with its own number of iterations
#	complex		ubertest with the lists that fabtests have for other providers of FI_EP_RDM, under weft's name
#	threaded	ubertest with each FI_THREAD_* and FI_PROGRESS_*
# timeout: 5400

. tests/int/lib.sh

[ -d "${WEFT_FABTESTS:-}/functional" ] || skip 'WEFT_FABTESTS names no folder of fabtests'
need gcc fi_info
[ -e build/lib/libfabric/libweft-fi.so ] || skip 'libfabric-dev is not installed'
export LIMIT=900
times=(-I 5) atomic_times=(-I 5)
which=${WEFT_FABTESTS_LIST:-short}
case $which in
short) ;;
standard) times=() atomic_times=(-I 1000) LIMIT=1800 ;;
complex | threaded) LIMIT=1800 ;;
*) die "WEFT_FABTESTS_LIST is short, standard, complex or threaded, not '$which'" ;;
esac
export FI_PROVIDER_PATH=$PWD/build/lib/libfabric
bin=$WEFT_TMP/fabtests
mkdir -p "$bin" || die 'no folder'

# ---- build ----------------------------------------------------------------------------------

cat >"$bin/config.h" <<'C'
#define HAVE_CLOCK_GETTIME 1
#define HAVE_EPOLL 1
#define HAVE_FABRIC_H 1
#define PT_LOCK_SPIN 1
#define RDMADIR "/usr/include/rdma"
C
# compile OUTPUT WORD...: their code is not held to our warnings
compile()
{
	local to=$1
	shift
	gcc -O1 -w -std=gnu99 -D_GNU_SOURCE "-DSYSCONFDIR=\"/etc\"" -include "$bin/config.h" -I"$WEFT_FABTESTS" \
		-I"$WEFT_FABTESTS/include" -I"$WEFT_FABTESTS/multinode/include" -o "$to" "$@" >"$bin/log" 2>&1 ||
		die "$to does not compile: $(head -n 5 "$bin/log")"
}
for f in "$WEFT_FABTESTS"/common/{shared,hmem,hmem_*}.c; do
	compile "$bin/${f##*/}.o" -c "$f"
done
compile "$bin/benchmark_shared.o" -c "$WEFT_FABTESTS/benchmarks/benchmark_shared.c"
compile "$bin/unit_common.o" -c "$WEFT_FABTESTS/unit/common.c"
libs=(-lfabric -pthread -lrt -lm)
# Programs that the chosen list does not run are not built.
programs()
{
	[ "$which" = short ] || [ "$which" = standard ]
}
programs && for name in av_xfer cq_data rdm rdm_tagged_peek multi_ep recv_cancel unexpected_msg bw rdm_multi_client rdm_atomic \
	multi_recv dgram mcast msg_inject poll rdm_shared_av shared_ctx; do
	compile "$bin/fi_$name" "$WEFT_FABTESTS/functional/$name.c" "$bin"/*.c.o "${libs[@]}"
done
programs && for name in getinfo_test av_test dom_test eq_test cq_test mr_test cntr_test; do
	compile "$bin/fi_$name" "$WEFT_FABTESTS/unit/$name.c" "$bin"/{unit_common,*.c}.o "${libs[@]}"
done
programs && for name in rma_bw dgram_pingpong rdm_cntr_pingpong rdm_pingpong rdm_tagged_pingpong rdm_tagged_bw; do
	compile "$bin/fi_$name" "$WEFT_FABTESTS/benchmarks/$name.c" "$bin"/{benchmark_shared,*.c}.o "${libs[@]}"
done
compile "$bin/fi_ubertest" "$WEFT_FABTESTS"/ubertest/*.c "$bin"/*.c.o "${libs[@]}"
compile "$bin/fi_multinode" "$WEFT_FABTESTS"/multinode/src/{harness,core,pattern,timing}.c "$bin"/*.c.o "${libs[@]}"

compile "$bin/fi_multinode_coll" "$WEFT_FABTESTS"/multinode/src/{harness,core_coll}.c "$bin"/*.c.o "${libs[@]}"

# ---- run ------------------------------------------------------------------------------------

netns_add ft
ns=$(unique ft)
daemons=(near far)
nics=(near0 far0)
case ${WEFT_FABTESTS_WIRE:-switch} in
switch)
	daemons=(weftd)
	nics=(weft0 weft1 weft2)
	weftd_start weftd --nics 8
	;;
memif)
	weftd_start near --name near --port "memif:$WEFT_RUN_DIR/memif.sock,server" --ip 10.77.0.1/24
	weftd_start far --name far --port "memif:$WEFT_RUN_DIR/memif.sock" --ip 10.77.0.2/24
	;;
veth)
	ip -n "$ns" link add va type veth peer name vb || skip 'no veth here'
	ip -n "$ns" link set va up && ip -n "$ns" link set vb up || die 'the veth does not come up'
	in_ns="ip netns exec $ns"
	weftd_start near --name near --port va --ip 10.77.0.1/24
	weftd_start far --name far --port vb --ip 10.77.0.2/24
	in_ns=
	;;
*) die "WEFT_FABTESTS_WIRE is switch, memif or veth, not '$WEFT_FABTESTS_WIRE'" ;;
esac
passed=0

# one PROGRAM WORD...: a test without a peer
one()
{
	local name="unit$passed"
	spawn "$name" env "WEFT_DEVICE=${nics[0]}" "$bin/$1" -p weft "${@:2}"
	expect_ok "$name"
	passed=$((passed + 1))
}

# pair PROGRAM WORD...: a server on the second NIC, a client on the first
pair()
{
	local name="pair$passed"
	spawn "$name.s" ip netns exec "$ns" env "WEFT_DEVICE=${nics[1]}" "$bin/$1" -p weft -E "${@:2}"
	wait_until "$* listens" tcp_listens "$ns" 3000 "$name.s"
	spawn "$name.c" ip netns exec "$ns" env "WEFT_DEVICE=${nics[0]}" "$bin/$1" -p weft -E "${@:2}" 127.0.0.1
	expect_ok "$name.c" "$name.s"
	say "ok: $*"
	passed=$((passed + 1))
}

# refused PROGRAM WORD...: a test whose resources no NIC has: fi_getinfo() answers ENODATA
refused()
{
	local name="unit$passed"
	spawn "$name" env "WEFT_DEVICE=${nics[0]}" "$bin/$1" -p weft "${@:2}"
	finish "$name"
	[ "$status" -eq 61 ] || die "$* ended with exit status $status"
	passed=$((passed + 1))
}

# number_of NIC: sets number, the first endpoint of the only program there. A shared receive context takes no messages
# (INIT).
number_of()
{
	ctl qps "$1" >"$WEFT_TMP/list"
	number=$(awk '$5 == "RTS" { print $3; exit }' "$WEFT_TMP/list")
	[ -n "$number" ]
}

# by_number PROGRAM WORD...: likewise a pair, without an exchange out of band (-E): the client has the number that the
# NIC gave the server's endpoint.
by_number()
{
	local name="pair$passed"
	expect_objects "${nics[1]}" '0 0 0 0'
	spawn "$name.s" env "WEFT_DEVICE=${nics[1]}" "$bin/$1" -p weft "${@:2}"
	wait_until "$* has an endpoint" number_of "${nics[1]}"
	spawn "$name.c" env "WEFT_DEVICE=${nics[0]}" "$bin/$1" -p weft -P "$number" "${@:2}" 10.77.0.2
	expect_ok "$name.c" "$name.s"
	say "ok: $*"
	passed=$((passed + 1))
}

# ---- the lists ------------------------------------------------------------------------------

unit_and_functional()
{
	one fi_getinfo_test -s 10.77.0.1 10.77.0.2
	# It resolves six addresses from this one on, which two NICs do not have.
	for type in rdm dgram; do
		[ "${#nics[@]}" -eq 2 ] || one fi_av_test -g 10.77.0.2 -n 1 -s 10.77.0.1 -e "$type"
	done
	one fi_dom_test -n 2
	one fi_eq_test
	one fi_cq_test
	one fi_mr_test
	one fi_cntr_test
	refused fi_rdm g00n13s
	refused fi_dgram g00n13s
	for type in rdm dgram; do
		pair fi_av_xfer -e "$type"
		pair fi_cq_data -e "$type"
	done
	pair fi_dgram
	spawn mcast.s ip netns exec "$ns" env "WEFT_DEVICE=${nics[1]}" "$bin/fi_mcast" -p weft -M 239.1.2.3
	wait_until 'fi_mcast listens' counter_above "${nics[1]}" igmp_reports_tx 0
	spawn mcast.c ip netns exec "$ns" env "WEFT_DEVICE=${nics[0]}" "$bin/fi_mcast" -p weft 239.1.2.3
	expect_ok mcast.c mcast.s
	say 'ok: fi_mcast'
	pair fi_rdm
	pair fi_rdm -U
	pair fi_rdm_tagged_peek
	pair fi_multi_ep -e rdm -v
	pair fi_recv_cancel -e rdm -V
	pair fi_unexpected_msg -e rdm -I 10
	for type in inject inj_complete; do
		pair fi_msg_inject -A "$type" -v
		pair fi_msg_inject -N -A "$type" -v
	done
	by_number fi_poll -t queue
	by_number fi_poll -t counter
	by_number fi_rdm_shared_av
	by_number fi_shared_ctx -e rdm
	by_number fi_shared_ctx -e rdm --ep-count 16
	by_number fi_shared_ctx -e rdm --no-tx-shared-ctx
	by_number fi_shared_ctx -e rdm --no-rx-shared-ctx
}

short_or_standard()
{
	local u v op wait
	for u in '' -U; do
		# shellcheck disable=SC2086 # empty or a word
		{
			pair fi_bw -e rdm -v -T 1 $u
			pair fi_rdm_multi_client -C 10 -I 5 $u
			for op in write read writedata; do
				pair fi_rma_bw -e rdm -o "$op" "${times[@]}" $u
			done
			pair fi_rdm_atomic "${atomic_times[@]}" -o all $u
			for v in '' -v; do
				pair fi_rdm_pingpong "${times[@]}" $v $u
				pair fi_rdm_tagged_pingpong "${times[@]}" $v $u
				pair fi_rdm_tagged_bw "${times[@]}" $v $u
			done
		}
	done
	pair fi_rdm_cntr_pingpong "${times[@]}"
	pair fi_dgram_pingpong "${times[@]}"
	pair fi_multi_recv -e rdm "${times[@]}"
	for wait in sread fd; do
		pair fi_rdm_pingpong -I 5 -c "$wait"
		pair fi_rdm_tagged_pingpong -I 5 -c "$wait"
	done
	pair fi_rdm_cntr_pingpong -I 5 -c sread
}

# ---- ubertest: lists of its programs --------------------------------------------------------

list=$WEFT_TMP/weft.test
# test_of CLASSES FUNCTIONS COMPLETIONS MORE
test_of()
{
	printf '{ prov_name: weft, ep_type: [ FI_EP_RDM, ], test_type: [ FT_TEST_UNIT, FT_TEST_LATENCY, FT_TEST_BANDWIDTH, ],
		test_class: [ %s ], class_function: [ %s ], comp_type: [ %s ], %s test_flags: FT_FLAG_QUICKTEST\n},\n' "$@" >>"$list"
}
messages='FT_FUNC_SEND, FT_FUNC_SENDV, FT_FUNC_SENDMSG, FT_FUNC_SENDDATA, FT_FUNC_INJECT, FT_FUNC_INJECTDATA,'
rma='FT_FUNC_WRITE, FT_FUNC_WRITEV, FT_FUNC_WRITEMSG, FT_FUNC_INJECT_WRITE, FT_FUNC_WRITEDATA, FT_FUNC_INJECT_WRITEDATA,
	FT_FUNC_READ, FT_FUNC_READV, FT_FUNC_READMSG,'
mr='mr_mode: [ FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY, ],'
integers='FI_INT8, FI_UINT8, FI_INT16, FI_UINT16, FI_INT32, FI_UINT32, FI_INT64, FI_UINT64,'
reals='FI_FLOAT, FI_DOUBLE,'
fetching='FT_FUNC_FETCH_ATOMIC, FT_FUNC_FETCH_ATOMICV, FT_FUNC_FETCH_ATOMICMSG,'
comparing='FT_FUNC_COMPARE_ATOMIC, FT_FUNC_COMPARE_ATOMICV, FT_FUNC_COMPARE_ATOMICMSG,'
# atomics_of FUNCTIONS OPERATION...: a set for each operation. Reals have none on bits.
atomics_of()
{
	local op types
	for op in "${@:2}"; do
		types="$integers $reals"
		[[ $op =~ ^FI_(BOR|BAND|BXOR|MSWAP)$ ]] && types=$integers
		test_of 'FT_CAP_ATOMIC,' "$1" 'FT_COMP_QUEUE,' "op: [ $op, ], datatype: [ $types ], $mr"
	done
}
# Every call of messages, RDMA and atomics; every operation of atomics on every type.
own_list()
{
	test_of 'FT_CAP_MSG, FT_CAP_TAGGED,' "$messages" 'FT_COMP_QUEUE, FT_COMP_CNTR,' 'av_type: [ FI_AV_TABLE, FI_AV_MAP, ],'
	test_of 'FT_CAP_MSG, FT_CAP_TAGGED,' 'FT_FUNC_SENDMSG,' 'FT_COMP_QUEUE,' 'cq_wait_obj: [ FI_WAIT_UNSPEC, FI_WAIT_FD, ],'
	test_of 'FT_CAP_MSG, FT_CAP_TAGGED,' 'FT_FUNC_SENDMSG,' 'FT_COMP_QUEUE,' \
		'tx_cq_bind_flags: [ FI_SELECTIVE_COMPLETION, ], msg_flags: [ FI_COMPLETION, ],'
	test_of 'FT_CAP_RMA,' "$rma" 'FT_COMP_QUEUE,' "$mr"
	sed -i 's/FT_TEST_UNIT, //' "$list"
	atomics_of "FT_FUNC_ATOMIC, FT_FUNC_INJECT_ATOMIC, $fetching" FI_SUM
	atomics_of "$fetching" FI_ATOMIC_READ
	atomics_of "$comparing" FI_CSWAP
	atomics_of 'FT_FUNC_FETCH_ATOMIC,' FI_{MIN,MAX,PROD,LOR,LAND,BOR,BAND,LXOR,BXOR,ATOMIC_WRITE}
	atomics_of 'FT_FUNC_COMPARE_ATOMIC,' FI_CSWAP_{NE,LE,LT,GE,GT} FI_MSWAP
	# After the first of these sets, latency is enough.
	sed -i '/FT_CAP_ATOMIC/,$ s/FT_TEST_BANDWIDTH, //' "$list"
}

# Lists of other providers, with the modes of memory that weft has. It has no FI_EP_MSG.
complex_list()
{
	local file
	need perl
	for file in shm/all ofi_rxm/tcp; do
		MODE=$mr perl -0777 -pe 's/^#.*\n//mg; s/\s*mr_mode:\s*\[[^]]*\],?//g; s/\s*FI_EP_MSG,//g;
			s/prov_name:.*/prov_name: weft, $ENV{MODE}/g; s/\},?\s*$/},\n/; s/\}\s*,\s*\{/},\n{/g' \
			"$WEFT_FABTESTS/test_configs/$file.test" >>"$list" || die "no list $file"
	done
}

# Each model of threads, with both models of progress.
threaded_list()
{
	local more='threading: [ FI_THREAD_SAFE, FI_THREAD_FID, FI_THREAD_DOMAIN, FI_THREAD_COMPLETION, FI_THREAD_ENDPOINT, ],
		progress: [ FI_PROGRESS_MANUAL, FI_PROGRESS_AUTO, ],'
	test_of 'FT_CAP_MSG, FT_CAP_TAGGED,' "$messages" 'FT_COMP_QUEUE, FT_COMP_CNTR,' "$more"
	test_of 'FT_CAP_RMA,' "$rma" 'FT_COMP_QUEUE,' "$mr $more"
	sed -i 's/FT_TEST_UNIT, //' "$list"
}

# Each set of the list has processes of its own: ubertest keeps the buffers of each case.
ubertest()
{
	local bad='ENOSYS *|EIO *|ERROR *' cases=0 name set end
	# Lists of others ask for what weft does not offer: fi_getinfo() answers ENODATA.
	[ "$which" = complex ] || bad="Skipped|ENODATA|$bad"
	rm -f "$list".*
	awk -v to="$list" 'BEGIN { n = 1 } { print > (to "." n) } /^},/ { n++ }' "$list"
	for set in "$list".*; do
		name=uber${set##*.}
		spawn "$name.s" ip netns exec "$ns" env "WEFT_DEVICE=${nics[1]}" "$bin/fi_ubertest" -x -E
		wait_until 'ubertest listens' tcp_listens "$ns" 2710 "$name.s"
		spawn "$name.c" ip netns exec "$ns" env "WEFT_DEVICE=${nics[0]}" "$bin/fi_ubertest" -u "$set" -E 127.0.0.1
		# A list whose last case is not offered ends with ENODATA.
		for end in "$name.c" "$name.s"; do
			finish "$end"
			# shellcheck disable=SC2154 # lib.sh has it
			[ "$status" -eq 0 ] || { [ "$which" = complex ] && [ "$status" -eq 61 ]; } ||
				die "$end ended with exit status $status"
		done
		grep -E "^($bad): [1-9]" "$WEFT_TMP/$name.c.out" && die "ubertest: not all cases of $set succeed"
		say "ok: ubertest ${set##*.}: $(sed -nE '/^(Success|Skipped|ENODATA): /p' "$WEFT_TMP/$name.c.out" | tr '\n' ' ')"
		cases=$((cases + $(sed -n 's/^Success: //p' "$WEFT_TMP/$name.c.out")))
	done
	say "ok: ubertest, $cases cases"
}

multinode()
{
	local class i program
	for class in msg rma coll; do
		program=("$bin/fi_multinode" -n 3 -C "$class")
		[ "$class" = coll ] && program=("$bin/fi_multinode_coll" -n 3)
		spawn "nodes_$class.0" ip netns exec "$ns" env "WEFT_DEVICE=${nics[0]}" "${program[@]}" -p weft -s 127.0.0.1
		sleep 0.5
		for i in 1 2; do
			spawn "nodes_$class.$i" ip netns exec "$ns" env "WEFT_DEVICE=${nics[i % ${#nics[@]}]}" "${program[@]}" -p weft -s 127.0.0.1
		done
		expect_ok "nodes_$class.0" "nodes_$class.1" "nodes_$class.2"
		say "ok: multinode $class"
	done
}

if programs; then
	[ "$which" = standard ] || unit_and_functional
	short_or_standard
	own_list
	ubertest
	multinode
else
	"${which}_list"
	ubertest
fi
expect_objects "${nics[0]}" '0 0 0 0'
for d in "${daemons[@]}"; do
	weftd_stop "$d"
done
say "$which: $passed programs and ubertest passed"
