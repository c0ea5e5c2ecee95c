#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Containers of podman on weft's NICs: two users run perftest and rping against each other in rootless
# containers that have `weftctl cdi`'s device and nothing else; ranks of an MPI job in a container each;
# weftd in a container of its own image. docs/containers.md says what works and what cannot, and each
# such sentence is a case here.
#
# All of it runs in mount and PID namespaces of the test, with users that exist there alone.
#
# timeout: 3000

# shellcheck disable=SC2154 # lib.sh has out, err and status
if [ -z "${WEFT_INNER:-}" ]; then
	[ "$(id -u)" -eq 0 ] || { echo 'a Debian root needs root' && exit 77; }
	exec unshare --mount --pid --fork --kill-child --mount-proc --propagation private env WEFT_INNER=1 bash "$0"
fi

. tests/int/lib.sh
. tests/ops/root.sh
. tests/ops/users.sh
need podman crun unshare setpriv
export LIMIT=240
release=$PWD/build/bin

# Podman wants shared mounts; crun refuses a machine that has both versions of cgroups.
mount --make-rshared /
if [ -d /sys/fs/cgroup/unified ]; then
	umount -R /sys/fs/cgroup 2>/dev/null
	mount -t tmpfs tmpfs /sys/fs/cgroup
fi

# ---- users of this namespace ----------------------------------------------------------------

users_make
: >"$WEFT_TMP/etc/subid"
# members LIST: of the group weft. The file stays the one that is mounted.
members()
{
	sed "s/^weft:x:60801:.*/weft:x:60801:$1/" "$WEFT_TMP/etc/group" >"$WEFT_TMP/etc/group.new"
	cat "$WEFT_TMP/etc/group.new" >"$WEFT_TMP/etc/group"
}
for f in /etc/subuid /etc/subgid; do
	[ ! -e $f ] || mount --bind "$WEFT_TMP/etc/subid" $f
done
mkdir "$WEFT_TMP/cdi"
for d in /etc/cdi /run/cdi; do
	if [ ! -d $d ]; then
		mkdir $d
		at_exit "rmdir $d"
	fi
	mount --bind "$WEFT_TMP/cdi" $d
	at_exit "umount $d"
done

podman=(podman --cgroup-manager cgroupfs --events-backend none)
# as USER COMMAND...: a member of the group weft
as()
{
	local user=$1
	shift
	mkdir -p "$WEFT_TMP/$user/xdg"
	chmod 700 "$WEFT_TMP/$user/xdg"
	chown "$user:$user" "$WEFT_TMP/$user" "$WEFT_TMP/$user/xdg"
	(cd / && exec setpriv --reuid "$user" --regid "$user" --init-groups env -i PATH="$PATH" LC_ALL=C \
		HOME="$WEFT_TMP/$user" XDG_RUNTIME_DIR="$WEFT_TMP/$user/xdg" "$@")
}

# contain NAME USER DEVICE COMMAND...: a rootless container without network, with that device
contain()
{
	local name=$1 user=$2 device=$3
	shift 3
	spawn "$name" as "$user" "${podman[@]}" run --rm --network none --cgroups disabled --ulimit host \
		--group-add keep-groups --device "weft/nic=$device" "${options[@]}" localhost/clients "$@"
}
options=()

# ---- an image of programs -------------------------------------------------------------------

root=$WEFT_TMP/root
root_make "$root"
root_apt "$root" update
root_apt "$root" install perftest rdmacm-utils ibverbs-utils openmpi-bin
make -s build/mpi/openmpi/p2p >/dev/null || die 'tests/mpi/p2p.c does not compile'
cp build/mpi/openmpi/p2p build/bin/weft-bench build/bin/weftctl "$root/usr/local/bin/"
# A user has one number in a rootless container, and so have its files.
tar -C "$root" --owner=0 --group=0 --numeric-owner --mode=u+rwX --exclude=./var/cache -cf "$WEFT_TMP/clients.tar" .
for user in ann bob; do
	as $user "${podman[@]}" import -q - localhost/clients <"$WEFT_TMP/clients.tar" >"$out" 2>"$err" ||
		die "podman import: $(cat "$err")"
done

# ---- clients in containers, weftd on the host -----------------------------------------------

mkdir -p "$WEFT_RUN_DIR"
chown weft:weft "$WEFT_RUN_DIR"
chmod 750 "$WEFT_RUN_DIR"
spawn weftd "$release/weftd" --nics 2
says weftd '^weftd: ready'
tool 0 "$release/weftctl" cdi -w "$WEFT_TMP/cdi/weft.json"
python3 - "$WEFT_TMP/cdi/weft.json" "$WEFT_RUN_DIR" <<'PY' || die 'the CDI file'
import json, os, sys
spec = json.load(open(sys.argv[1]))
assert spec["cdiVersion"] == "0.5.0" and spec["kind"] == "weft/nic", spec
assert [d["name"] for d in spec["devices"]] == ["weft0", "weft1", "all"], spec["devices"]
mounts = spec["containerEdits"]["mounts"]
assert mounts[0]["hostPath"] == os.path.realpath(sys.argv[2]), mounts
assert all(os.path.exists(m["hostPath"]) and "ro" in m["options"] for m in mounts), mounts
PY
tool 1 "$release/weftctl" cdi weft7
grep -q "no NIC 'weft7'" "$err" || die "$(cat "$err")"

say 'each device shows its NIC'
for nic in weft0 weft1; do
	contain "devices_$nic" ann $nic ibv_devices
	expect_ok "devices_$nic"
	grep -q "^ *$nic " "$WEFT_TMP/devices_$nic.out" || die "no $nic in the container"
	[ "$(grep -c weft "$WEFT_TMP/devices_$nic.out")" -eq 1 ] || die "more than $nic in the container"
done

say 'perftest and rping between the containers of two users'
contain write.s bob weft1 ib_write_bw -R -n 200
wait_until 'ib_write_bw listens' uses weft1 verbs
ctl clients weft1 >"$WEFT_TMP/list"
# The user and the process are the host's.
read -r user number < <(awk '$11 == "ib_write_bw" { print $8, $4 }' "$WEFT_TMP/list")
[ "$user" = bob ] || die "ib_write_bw belongs to '$user': $(cat "$WEFT_TMP/list")"
grep -q ib_write_bw "/proc/$number/comm" || die "process $number is not ib_write_bw"
[ "$(readlink "/proc/$number/ns/user")" != "$(readlink /proc/self/ns/user)" ] || die 'no user namespace'
[ "$(readlink "/proc/$number/ns/pid")" != "$(readlink /proc/self/ns/pid)" ] || die 'no PID namespace'
contain write.c ann weft0 ib_write_bw -R -n 200 10.77.0.2
expect_ok write.c write.s
contain ping.s bob weft1 rping -s -C 20 -V
wait_until 'rping listens' uses weft1 verbs
contain ping.c ann weft0 rping -c -a 10.77.0.2 -C 20 -V
expect_ok ping.c ping.s

say 'memory that weftd copies, by the /proc of a container'
options=(--env WEFT_MEM=process_vm)
contain copied.s bob weft1 rping -s -C 20 -V
wait_until 'rping listens' uses weft1 verbs
contain copied.c ann weft0 rping -c -a 10.77.0.2 -C 20 -V
expect_ok copied.c copied.s
counter_is weft0 attach_memory_refused 0
counter_is weft1 attach_memory_refused 0

say 'a container that is killed leaves nothing'
options=()
contain killed.s bob weft1 ib_write_bw -R --run_infinitely
wait_until 'ib_write_bw listens' uses weft1 verbs
number=$(ctl clients weft1 | awk '$11 == "ib_write_bw" { print $4; exit }')
kill -KILL "$number"
finish killed.s
expect_objects weft1 '0 0 0 0'

say 'a user that is not in the group'
members ann
contain stranger bob weft1 ibv_devices
finish stranger
! grep -q '^ *weft1 ' "$WEFT_TMP/stranger.out" || die 'a user who is not in the group reaches the NIC'
members ann,bob

say 'ranks of an MPI job'
contain mpi ann all /opt/weft/bin/weft-run mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 p2p --quick --max-bytes 20000 --timeout 150
expect_ok mpi

say 'ranks in a container each, started from outside'
mkdir -m 700 "$WEFT_TMP/ann/job"
chown ann:ann "$WEFT_TMP/ann/job"
spawn ranks as ann PMIX_MCA_psec=none mpirun.openmpi --oversubscribe --mca orte_tmpdir_base "$WEFT_TMP/ann/job" --mca pml ucx -n 2 \
	"${podman[@]}" run --rm --env-host --network host --cgroups disabled --ulimit host --group-add keep-groups \
	-v "$WEFT_TMP/ann/job:$WEFT_TMP/ann/job" --device weft/nic=all localhost/clients \
	/opt/weft/bin/weft-run p2p --quick --max-bytes 20000 --timeout 150
expect_ok ranks
grep -q '^p2p: ok, 2 ranks' "$WEFT_TMP/ranks.out" || die "p2p prints $(cat "$WEFT_TMP/ranks.out")"
weftd_stop weftd

# ---- weftd in a container, clients on the host ------------------------------------------------

say 'an image with weftd'
root_debs
# Podman takes at most 50 characters for this path.
mkdir "$WEFT_TMP/runroot"
mount --bind "$WEFT_TMP/runroot" /mnt
engine=("${podman[@]}" --root "$WEFT_TMP/store" --runroot /mnt --tmpdir "$WEFT_TMP/engine")
"${engine[@]}" import -q - localhost/debian <"$ROOT_CACHE/debian-12.tar" >"$out" 2>"$err" || die "podman import: $(cat "$err")"
"${engine[@]}" build --isolation chroot --network host -v "$ROOT_CACHE/archives:/var/cache/apt/archives" \
	--build-arg BASE=localhost/debian -t localhost/weftd -f dist/container/Containerfile build/deb >"$out" 2>"$err" ||
	die "podman build: $(tail -n 20 "$out" "$err")"

run=("$release/weft-run")
# ping NAME: rping between two processes of the host
ping()
{
	spawn "$1.s" "${run[@]}" --device weft1 rping -s -C 20 -V
	wait_until 'rping listens' uses weft1 verbs
	spawn "$1.c" "${run[@]}" --device weft0 rping -c -a 10.77.0.2 -C 20 -V
}

say 'weftd in a PID namespace of its own: memory that it maps'
export WEFT_RUN_DIR=$WEFT_TMP/inner.run
mkdir "$WEFT_RUN_DIR"
spawn inner "${engine[@]}" run --rm --name inner --network none --cgroups disabled --ulimit host \
	-v "$WEFT_RUN_DIR:/run/weft" localhost/weftd --nics 2
says inner '^weftd: ready'
ping mapped
expect_ok mapped.c mapped.s
export WEFT_MEM=process_vm
ping refused
finish refused.c
[ "$status" -ne 0 ] || die 'memory of a process that weftd cannot see was registered'
grep -q 'reg_mr failed' "$WEFT_TMP/refused.c.err" || die 'rping fails elsewhere'
kill9 refused.s
unset WEFT_MEM
expect_objects weft0 '0 0 0 0'
"${engine[@]}" stop -t 20 inner >/dev/null 2>&1
finish inner

say 'weftd in a user namespace: its user, one who is not mapped there, and a stranger'
export WEFT_RUN_DIR=$WEFT_TMP/user.run
mkdir "$WEFT_RUN_DIR"
chown ann:ann "$WEFT_RUN_DIR"
spawn mapped_root setpriv --reuid ann --regid ann --clear-groups unshare --user --map-root-user "$release/weftd" --nics 2 --run-dir "$WEFT_RUN_DIR"
says mapped_root '^weftd: ready'
for user in ann root; do
	run=(setpriv --reuid "$user" --regid ann --clear-groups "$release/weft-run")
	ping "mapped_$user"
	expect_ok "mapped_$user.c" "mapped_$user.s"
	export WEFT_MEM=process_vm
	ping "copied_$user"
	expect_ok "copied_$user.c" "copied_$user.s"
	unset WEFT_MEM
done
! setpriv --reuid bob --regid bob --clear-groups "$release/weft-run" --device weft0 rping -c -a 10.77.0.2 -C 1 >"$out" 2>"$err" ||
	die 'a stranger reaches the NICs'
expect_objects weft0 '0 0 0 0'
weftd_stop mapped_root
