#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# All of perftest and all options of the pingpongs on weft's NICs: over the built-in switch, over
# memif and over a veth between two weftd. perftest does not check its data (the pingpongs do, with
# -c), so verbs_data moves data over the same wires by all operations of verbs and checks every
# byte.
# timeout: 1500

. tests/int/lib.sh

LIMIT=180
run=build/bin/weft-run
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
need ib_send_lat ibv_rc_pingpong
netns_add c
ns=$(unique c)

port=18600

# verbs NAME COMMAND...
verbs()
{
	local name=$1
	shift
	spawn "$name" ip netns exec "$ns" "$run" --transport ib "$@"
}

# pair PROGRAM OPTION...: a server on $right and a client on $left, to the end
runs=0
right=
left=
right_ip=
pair()
{
	local try
	for try in 1 2 3; do
		runs=$((runs + 1))
		port=$((port + 1))
		verbs "s$runs" "$1" -d "$right" -p "$port" "${@:2}"
		wait_until "$* listens" tcp_listens "$ns" "$port" "s$runs"
		verbs "c$runs" "$1" -d "$left" -p "$port" "${@:2}" 127.0.0.1
		finish "c$runs"
		[ "$status" -ne 0 ] || break
		# perftest fails where a busy machine disturbs its measurement of the processor's
		# clock.
		grep -q 'Correlation coefficient' "$WEFT_TMP/c$runs.err" || break
		finish "s$runs"
		status=1
		say "$wire: $*: perftest could not measure the clock, again ($try)"
	done
	[ "$status" -eq 0 ] || die "$wire: $*: the client ended with exit status $status"
	finish "s$runs"
	[ "$status" -eq 0 ] || die "$wire: $*: the server ended with exit status $status"
	say "$wire: $* ($SECONDS s)"
}

# The same with -R: connected by rdma_cm, to the NIC's own address.
pair_cm()
{
	runs=$((runs + 1))
	port=$((port + 1))
	spawn "s$runs" ip netns exec "$ns" "$run" --transport ib --device "$right" "$1" -R -p "$port" "${@:2}"
	wait_until "$* -R listens" counter_is "$right" cm_listeners 1
	spawn "c$runs" ip netns exec "$ns" "$run" --transport ib --device "$left" "$1" -R -p "$port" "${@:2}" "$right_ip"
	finish "c$runs"
	[ "$status" -eq 0 ] || die "$wire: $* -R: the client ended with exit status $status"
	finish "s$runs"
	[ "$status" -eq 0 ] || die "$wire: $* -R: the server ended with exit status $status"
	wait_until "$* -R listens no more" counter_is "$right" cm_listeners 0
	say "$wire: $* -R ($SECONDS s)"
}
by_cm()
{
	local line
	[ -e build/lib/verbs/librdmacm.so.1 ] || return
	while read -r line; do
		# shellcheck disable=SC2086 # words
		[ -z "$line" ] || pair_cm $line
	done <<-'END'
		ib_send_lat -n 100
		ib_send_lat -n 100 -c UD
		ib_send_lat -n 100 -e
		ib_send_bw -n 100 -q 4
		ib_send_bw -n 100 -c UD -s 512
		ib_write_lat -n 100
		ib_write_bw -n 100
		ib_read_lat -n 100
		ib_read_bw -n 100 -q 4
		ib_atomic_lat -n 100
		ib_atomic_bw -n 100
	END
}

# Lines of programs and their options.
perftest()
{
	local line
	while read -r line; do
		# shellcheck disable=SC2086 # words
		[ -z "$line" ] || pair $line
	done
}

# The programs for every wire.
common()
{
	perftest <<-'END'
		ib_send_lat -n 200
		ib_send_lat -n 100 -s 64 -I 64
		ib_send_lat -n 100 -e
		ib_send_lat -n 20 -s 1000000
		ib_send_lat -n 100 -c UC -s 3000
		ib_send_lat -n 100 -c UD -s 512
		ib_send_lat -n 100 -c UD -e
		ib_send_lat -n 100 --use-srq
		ib_send_lat -n 100 -c XRC
		ib_send_lat -n 100 -c XRC -e
		ib_write_lat -n 200
		ib_write_lat -n 100 -s 64 -I 64
		ib_write_lat -n 100 -c UC
		ib_read_lat -n 200
		ib_read_lat -n 100 -e
		ib_atomic_lat -n 200 -A CMP_AND_SWAP
		ib_atomic_lat -n 200 -A FETCH_AND_ADD
		ib_atomic_lat -n 100 -e
		ib_send_bw -n 300
		ib_send_bw -n 100 -q 16
		ib_send_bw -n 200 -b
		ib_send_bw -n 200 -e -q 4
		ib_send_bw -n 300 -s 64 -I 64
		ib_send_bw -n 300 -Q 1
		ib_send_bw -n 400 -Q 50 -t 200
		ib_send_bw -n 320 -s 1024 -l 8
		ib_send_bw -n 200 -c UD -s 512
		ib_send_bw -n 200 -c UD -s 512 -b
		ib_send_bw -n 200 -c UC -s 4096
		ib_send_bw -n 100 -r 256 -s 2048 --use-srq -q 4
		ib_send_bw -n 200 -c XRC -q 4
		ib_send_bw -n 200 -c XRC -b
		ib_write_bw -n 300
		ib_write_bw -n 100 -q 16
		ib_write_bw -n 200 -b -q 4
		ib_write_bw -n 320 -s 64 -I 64 -l 4
		ib_write_bw -n 400 -Q 100
		ib_write_bw -n 200 -c UC -s 4096
		ib_write_bw -n 100 --use_old_post_send
		ib_write_bw -n 200 -c XRC
		ib_read_bw -n 300
		ib_read_bw -n 100 -q 16 -o 4
		ib_read_bw -n 200 -b
		ib_read_bw -n 200 -c XRC
		ib_read_bw -n 200 -e
		ib_atomic_bw -n 300 -A CMP_AND_SWAP
		ib_atomic_bw -n 100 -A FETCH_AND_ADD -q 16
		ib_atomic_bw -n 200 -b -e
		ib_atomic_bw -n 100 -c XRC
	END
}

# Every size up to 8 MiB. Between two sizes perftest measures the processor's clock, which takes as
# long as the rest.
all_sizes()
{
	perftest <<-'END'
		ib_send_lat -n 10 -a
		ib_write_lat -n 10 -a
		ib_read_lat -n 10 -a
		ib_send_bw -n 20 -a
		ib_write_bw -n 20 -a
		ib_read_bw -n 20 -a
	END
}

# The pingpongs check the received data with -c.
pingpongs()
{
	perftest <<-'END'
		ibv_rc_pingpong -c -n 300 -g 1
		ibv_rc_pingpong -c -n 100 -g 1 -e -s 70000 -m 2048
		ibv_rc_pingpong -c -n 100 -g 1 -N -r 16 -l 1
		ibv_rc_pingpong -n 100 -g 0 -t -s 1
		ibv_rc_pingpong -c -n 100 -g 1 -i 1 -m 256 -s 1500
		ibv_ud_pingpong -c -n 300 -g 1
		ibv_ud_pingpong -c -n 100 -g 1 -e -s 1000 -r 8 -l 1
		ibv_uc_pingpong -c -n 300 -g 1
		ibv_uc_pingpong -c -n 100 -g 1 -e -s 20000 -m 512 -r 8
		ibv_srq_pingpong -c -n 300 -g 1 -q 8
		ibv_srq_pingpong -c -n 100 -g 1 -q 16 -e -s 9000 -r 64 -m 512
		ibv_xsrq_pingpong -n 100 -g 1
		ibv_xsrq_pingpong -n 100 -g 1 -e -s 9000 -m 1024 -l 1
	END
}

data()
{
	local seed
	for seed in "$@"; do
		verbs "data_${wire}_$seed" "$PWD/build/int/verbs_data" "$left" "$right" -g 1 -n 150 -s "$seed"
		expect_ok "data_${wire}_$seed"
		say "$wire: $(cat "$WEFT_TMP/data_${wire}_$seed.out")"
	done
}

# wire NAME: runs everything between $left and $right
wire()
{
	wire=$1
	data 1 2 3
	common
	by_cm
	pingpongs
	data 4
	say "$wire: done, $SECONDS s"
}

# sanitizers check the data path alone: perftest waits for it 30 times as long
wire=switch left=weft0 right=weft1 right_ip=10.77.0.2
weftd_start checked --nics 2
data 11 12
weftd_stop checked
WEFT_BIN=$PWD/build/bin
weftd_start weftd --nics 2
wire switch
all_sizes
# without a GRH: NICs of one weftd find each other by QPN
verbs data_qpn "$PWD/build/int/verbs_data" weft1 weft0 -n 50 -s 5
expect_ok data_qpn
for size in 1 2048 3500; do
	pair ibv_rc_pingpong -c -n 100 -s $size
done
weftd_stop weftd

left=left0 right=right0 right_ip=10.9.0.2
two_weftd memif --mtu 9000
wire memif
weftd_stop right
weftd_stop left

two_weftd veth
wire veth
weftd_stop right
weftd_stop left
say "$runs runs of Debian's programs"
