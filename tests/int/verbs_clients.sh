#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Debian's own programs of libibverbs on weft's NICs, unchanged: ibv_devices, ibv_devinfo, the pingpongs (which
# check the data with -c), perftest.
# timeout: 400

. tests/int/lib.sh

run=build/bin/weft-run
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
need ibv_devices ibv_rc_pingpong ib_send_lat gcc
netns_add v
ns=$(unique v)
weftd_start weftd --nics 2

# verbs NAME TRANSPORT COMMAND...: runs the program and returns its exit status
verbs()
{
	local name=$1 transport=$2
	shift 2
	spawn "$name" ip netns exec "$ns" "$run" --transport "$transport" "$@"
}

verbs devices iwarp ibv_devices
expect_ok devices
grep -q 'weft0' "$WEFT_TMP/devices.out" || die 'ibv_devices does not list weft0'
verbs info iwarp ibv_devinfo -v -d weft1
expect_ok info
for words in 'transport:.*iWARP' 'PORT_ACTIVE' 'link_layer:.*Ethernet' 'GID\[ *1\]:.*::ffff:10.77.0.2'; do
	grep -q "$words" "$WEFT_TMP/info.out" || die "ibv_devinfo does not say $words"
done
verbs roce ib ibv_devinfo -d weft0
expect_ok roce
grep -q 'transport:.*InfiniBand' "$WEFT_TMP/roce.out" || die '--transport ib is not shown'

# pair NAME TRANSPORT PROGRAM OPTION...: a server on weft1 and a client on weft0
port=18600
pair()
{
	local name=$1 transport=$2 program=$3
	shift 3
	# A busy machine disturbs perftest's measurement of the clock, at which it gives up without -F.
	case $program in
	ib_*) set -- -F "$@" ;;
	esac
	port=$((port + 1))
	verbs "$name.s" "$transport" "$program" -d weft1 -p "$port" "$@"
	wait_until "$program listens" tcp_listens "$ns" "$port" "$name.s"
	verbs "$name.c" "$transport" "$program" -d weft0 -p "$port" "$@" 127.0.0.1
	expect_ok "$name.c" "$name.s"
}

pair rc iwarp ibv_rc_pingpong -c -n 200
pair rc_events ib ibv_rc_pingpong -c -n 200 -e -g 1 -s 70000
pair rc_timestamps iwarp ibv_rc_pingpong -n 200 -t
pair rc_new_send iwarp ibv_rc_pingpong -c -n 200 -N
pair ud iwarp ibv_ud_pingpong -c -n 200
pair ud_events ib ibv_ud_pingpong -c -n 200 -e -g 1
pair uc iwarp ibv_uc_pingpong -c -n 200
pair uc_events ib ibv_uc_pingpong -c -n 200 -e -g 1 -s 20000
pair srq iwarp ibv_srq_pingpong -c -n 400 -q 8
pair srq_events ib ibv_srq_pingpong -c -n 400 -q 4 -e -g 1
pair xsrq iwarp ibv_xsrq_pingpong -n 200
pair xsrq_events ib ibv_xsrq_pingpong -n 200 -e -g 1 -s 70000 -m 4096
port=$((port + 1))
verbs xsrq_many.s iwarp ibv_xsrq_pingpong -d weft1 -p "$port" -c 3 -n 50
wait_until 'ibv_xsrq_pingpong listens' tcp_listens "$ns" "$port" xsrq_many.s
for i in 1 2 3; do
	verbs "xsrq_many.$i" iwarp ibv_xsrq_pingpong -d weft0 -p "$port" -n 50 127.0.0.1
done
expect_ok xsrq_many.1 xsrq_many.2 xsrq_many.3 xsrq_many.s

# perftest's servers of one-way tests stay in RTR; perftest does not check the data
for test in ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat; do
	pair "$test" ib "$test" -n 50
done
for test in ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw; do
	pair "$test" ib "$test" -n 200
done
pair send_ud ib ib_send_bw -c UD -n 200 -s 512
pair send_uc ib ib_send_lat -c UC -n 50
pair send_xrc ib ib_send_lat -c XRC -n 50
pair write_uc ib ib_write_bw -c UC -n 200 -s 4096
pair send_long ib ib_send_lat -n 20 -s 1000000
pair send_events ib ib_send_bw -n 200 -e -q 4
pair send_inline ib ib_send_lat -n 50 -s 64 -I 64

# a group: three QPs of two NICs, one of them detached again
cat >"$WEFT_TMP/group.c" <<'C'
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(cond) do { if (!(cond)) { perror(#cond); exit(1); } } while (0)
enum { QKEY = 0x1234, BYTES = 200 };

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char buf[40 + BYTES];
} end[3];
static union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};

static void make(struct end *e, struct ibv_device *device)
{
	struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_UD, .sq_sig_all = 1};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	CHECK((e->ctx = ibv_open_device(device)) && (e->pd = ibv_alloc_pd(e->ctx)));
	CHECK((e->cq = ibv_create_cq(e->ctx, 16, NULL, NULL, 0)));
	init.send_cq = init.recv_cq = e->cq;
	CHECK((e->qp = ibv_create_qp(e->pd, &init)));
	CHECK((e->mr = ibv_reg_mr(e->pd, e->buf, sizeof(e->buf), IBV_ACCESS_LOCAL_WRITE)));
	CHECK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
	attr.qp_state = IBV_QPS_RTR;
	CHECK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE) == 0);
	attr.qp_state = IBV_QPS_RTS;
	CHECK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
	sge = (struct ibv_sge){(uintptr_t)e->buf, sizeof(e->buf), e->mr->lkey};
	CHECK(ibv_post_recv(e->qp, &wr, &bad) == 0);
	CHECK(ibv_attach_mcast(e->qp, &group, 0) == 0);
}

static int completions(struct end *e, int want, struct ibv_wc *wc)
{
	int got = 0;

	for (int i = 0; i < 20000 && got < want; i++) {
		got += ibv_poll_cq(e->cq, want - got, wc + got);
		usleep(100);
	}
	return got;
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1, .grh = {.dgid = group, .sgid_index = 1}};
	static char data[BYTES] = "to everybody";
	struct ibv_sge sge = {(uintptr_t)data, BYTES, 0};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_mr *mr;
	struct ibv_wc wc[2];

	CHECK(list && list[0] && list[1]);
	make(&end[0], list[0]);
	make(&end[1], list[1]);
	make(&end[2], list[1]);
	CHECK(ibv_detach_mcast(end[2].qp, &group, 0) == 0);
	CHECK(ibv_detach_mcast(end[2].qp, &group, 0) == EINVAL);
	CHECK((mr = ibv_reg_mr(end[0].pd, data, BYTES, 0)));
	sge.lkey = mr->lkey;
	CHECK((wr.wr.ud.ah = ibv_create_ah(end[0].pd, &to)));
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = QKEY;
	CHECK(ibv_post_send(end[0].qp, &wr, &bad) == 0);
	CHECK(completions(&end[0], 2, wc) == 2); /* the Send, and its copy */
	CHECK(completions(&end[1], 1, wc) == 1 && wc->status == IBV_WC_SUCCESS);
	CHECK(wc->byte_len == 40 + BYTES && strcmp(end[1].buf + 40, data) == 0);
	CHECK(memcmp(end[1].buf + 36, group.raw + 12, 4) == 0); /* the GRH names the group */
	CHECK(ibv_poll_cq(end[2].cq, 1, wc) == 0);
	return puts("heard") < 0;
}
C
gcc -std=gnu11 -Wall "$WEFT_TMP/group.c" -o "$WEFT_TMP/group" -libverbs || die 'does not compile'
verbs group iwarp "$WEFT_TMP/group"
expect_ok group

# UCX finds the device by a node that only the preloaded library shows, and not without it
cat >"$WEFT_TMP/node.c" <<'C'
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* argv[1]: the first device's node is there (1) or not (0). */
int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int there = argc > 1 && argv[1][0] == '1', ok;
	char path[300];
	struct stat st;

	if (!list || !list[0])
		return 1;
	snprintf(path, sizeof(path), "/dev/infiniband/%s", list[0]->dev_name);
	ok = (stat(path, &st) == 0) == there && (access(path, R_OK | W_OK) == 0) == there;
	ok = ok && (!there || S_ISCHR(st.st_mode)) && open(path, O_RDWR) == -1;
	ok = ok && stat("/dev/infiniband/uverbs77", &st) == -1 && access("/dev/infiniband/uverbs7x", F_OK) == -1;
	ok = ok && stat("/dev/null", &st) == 0 && access("/dev/null", R_OK) == 0;
	return !ok || puts("as it should be") < 0;
}
C
gcc -std=gnu11 -Wall "$WEFT_TMP/node.c" -o "$WEFT_TMP/node" -libverbs || die 'does not compile'
verbs node ib "$WEFT_TMP/node" 1
verbs no_node iwarp "$WEFT_TMP/node" 0
expect_ok node no_node
if command -v ucx_info >/dev/null; then
	verbs ucx ib ucx_info -d
	expect_ok ucx
	for transport in rc_verbs ud_verbs; do
		grep -A 1 "Transport: $transport" "$WEFT_TMP/ucx.out" | grep -q weft0:1 || die "UCX has no $transport on weft0"
	done
fi

# failures are reported
verbs nobody iwarp ibv_rc_pingpong -d weft9
finish nobody
[ "$status" -ne 0 ] && grep -q 'weft9' "$WEFT_TMP/nobody.err" || die 'an unknown device is no error'
"$run" --device weft9 true 2>"$WEFT_TMP/wrong" && die 'weft-run takes an unknown NIC'
grep -q "no NIC 'weft9'" "$WEFT_TMP/wrong" || die 'weft-run does not say which NIC it missed'
tool 127 "$run" nosuchprogram
grep -q "no program 'nosuchprogram'" "$err" || die 'weft-run does not say which program it missed'
"$run" --run-dir "$WEFT_TMP/nowhere" true 2>"$WEFT_TMP/wrong" && die 'weft-run runs without a NIC'
grep -q 'start weftd' "$WEFT_TMP/wrong" || die 'weft-run does not say what to do'
"$run" --transport fddi true 2>/dev/null
[ $? -eq 2 ] || die 'a wrong transport is not told by exit status 2'

# shows NAME WORD...: weft-run with these words starts a launcher that prints its environment into
# seen
mkdir "$WEFT_TMP/launch" || die 'no folder'
printf '#!/bin/sh\nenv\n' >"$WEFT_TMP/launch/mpirun"
cp "$WEFT_TMP/launch/mpirun" "$WEFT_TMP/launch/program"
chmod +x "$WEFT_TMP/launch/"*
seen=$WEFT_TMP/seen
shows()
{
	"$@" >"$seen" 2>&1 || die "$* ends with $?"
}
has()
{
	grep -q "^$1\$" "$seen" || die "the environment has no $1"
}
lacks()
{
	! grep -q "^$1" "$seen" || die "the environment has $1"
}
launcher=$WEFT_TMP/launch/mpirun
shows "$run" "$launcher" -n 2 program
has OMPI_MCA_pml=ucx && has UCX_TLS=rc_verbs,ud_verbs,self && has MPIR_CVAR_NOLOCAL=1 && has WEFT_VERBS_TRANSPORT=ib
grep -q '^LD_PRELOAD=.*libweft-preload' "$seen" || die 'a launcher has no preload library'
# The folder of coll/weft is named to every launcher.
shows "$run" "$launcher" --mca pml ob1 -n 2 program
lacks 'OMPI_MCA_[^m]' && has UCX_TLS=rc_verbs,ud_verbs,self
shows env OMPI_MCA_pml=cm UCX_TLS=ud_verbs "$run" "$launcher" -n 2 program
has OMPI_MCA_pml=cm && has UCX_TLS=ud_verbs && lacks OMPI_MCA_osc
shows env OMPI_COMM_WORLD_RANK=1 "$run" "$WEFT_TMP/launch/program"
has OMPI_MCA_pml=ucx && has WEFT_VERBS_TRANSPORT=ib
shows env PMIX_RANK=1 "$run" "$WEFT_TMP/launch/program"
has OMPI_MCA_pml=ucx && has WEFT_VERBS_TRANSPORT=ib
shows env PMIX_RANK=1 "$run" --libfabric "$WEFT_TMP/launch/program"
has OMPI_MCA_pml=cm && has OMPI_MCA_mtl=ofi && has FI_PROVIDER=weft
cp "$launcher" "$WEFT_TMP/launch/srun"
shows "$run" "$WEFT_TMP/launch/srun" --mpi=pmix -n 2 program
has OMPI_MCA_pml=ucx && has UCX_TLS=rc_verbs,ud_verbs,self
shows "$run" --transport iwarp "$launcher"
lacks 'OMPI_MCA_[^m]' && lacks UCX_TLS && has WEFT_VERBS_TRANSPORT=iwarp
shows "$run" "$WEFT_TMP/launch/program"
lacks OMPI_MCA_ && lacks UCX_TLS && has WEFT_VERBS_TRANSPORT=iwarp
weftd_stop weftd
