#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd --crc: between NICs of one weftd CRC32Cs are checked or not, with the same results: Sends
# and Writes of RD, RC over ESP and over TCP, datagrams, short and borrowed frames, a NIC with itself.

. tests/int/lib.sh

# traffic: every transport with short and long messages
traffic()
{
	for to in weft1 weft0; do
		bench weft0 "$to" lat --size 64 --iters 200
		bench weft0 "$to" bw --op write --size 50000 --iters 60
		bench weft0 "$to" bw --op read --size 5000 --mem malloc --iters 60
	done
	for qp in ud rd rc-esp rc-tcp; do
		"$WEFT_BIN/weft-bench" loop bw --qp "$qp" --size 20000 --device weft0 --device2 weft1 \
			--duration 0.3 --run-dir "$WEFT_RUN_DIR" >"$WEFT_TMP/loop.$qp" || die "loop $qp: $(cat "$WEFT_TMP/loop.$qp")"
	done
}

for crc in off on; do
	weftd_start "weftd.$crc" --nics 2 --mtu 1500 --crc "$crc"
	traffic
	checked=$(($(counter weft0 rx_crc_checked) + $(counter weft1 rx_crc_checked)))
	frames=$(($(counter weft0 rx_frames) + $(counter weft1 rx_frames)))
	say "--crc $crc: $checked CRC32Cs of $frames frames checked"
	if [ "$crc" = off ]; then
		[ "$checked" -eq 0 ] || die "$checked CRC32Cs were checked though --crc is off"
	else
		# All but ARP and TCP's pure ACKs have one.
		[ "$checked" -gt $((frames / 2)) ] || die "only $checked of $frames frames were checked"
	fi
	for nic in weft0 weft1; do
		for name in drop_dgram_crc drop_esp_crc drop_mpa_crc; do
			n=$(counter "$nic" $name)
			[ "$n" -eq 0 ] || die "$nic: $name is $n"
		done
	done
	weftd_stop "weftd.$crc"
done
