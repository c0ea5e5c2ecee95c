#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Debian's Slurm on two nodes with weft's NICs: slurmctld and a slurmd in one namespace, a slurmd in another, a
# weftd in each, a veth between them. `srun --mpi=pmix` starts GOAL programs and MPI programs (over UCX, with
# coll/weft, over libfabric) of an ordinary user on both; dist/slurm's prolog and epilog divide the shares among
# the users who have jobs, and a node whose weftd is gone gets no job. docs/slurm.md.
#
# Debian's slurmd is built without --enable-multiple-slurmd ("Duplicated NodeHostName"), so each node has a
# hostname, a network and a /run of its own.
#
# timeout: 900

# shellcheck disable=SC2154 # lib.sh has out, err and status
if [ -z "${WEFT_INNER:-}" ]; then
	[ "$(id -u)" -eq 0 ] || { echo 'no veth here' && exit 77; }
	exec unshare --mount --pid --net --fork --kill-child --mount-proc --propagation private env WEFT_INNER=1 bash "$0"
fi

. tests/int/lib.sh
. tests/ops/users.sh
need slurmctld slurmd srun munged mpirun.openmpi setpriv
export LIMIT=240
release=$PWD/build/bin
[ -x "$release/weft-run" ] || skip 'libibverbs-dev is not installed'
make -s build/mpi/openmpi/p2p build/mpi/openmpi/coll >/dev/null || die 'the programs of tests/mpi do not compile'
programs=$PWD/build/mpi/openmpi

# ---- users, names, and two nodes --------------------------------------------------------------

users_make
printf '%s\n' '127.0.0.1 localhost' '10.88.0.1 n1' '10.88.0.2 n2' >"$WEFT_TMP/etc/hosts"
mount --bind "$WEFT_TMP/etc/hosts" /etc/hosts
for user in ann bob; do
	mkdir -p "$WEFT_TMP/$user/tmp"
	chown -R $user:$user "$WEFT_TMP/$user"
done
mount -t tmpfs tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /dev/shm

# node NUMBER COMMAND...: on that node
cat >"$WEFT_TMP/node" <<NODE
#!/bin/sh
n=\$1
shift
exec ip netns exec "$(unique n)\$n" unshare --mount --uts "$WEFT_TMP/on_node" \$n "\$@"
NODE
cat >"$WEFT_TMP/on_node" <<NODE
#!/bin/sh
hostname "n\$1" && mount --bind "$WEFT_TMP/n\$1/run" /run || exit 1
shift
unset WEFT_RUN_DIR
exec "\$@"
NODE
chmod 755 "$WEFT_TMP/node" "$WEFT_TMP/on_node"
node=$WEFT_TMP/node

for n in 1 2; do
	netns_add n$n
	mkdir -p "$WEFT_TMP/n$n/run/weft" "$WEFT_TMP/n$n/spool"
	mkdir -m 1777 "$WEFT_TMP/n$n/tmp"
	chown weft:weft "$WEFT_TMP/n$n/run/weft"
	chmod 750 "$WEFT_TMP/n$n/run/weft"
done
ip link add eth1 netns "$(unique n1)" type veth peer name eth1 netns "$(unique n2)" || skip 'no veth here'
for n in 1 2; do
	ip -n "$(unique n$n)" addr add 10.88.0.$n/24 dev eth1
	ip -n "$(unique n$n)" link set eth1 up
done

# weft NUMBER: its weftd, with a NIC at 10.88.0.1NUMBER
weft()
{
	spawn "weftd$1" "$node" "$1" "$release/weftd" --port eth1 --ip "10.88.0.1$1/24"
	says "weftd$1" '^weftd: ready'
}
weft 1
weft 2
on() { "$node" "$1" "$release/weftctl" "${@:2}" || die "weftctl ${*:2} on n$1: exit status $?"; }
# stat_of NODE COUNTER
stat_of() { on "$1" stats weft0 | awk -v name="$2:" '$1 == name { print $2 }'; }

# ---- Slurm ------------------------------------------------------------------------------------

head -c 1024 /dev/urandom >"$WEFT_TMP/munge.key"
chmod 400 "$WEFT_TMP/munge.key"
spawn munged munged -F --force --key-file="$WEFT_TMP/munge.key" --socket="$WEFT_TMP/munge.sock" \
	--pid-file="$WEFT_TMP/munge.pid" --seed-file="$WEFT_TMP/munge.seed" --log-file="$WEFT_TMP/munge.log"
wait_until 'munged listens' test -S "$WEFT_TMP/munge.sock"
# The programs of the tree, in the place of installed ones.
for f in prolog epilog; do
	printf '#!/bin/sh\nPATH=%s:$PATH exec %s/dist/slurm/%s >>%s/%s.out 2>&1\n' "$release" "$PWD" $f "$WEFT_TMP" $f >"$WEFT_TMP/$f"
	chmod 755 "$WEFT_TMP/$f"
done
mkdir "$WEFT_TMP/state"
cat >"$WEFT_TMP/slurm.conf" <<CONF
ClusterName=weft
SlurmctldHost=n1(10.88.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$WEFT_TMP/munge.sock
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=300
SlurmdTimeout=300
KillWait=2
Prolog=$WEFT_TMP/prolog
Epilog=$WEFT_TMP/epilog
PrologFlags=Alloc
StateSaveLocation=$WEFT_TMP/state
SlurmdSpoolDir=$WEFT_TMP/%n/spool
TmpFS=$WEFT_TMP/%n/tmp
SlurmctldPidFile=$WEFT_TMP/slurmctld.pid
SlurmdPidFile=$WEFT_TMP/%n/slurmd.pid
SlurmctldLogFile=$WEFT_TMP/slurmctld.log
SlurmdLogFile=$WEFT_TMP/slurmd.%n.log
NodeName=n1 NodeAddr=10.88.0.1 CPUs=2 State=UNKNOWN
NodeName=n2 NodeAddr=10.88.0.2 CPUs=2 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
# slurmd looks for cgroups, which a namespace does not show, although nothing here uses them.
echo 'CgroupPlugin=cgroup/v1' >"$WEFT_TMP/cgroup.conf"
chmod 644 "$WEFT_TMP/slurm.conf" "$WEFT_TMP/cgroup.conf"
export SLURM_CONF=$WEFT_TMP/slurm.conf
spawn slurmctld "$node" 1 slurmctld -D
for n in 1 2; do
	spawn slurmd$n "$node" $n slurmd -D -N n$n
done

# as NAME USER COMMAND...: a program of the user on n1, in the background
as()
{
	local name=$1 user=$2
	shift 2
	spawn "$name" "$node" 1 setpriv --reuid "$user" --regid "$user" --init-groups env -i PATH="$release:$PATH" \
		LC_ALL=C HOME="$WEFT_TMP/$user" TMPDIR="$WEFT_TMP/$user/tmp" SLURM_CONF="$SLURM_CONF" sh -c 'cd / && exec "$@"' sh "$@"
}
idle()
{
	for f in slurmctld slurmd1 slurmd2; do
		alive $f || die "$f has ended: $(tail -n 5 "$WEFT_TMP"/slurm*.log)"
	done
	[ "$("$node" 1 sinfo -h -N -o '%N %T' 2>/dev/null | tr '\n' ' ')" = 'n1 idle n2 idle ' ]
}
# job_ok NAME: it ended well; otherwise what Slurm has to say
job_ok()
{
	finish "$1"
	[ "$status" -eq 0 ] || die "$1 ended with exit status $status; $(tail -n 5 "$WEFT_TMP"/slurm*.log)"
}
wait_until 'both nodes are idle' idle
say "$("$node" 1 sinfo -V): $("$node" 1 srun --mpi=list 2>&1 | tr '\n' ' ')"

# ---- programs ---------------------------------------------------------------------------------

say 'hostnames'
as names ann srun -N 2 -n 2 hostname
job_ok names
[ "$(sort "$WEFT_TMP/names.out" | tr '\n' ' ')" = 'n1 n2 ' ] || die "the ranks are on $(cat "$WEFT_TMP/names.out")"

say 'a GOAL program'
runs=$(stat_of 2 goal_runs_done)
as goal ann srun --mpi=pmix -N 2 -n 4 goal-bench coll barrier allreduce:65536 --iters 50
job_ok goal
say "$(tr '}' '\n' <"$WEFT_TMP/goal.out")"
[ "$(stat_of 2 goal_runs_done)" -gt "$runs" ] || die 'n2 ran no collective'

say 'MPI over UCX, with the collectives of coll/weft'
bytes=$(stat_of 2 rx_bytes) runs=$(stat_of 2 goal_runs_done)
as p2p ann srun --mpi=pmix -N 2 -n 4 weft-run "$programs/p2p" --quick --max-bytes 20000 --timeout 200
job_ok p2p
say "$(cat "$WEFT_TMP/p2p.out")"
grep -q '^p2p: ok, 4 ranks' "$WEFT_TMP/p2p.out" || die "p2p prints $(cat "$WEFT_TMP/p2p.out")"
[ $(($(stat_of 2 rx_bytes) - bytes)) -gt 1000000 ] || die 'the NIC of n2 received little'
as coll ann srun --mpi=pmix -N 2 -n 4 weft-run "$programs/coll" --quick --max-bytes 20000 --timeout 200
job_ok coll
grep -q '^coll: ok, 4 ranks' "$WEFT_TMP/coll.out" || die "coll prints $(cat "$WEFT_TMP/coll.out")"
[ "$(stat_of 2 goal_runs_done)" -gt "$runs" ] || die 'n2 ran no collective of MPI'

say 'MPI over libfabric'
as fabric ann srun --mpi=pmix -N 2 -n 4 weft-run --libfabric "$programs/p2p" --quick --max-bytes 20000 --timeout 200
job_ok fabric
grep -q '^p2p: ok, 4 ranks' "$WEFT_TMP/fabric.out" || die "p2p prints $(cat "$WEFT_TMP/fabric.out")"

say 'a job that is cancelled leaves nothing'
as long ann srun --mpi=pmix -N 2 -n 2 goal-bench coll allreduce:65536 --iters 1000000
busy() { on "$1" clients weft0 | grep -q goal-bench; }
runs_on_n2() { dead long || busy 2; }
wait_until 'the program runs on n2' runs_on_n2
busy 2 || die 'the job ended before it could be cancelled'
"$node" 1 scancel -u ann
finish long
[ "$status" -ne 0 ] || die 'a cancelled job ends with 0'
quiet() { ! busy 1 && ! busy 2; }
wait_until 'the NICs are left' quiet
wait_until 'both nodes are idle' idle

# ---- shares -----------------------------------------------------------------------------------

# share_is N: what a user may have of queue pairs on n1
share_is() { on 1 quota | grep -q "user:qp=$1\$"; }
say 'shares: one user, two users, one user'
wait_until 'the share of one user' share_is 12000
as first ann srun -w n1 -n 1 sleep 600
has_job() { cat "$WEFT_TMP"/n1/run/weft-slurm/job.* 2>/dev/null | grep -q "^$1$"; }
wait_until 'ann has a job' has_job 60802
share_is 12000 || die 'a user alone has not the whole share'
as alone ann srun --overlap --jobid "$("$node" 1 squeue -h -u ann -o %i)" weft-bench create --device weft0 --qps 6100
job_ok alone
as second bob srun -w n1 -n 1 sh -c 'weft-bench create --device weft0 --qps 6100; echo "many: $?"; weft-bench create --device weft0 --qps 500; echo "few: $?"; sleep 600'
wait_until 'bob has tried' grep -q '^few' "$WEFT_TMP/second.out"
say "$("$node" 1 squeue -h -o '%i %u %N %T')" "$(on 1 quota)"
share_is 6000 || die "two users, and the shares are $(on 1 quota)"
grep -q '^many: 1$' "$WEFT_TMP/second.out" || die 'bob gets more than a half'
grep -q '^few: 0$' "$WEFT_TMP/second.out" || die 'bob gets nothing'
grep -q 'Disk quota exceeded' "$WEFT_TMP/second.err" || die 'the error names no quota'
"$node" 1 scancel -u ann
finish first
wait_until 'the share of one user, again' share_is 12000
"$node" 1 scancel -u bob
finish second
wait_until 'both nodes are idle' idle

say 'a node whose weftd is gone'
kill9 weftd2
as gone ann srun -w n2 -n 1 true
drained() { "$node" 1 sinfo -h -n n2 -o %T | grep -q drain; }
wait_until 'Slurm drains n2' drained
say "$("$node" 1 sinfo -h -N -o '%N %T %E')"
"$node" 1 scancel -u ann
finish gone
[ "$status" -ne 0 ] || die 'a job ran on a node without a NIC'
weft 2
"$node" 1 scontrol update nodename=n2 state=resume
wait_until 'both nodes are idle' idle
as back ann srun -N 2 -n 2 hostname
job_ok back

for n in 1 2; do
	kill -TERM "${pid[slurmd$n]}"
	finish slurmd$n
done
kill -TERM "${pid[slurmctld]}"
finish slurmctld
weftd_stop weftd1
weftd_stop weftd2
kill -TERM "${pid[munged]}"
finish munged
