/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves data between two devices by all operations of verbs, and checks every byte.
 *
 * A batch is a few requests on lanes of every type, drawn: operation, size, pieces at either end,
 * inline or not, signalled or not, ibv_post_send() or ibv_wr_*(), polled or by events. When all are
 * complete, all memory of both ends is compared with its expected content. Now and then a window is
 * bound, used and invalidated. Run by perftest.sh along with perftest, which does not check its
 * data. --help lists its options. Exit codes: 0, 1 wrong, 2 usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/cli.h"
#include "tests/clients/verbs_data.h"

enum {
	LOSSY_BYTES = 48 << 10, /* requests of a batch, on lanes that may lose messages without a
				   queued receive */
	MAX_BYTES = 400000,
};

struct end end[2];
static struct lane lane[NUM_LANES] = {
    {.type = IBV_QPT_RC},
    {.type = IBV_QPT_RC, .builder = true},
    {.type = IBV_QPT_RC, .srq = true},
    {.type = IBV_QPT_RC, .srq = true, .builder = true},
    {.type = IBV_QPT_UC},
    {.type = IBV_QPT_UC, .builder = true},
    {.type = IBV_QPT_UD},
    {.type = IBV_QPT_UD, .builder = true},
};
struct op op[MAX_OPS];
struct recv recv_of[2][MAX_OPS]; /* by wr_id, at each end */
uint32_t num_ops, num_recvs[2];
static uint64_t total_bytes, total_ops;

/* ---- drawing --------------------------------------------------------------------------------- */

static uint32_t draw_bytes(uint32_t most)
{
	static const uint32_t near[] = {0,    1,    8,    64,   200,   256,   1024,
					1460, 4096, 8192, 9000, 65536, 131072};
	uint32_t n;

	switch (draw(4)) {
	case 0:
		n = draw(300);
		break;
	case 1:
		n = near[draw(sizeof(near) / sizeof(near[0]))] + draw(5);
		n -= n > 2 ? 2 : n;
		break;
	case 2:
		n = draw(20000);
		break;
	default:
		n = draw(8) ? draw(4000) : draw(MAX_BYTES);
		break;
	}
	return n < most ? n : most;
}

static uint32_t most_bytes(const struct op *o, uint32_t lossy_left)
{
	uint32_t most = MAX_BYTES;

	if (o->lane->type == IBV_QPT_UD)
		most = end[o->from].mtu < end[!o->from].mtu ? end[o->from].mtu : end[!o->from].mtu;
	if (o->lane->srq && (o->kind == SEND || o->kind == SEND_IMM))
		most = SRQ_BYTES;
	if (o->lane->type != IBV_QPT_RC && most > lossy_left)
		most = lossy_left;
	return most;
}

static enum kind draw_kind(enum ibv_qp_type type)
{
	if (type == IBV_QPT_UD)
		return draw(2) ? SEND : SEND_IMM;
	return (enum kind)draw(type == IBV_QPT_UC ? WRITE_IMM + 1 : NUM_KINDS);
}

static bool draw_op(struct op *o, uint32_t *lossy_left)
{
	bool atomic;

	memset(o, 0, sizeof(*o));
	o->lane = &lane[draw(NUM_LANES)];
	o->from = (int)draw(2);
	o->kind = draw_kind(o->lane->type);
	atomic = o->kind == SWAP || o->kind == ADD;
	o->bytes = atomic ? 8 : draw_bytes(most_bytes(o, *lossy_left));
	if (o->lane->type != IBV_QPT_RC)
		*lossy_left -= o->bytes;
	o->imm = draw(UINT32_MAX);
	o->signalled = draw(3) == 0;
	o->is_inline = o->kind <= WRITE_IMM && o->bytes <= INLINE_BYTES && draw(2);
	if (atomic) {
		o->local.num = 1;
		if (!place(&end[o->from], 8, 8, &o->local.piece[0]))
			return false;
	} else if (!place_all(&end[o->from], o->bytes, &o->local)) {
		return false;
	}
	if (o->kind >= WRITE && !place(&end[!o->from], o->bytes, atomic ? 8 : 1, &o->remote))
		return false;
	if (o->kind <= WRITE_IMM)
		for (uint32_t i = 0; i < o->local.num; i++)
			fill(&o->local.piece[i]);
	else
		fill(&o->remote);
	return true;
}

/* A Write of UC has no completion at the receiver, so the last one of a lane has immediate data. */
static void tell_last(void)
{
	for (uint32_t i = 0; i < num_ops; i++) {
		bool last = true, last_ever = true;

		for (uint32_t j = i + 1; j < num_ops; j++)
			if (op[j].lane == op[i].lane && op[j].from == op[i].from) {
				last_ever = false;
				last = last && !takes_receive(&op[j]);
			}
		if (op[i].kind == WRITE && op[i].lane->type == IBV_QPT_UC && last)
			op[i].kind = WRITE_IMM;
		/* all earlier ones are complete with it */
		op[i].signalled |= last_ever;
	}
}

static void draw_atomics(void)
{
	for (uint32_t i = 0; i < num_ops; i++) {
		uint64_t now;

		if (op[i].kind != SWAP && op[i].kind != ADD)
			continue;
		memcpy(&now, op[i].remote.region->shadow + op[i].remote.at, 8);
		op[i].operand = (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
		op[i].compare = draw(2) ? now : now + 1;
	}
}

/* ---- checks */

/* The shadow byte at an offset of a list of pieces. */
static uint8_t *shadow_at(const struct pieces *list, uint32_t offset)
{
	uint32_t i = 0;

	while (offset >= list->piece[i].bytes)
		offset -= list->piece[i++].bytes;
	return list->piece[i].region->shadow + list->piece[i].at + offset;
}

static uint8_t mem_at(const struct pieces *list, uint32_t offset)
{
	uint32_t i = 0;

	while (offset >= list->piece[i].bytes)
		offset -= list->piece[i++].bytes;
	return list->piece[i].region->mem[list->piece[i].at + offset];
}

static void expect_remote(const struct op *o)
{
	uint8_t *remote;
	uint64_t old, value;

	if (o->kind < WRITE)
		return;
	remote = o->remote.region->shadow + o->remote.at;
	switch (o->kind) {
	case WRITE:
	case WRITE_IMM:
		for (uint32_t i = 0; i < o->bytes; i++)
			remote[i] = *shadow_at(&o->local, i);
		break;
	case READ:
		for (uint32_t i = 0; i < o->bytes; i++)
			*shadow_at(&o->local, i) = remote[i];
		break;
	case SWAP:
	case ADD:
		memcpy(&old, remote, 8);
		value = o->kind == ADD ? old + o->operand : old == o->compare ? o->operand : old;
		memcpy(shadow_at(&o->local, 0), &old, 8);
		memcpy(remote, &value, 8);
		break;
	case SEND:
	case SEND_IMM:
	case NUM_KINDS:
		break;
	}
}

/* The oldest message of the lane that was not received yet: they arrive in order. */
static struct op *expected_on(int at, uint32_t qpn)
{
	for (uint32_t i = 0; i < num_ops; i++)
		if (op[i].from != at && !op[i].received && takes_receive(&op[i]) &&
		    op[i].lane->qp[at]->qp_num == qpn)
			return &op[i];
	die("end %d: QP %u received what nobody sent", at, qpn);
}

static void receive(int at, const struct ibv_wc *wc)
{
	struct recv *r = &recv_of[at][wc->wr_id];
	struct op *o = expected_on(at, wc->qp_num);
	bool ud = o->lane->type == IBV_QPT_UD;
	uint32_t skip = ud ? GRH_BYTES : 0;

	CHECK(wc->wr_id < num_recvs[at] && !r->used && (!r->op || r->op == o));
	r->used = o->received = true;
	CHECK(wc->opcode == (o->kind == WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV));
	CHECK(!(wc->wc_flags & IBV_WC_WITH_IMM) == (o->kind == SEND));
	CHECK(o->kind == SEND || wc->imm_data == o->imm);
	CHECK(wc->byte_len == o->bytes + skip);
	CHECK(!ud || (wc->wc_flags & IBV_WC_GRH && wc->src_qp == o->lane->qp[o->from]->qp_num));
	if (o->kind == WRITE_IMM)
		return;
	for (uint32_t i = 0; i < skip; i++)
		*shadow_at(&r->pieces, i) = mem_at(&r->pieces, i);
	for (uint32_t i = 0; i < o->bytes; i++)
		*shadow_at(&r->pieces, skip + i) = *shadow_at(&o->local, i);
}

static void sent(int at, const struct ibv_wc *wc)
{
	static const enum ibv_wc_opcode opcode[] = {
	    [SEND] = IBV_WC_SEND,        [SEND_IMM] = IBV_WC_SEND,
	    [WRITE] = IBV_WC_RDMA_WRITE, [WRITE_IMM] = IBV_WC_RDMA_WRITE,
	    [READ] = IBV_WC_RDMA_READ,   [SWAP] = IBV_WC_COMP_SWAP,
	    [ADD] = IBV_WC_FETCH_ADD,
	};
	struct op *o = (struct op *)(uintptr_t)wc->wr_id;

	CHECK(o >= op && o < op + num_ops && o->from == at && o->signalled && !o->completed);
	CHECK(wc->opcode == opcode[o->kind] && wc->qp_num == o->lane->qp[at]->qp_num);
	o->completed = true;
}

static uint32_t still_to_come(int at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < num_ops; i++)
		n += op[i].from == at ? op[i].signalled && !op[i].completed
				      : takes_receive(&op[i]) && !op[i].received;
	return n;
}

/* Polls the available completions; returns their number. */
static int take(int at)
{
	struct ibv_wc wc[7];
	int n = end_poll(&end[at], 1 + (int)draw(7), wc);

	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			die("end %d: %s, vendor error %u, QP %u", at,
			    ibv_wc_status_str(wc[i].status), wc[i].vendor_err, wc[i].qp_num);
		if (wc[i].wr_id < MAX_OPS)
			receive(at, &wc[i]);
		else
			sent(at, &wc[i]);
	}
	return n;
}

static void wait_all(void)
{
	time_t limit = time(NULL) + LIMIT_S;
	bool events = draw(3) == 0;

	for (int at = 0; at < 2; at++)
		while (still_to_come(at)) {
			if (take(at))
				continue;
			if (time(NULL) > limit)
				die("end %d: %u completions did not come", at, still_to_come(at));
			if (!events)
				continue;
			end_arm(&end[at]);
			if (!take(at) && still_to_come(at))
				end_sleep(&end[at]);
		}
}

static void batch(void)
{
	uint32_t want = 1 + draw(MAX_OPS), lossy_left = LOSSY_BYTES;

	num_recvs[0] = num_recvs[1] = num_ops = 0;
	for (int at = 0; at < 2; at++)
		for (int i = 0; i < NUM_REGIONS; i++)
			end[at].region[i].used = draw(4096);
	while (num_ops < want && draw_op(&op[num_ops], &lossy_left))
		num_ops++;
	tell_last();
	draw_atomics();
	post_receives();
	for (int i = 0; i < NUM_LANES; i++)
		for (int from = 0; from < 2; from++)
			post_lane(&lane[i], from);
	wait_all();
	for (uint32_t i = 0; i < num_ops; i++) {
		expect_remote(&op[i]);
		total_bytes += op[i].bytes;
	}
	total_ops += num_ops;
	if (!end_right(&end[0], 0) || !end_right(&end[1], 1)) {
		for (uint32_t i = 0; i < num_ops; i++)
			fprintf(stderr, "lane %td from %d kind %d bytes %u%s\n", op[i].lane - lane,
				op[i].from, (int)op[i].kind, op[i].bytes,
				op[i].is_inline ? " inline" : "");
		die("wrong data");
	}
}

/* ---- windows --------------------------------------------------------------------------------- */

static struct ibv_wc one(int at)
{
	time_t limit = time(NULL) + LIMIT_S;
	struct ibv_wc wc;

	while (end_poll(&end[at], 1, &wc) == 0)
		if (time(NULL) > limit)
			die("end %d: a completion did not come", at);
	if (wc.status != IBV_WC_SUCCESS)
		die("end %d: %s, vendor error %u", at, ibv_wc_status_str(wc.status), wc.vendor_err);
	return wc;
}

/*
 * The peer binds a window of type 2, and this end writes through it and invalidates it with a Send;
 * then the window is gone at the peer without a request of its own.
 */
static void window(struct lane *l, int from)
{
	struct op o = {.lane = l, .from = from, .kind = WRITE, .signalled = true};
	struct ibv_mw *mw = ibv_alloc_mw(end[!from].pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {0}, *bad;
	struct ibv_recv_wr rwr = {0}, *bad_recv;
	struct ibv_sge sge[MAX_SGE];
	struct ibv_wc wc;
	uint32_t rkey;

	CHECK(mw);
	for (int i = 0; i < NUM_REGIONS; i++)
		end[0].region[i].used = end[1].region[i].used = draw(4096);
	o.bytes = 1 + draw(20000);
	CHECK(place_all(&end[from], o.bytes, &o.local) &&
	      place(&end[!from], o.bytes, 1, &o.remote));
	for (uint32_t i = 0; i < o.local.num; i++)
		fill(&o.local.piece[i]);
	rkey = ibv_inc_rkey(mw->rkey);
	wr.opcode = IBV_WR_BIND_MW;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){o.remote.region->mr, remote_addr(&o),
							 o.bytes, IBV_ACCESS_REMOTE_WRITE};
	CHECK(ibv_post_send(l->qp[!from], &wr, &bad) == 0);
	CHECK(one(!from).opcode == IBV_WC_BIND_MW);
	to_wr(&o, &wr, sge);
	wr.wr.rdma.rkey = rkey;
	CHECK(ibv_post_send(l->qp[from], &wr, &bad) == 0);
	CHECK(one(from).opcode == IBV_WC_RDMA_WRITE);
	CHECK(ibv_post_recv(l->qp[!from], &rwr, &bad_recv) == 0);
	wr = (struct ibv_send_wr){.opcode = IBV_WR_SEND_WITH_INV,
				  .send_flags = IBV_SEND_SIGNALED,
				  .invalidate_rkey = rkey};
	CHECK(ibv_post_send(l->qp[from], &wr, &bad) == 0);
	CHECK(one(from).opcode == IBV_WC_SEND);
	wc = one(!from);
	CHECK(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == rkey);
	expect_remote(&o);
	CHECK(end_right(&end[0], 0) && end_right(&end[1], 1));
	CHECK(ibv_dealloc_mw(mw) == 0);
}

struct values {
	int gid_index, batches;
	uint64_t seed;
};

static const struct cli_option rows[] = {
    {.name = "gid-index",
     .letter = 'g',
     .value = "N",
     .help = "the GID that peers use; without it they have no GRH",
     .kind = CLI_NUMBER,
     .high = INT32_MAX,
     CLI_FIELD(struct values, gid_index)},
    {.name = "batches",
     .letter = 'n',
     .value = "N",
     .help = "how many",
     .kind = CLI_NUMBER,
     .high = INT32_MAX,
     .initial = "100",
     CLI_FIELD(struct values, batches)},
    {.name = "seed",
     .letter = 's',
     .value = "N",
     .help = "of the draws",
     .kind = CLI_NUMBER,
     .initial = "1",
     CLI_FIELD(struct values, seed)},
};

static const struct cli_program program = {
    .name = "verbs_data",
    .usage = "verbs_data DEVICE DEVICE [OPTION]...",
    .about = "Moves data between two devices by all operations of verbs, and checks every byte.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(*rows),
};

int main(int argc, char **argv)
{
	struct values v = {0};
	struct cli cli;
	int rc = cli_take(&cli, &program, &v, NULL, argc, argv);

	if (rc != CLI_RUN)
		return rc;
	if (cli.num_words != 2) {
		cli_wrong(&cli, "give two devices");
		return cli_say(&cli);
	}
	if (!cli_given(&cli, "gid-index"))
		v.gid_index = -1;
	draw_seed(v.seed);
	for (int i = 0; i < 2; i++)
		end_open(&end[i], cli.words[i], v.gid_index, i == 1);
	for (int i = 0; i < NUM_LANES; i++)
		lane_open(&lane[i], end, v.gid_index);
	for (int i = 0; i < v.batches; i++) {
		batch();
		if (i % 8 == 0)
			window(&lane[draw(2)], (int)draw(2));
	}
	for (int i = 0; i < NUM_LANES; i++)
		lane_close(&lane[i]);
	end_close(&end[0]);
	end_close(&end[1]);
	printf("%llu requests, %llu bytes, all as they should be\n", (unsigned long long)total_ops,
	       (unsigned long long)total_bytes);
	return 0;
}
