#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Cores with roles: collectives run in a shard of their own. Four ranks use two NICs while clients
# of verbs use the other shard; frames of a port that another core polls pass through rings. The
# wire is the switch, also with faults, memif, and veth; two cores share one CPU, and have one each.

. tests/int/lib.sh
mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
	awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
a=${cpus[0]} b=${cpus[1]:-${cpus[0]}}

# mac NIC
mac()
{
	ctl list | awk -v nic="$1" '$1 == nic { print $3 }'
}

# shard_counter NIC SHARD NAME
shard_counter()
{
	ctl stats "$1" --per-shard >"$WEFT_TMP/stats"
	awk -v name="shard$2.$3:" '$1 == name { print $2; found = 1 } END { exit !found }' "$WEFT_TMP/stats" ||
		die "$1 has no counter $3 in shard $2"
}

# ranks NAME NIC0 NIC1 SHARD OPTION...: ranks 0 and 1 on the first NIC, 2 and 3 on the second
ranks()
{
	local name=$1 nics=("$2" "$2" "$3" "$3") shard=$4 i peers
	shift 4
	peers="$(mac "${nics[0]}")$shard,$(mac "${nics[1]}")$shard,$(mac "${nics[2]}")$shard,$(mac "${nics[3]}")$shard"
	for i in 0 1 2 3; do
		spawn "$name.$i" env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB="$name" WEFT_DEVICE="${nics[$i]}" \
			"$WEFT_INT/goal_prog" "$@"
	done
}

# Prints the shards that clients of this program are in.
shards_of()
{
	ctl clients "$2" >"$WEFT_TMP/list"
	awk -v program="$1" '$0 ~ program { print $2 }' "$WEFT_TMP/list" | sort -u | paste -sd,
}

in_shard()
{
	[ "$(shards_of "$1" "$2")" = "$3" ]
}

# round NAME NIC0 NIC1 PORTS: PORTS is set if the NICs have ports, which shard 0's core polls
round()
{
	local name=$1 n0=$2 n1=$3 ports=$4 nic before after
	[ "$(ctl list | awk -v nic="$n0" '$1 == nic { print $7, $8 }')" = '2 1' ] || die "$n0 has no shard for collectives"
	bench_start "verbs$name" "$n1" "$n0" bw --op write --size 10000 --duration 600
	in_traffic "$n0"
	in_shard weft-bench "$n0" 0 || die "a client of verbs is in shard $(shards_of weft-bench "$n0")"
	before=$(shard_counter "$n0" 1 port_rx_ring)
	ranks "goal$name" "$n0" "$n1" /1 -n 40 -b 6000 -a -d 5 -u "$WEFT_TMP/seen.$name"
	wait_until 'ranks are in the shard for collectives' in_shard goal_prog "$n0" 1
	touch "$WEFT_TMP/seen.$name"
	expect_ok "goal$name".{0,1,2,3}
	for nic in "$n0" "$n1"; do
		[ "$(shard_counter "$nic" 1 goal_runs_done)" -eq 240 ] || die "$nic: not all runs in shard 1"
		[ "$(shard_counter "$nic" 0 goal_runs_done)" -eq 0 ] || die "$nic: runs in shard 0"
		after=$(shard_counter "$nic" 1 port_rx_ring)
		[ "$after" -gt $((before + 100)) ] || die "$nic: no frames were handed to the shard for collectives"
		[ "$(shard_counter "$nic" 1 core_role)" = 1 ] || die "$nic: the role of a core is not shown"
		[ -z "$ports" ] || [ "$(shard_counter "$nic" 1 port_tx_ring)" -gt 100 ] ||
			die "$nic: no frames were handed to the core of the port"
	done
	kill9 "verbs$name.c"
	expect_fail "verbs$name.s" 'weft-bench: '
}

# The switch, with two cores on one CPU.
weftd_start shared --nics 2 --cores "$a:io,$a:coll,$b:ctl"
round shared weft0 weft1 ''
# No core has the role of collectives: the error says what to write.
ranks unsaid weft0 weft1 '' -n 1
for i in 0 1 2 3; do expect_fail unsaid.$i 'put it into shard 1: write MAC/1'; done
ranks wrong weft0 weft1 /5 -n 1
for i in 0 1 2 3; do expect_fail wrong.$i 'does not have'; done
# A client asks for a given shard among those of verbs.
ranks asked weft0 weft1 /0 -n 5 -b 100
expect_ok asked.{0,1,2,3}
# The control threads run on their own CPUs.
for task in "/proc/${pid[shared]}"/task/*; do
	grep -q '^rte-worker' "$task/comm" || [ "$(awk '/^Cpus_allowed_list/ { print $2 }' "$task/status")" = "$b" ] ||
		die "thread $(cat "$task/comm") may run elsewhere than on CPU $b"
done
weftd_stop shared

weftd_start faulty --nics 2 --cores "$a:io,$b:coll" --loss 1 --dup 1 --reorder 1
round faulty weft0 weft1 ''
weftd_stop faulty

# memif: two processes, each with a core of both roles
weftd_start left --port "memif:$WEFT_RUN_DIR/m.sock,server" --ip 10.9.0.1/24 --name left --cores "$a:io,$a:coll"
weftd_start right --port "memif:$WEFT_RUN_DIR/m.sock" --ip 10.9.0.2/24 --name right --cores "$b:io,$b:coll"
bench right0 left0 lat --iters 100
round memif left0 right0 ports
weftd_stop right
weftd_stop left

# veth: AF_XDP at one end, AF_PACKET at the other
ip netns add "$(unique t)" 2>/dev/null && ip netns del "$(unique t)" || { say 'no namespaces: veth not tried'; exit 0; }
netns_add x
netns_add y
ip link add vx netns "$(unique x)" type veth peer name vy netns "$(unique y)" || { say 'no veth'; exit 0; }
ip -n "$(unique x)" link set vx up
ip -n "$(unique y)" link set vy up
in_ns="ip netns exec $(unique x)"
weftd_start vleft --port vx --ip 10.9.0.1/24 --name vleft --netdev xdp --cores "$a:io,$b:coll"
in_ns="ip netns exec $(unique y)"
weftd_start vright --port vy --ip 10.9.0.2/24 --name vright --netdev packet --cores "$a:io,$b:coll"
in_ns=
round veth vleft0 vright0 ports
weftd_stop vright
weftd_stop vleft
