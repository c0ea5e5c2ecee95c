#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The first program of the guest that guest.sh boots: mounts what programs need, loads the modules,
# carries out the acts of the kernel's command line (guest_acts.sh) and ends the machine. The last
# line on the console is "guest: ended N", N the exit status of the acts.

/bin/busybox --install -s /bin 2>/dev/null
export PATH=/weft/bin:/usr/bin:/bin:/sbin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mkdir -p /run/weft /var/run
while read -r module; do
	insmod "/mods/$module" 2>/dev/null
done </mods/order
# shellcheck disable=SC3045 # busybox has it
ulimit -l unlimited
ip link set lo up
acts=$(sed -n 's/.*\bweft\.acts=\([^ ]*\).*/\1/p' /proc/cmdline | base64 -d)
echo "guest: booted in $(cut -d' ' -f1 /proc/uptime) s"
# shellcheck disable=SC2086 # words
/acts $acts 2>&1
echo "guest: ended $?"
poweroff -f
