#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The first and only program of the guest that guest.sh boots: loads the modules, gives eth0 its
# address and siw its device, and runs the commands from the side channel, one at a time: a line of
# base64 each. Sends back their output and a last line @@N, their exit status.

/bin/busybox --install -s /bin 2>/dev/null
export PATH=/usr/bin:/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm

# Prints the value of weft.NAME on the kernel's command line.
arg()
{
	sed -n "s/.*\bweft\.$1=\([^ ]*\).*/\1/p" /proc/cmdline
}

siw_words=$(arg siw | base64 -d)
while read -r module; do
	words=
	[ "$module" = siw.ko ] && words=$siw_words
	# shellcheck disable=SC2086 # parameters are words
	insmod "/mods/$module" $words 2>/dev/null
done </mods/order

# shellcheck disable=SC3045 # busybox has it
ulimit -l unlimited
ip link set lo up
ip link set eth0 mtu "$(arg mtu)"
ip addr add "$(arg ip)" dev eth0
ip link set eth0 up
rdma link add siw0 type siw netdev eth0

(
	exec 3<>/dev/hvc0
	stty raw -echo <&3
	while read -r line <&3; do
		[ -n "$line" ] || continue
		sh -c "$(echo "$line" | base64 -d)" </dev/null >/tmp/out 2>&1
		echo "@@$?" >>/tmp/out
		cat /tmp/out >&3
	done
) &
echo "guest: ready $(rdma link | tr '\n' ';')"
while :; do
	sleep 1000
done
