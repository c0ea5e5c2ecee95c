#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# RC over TCP with Linux's TCP as the peer, in short. An endpoint over a socket and a queue pair
# take the active side in turn, on a veth by AF_XDP, with frames of many segments both ways, then of
# one segment with 1 % loss. tests/interop has the long form.

. tests/int/lib.sh
. tests/interop/lib.sh

need ethtool
wire_up 1500
nic_up weftd --netdev xdp
pair rc sock 5000 '' -o write -d both -n 60
pair sock rc 20000 '' -o send -d both -n 60 -c -e both
pair sock rc 5000 '' -o read -n 60 -m
offloads on
pair rc sock 50000 '' -o write -n 60
pair sock rc 50000 '' -o write -n 60
counter_above "$nic" gso_frames 0 || die 'no frames of many segments were sent'
counter_above "$nic" xsk_queue0_rx_large 0 || die 'no frames of many segments came'
offloads off
wire -t 100 -l 1 -r 2 -d 1
pair rc sock 20000 '' -o read -d active -n 40
wire
nothing_left
weftd_stop weftd
