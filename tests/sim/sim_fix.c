/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulation tests' fixture; see sim_fix.h.
 */
#include "tests/sim/sim_fix.h"

#include "sim_harness/wl/sim_workload.h"

void pair_faults(struct pair *p, const char *list)
{
	char message[160];
	int rc = sim_faults_parse(p->sim, list, message, sizeof(message));

	if (rc)
		printf("\n    %s", message);
	CU_ASSERT_FATAL(!rc);
}

bool fix_no_host_map;

void pair_open(struct pair *p, uint64_t seed, const struct pair_attr *attr)
{
	static const struct pair_attr defaults;
	struct sim_config config;
	int rc;

	if (!attr)
		attr = &defaults;
	memset(p, 0, sizeof(*p));
	sim_config_default(&config);
	config.wrap_soon = attr->wrap_soon;
	config.cc_off = attr->cc_off;
	config.borrow = attr->borrow;
	config.no_crc = attr->no_crc;
	config.no_digest = attr->no_digest;
	config.no_host_map = fix_no_host_map;
	if (attr->mtu)
		config.mtu = attr->mtu;
	if (attr->budget)
		config.poll_budget = attr->budget;
	if (attr->shards)
		config.num_shards = attr->shards;
	p->sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(p->sim != NULL);
	sim_prng_for(p->sim, &p->prng, SIM_STREAM_TEST, 0);
	p->na = sim_nic_new(p->sim);
	p->nb = sim_nic_new(p->sim);
	rc = sim_end_open(&p->a, p->na, &attr->a);
	if (!rc)
		rc = sim_end_open(&p->b, p->nb, attr->same ? &attr->a : &attr->b);
	if (rc)
		printf("\n    seed %llu: endpoint: %s", (unsigned long long)seed, strerror(-rc));
	CU_ASSERT_FATAL(!rc);
	p->ab = sim_end_ah(&p->a, p->nb);
	p->ba = sim_end_ah(&p->b, p->na);
	FIX_REQUIRE(p, p->ab && p->ba);
	if (attr->faults)
		pair_faults(p, attr->faults);
}

void pair_close(struct pair *p)
{
	const struct sim_nic_counts *c;
	struct sim_nic *nic;
	uint32_t i;

	sim_end_close(&p->a);
	sim_end_close(&p->b);
	sim_faults_off(p->sim);
	sim_run_for(p->sim, 20 * FIX_MS);
	for (i = 0; (nic = sim_nic_at(p->sim, i)); i++) {
		if (sim_nic_dead(nic))
			continue;
		c = sim_nic_counts(nic);
		FIX_CHECK(p, c->frames_held == 0);
		FIX_CHECK(p, c->maps == c->unmaps);
	}
	sim_free(p->sim);
}

int post(struct sim_end *end, struct weft_ah *ah, const struct sim_end *peer,
	 const struct post *request)
{
	struct weft_sge sge = sim_end_sge(end, request->offset, request->bytes);
	struct weft_send_wr wr = {.wr_id = request->wr_id,
				  .sg_list = request->sge ? request->sge : &sge,
				  .num_sge = request->sge ? request->num_sge : 1,
				  .opcode = request->opcode,
				  .flags = request->flags | WEFT_SEND_SIGNALED,
				  .imm = request->imm,
				  .inv_stag = request->inv_stag,
				  .rkey = request->rkey,
				  .compare_add = request->compare_add,
				  .swap = request->swap,
				  .ah = ah,
				  .dst_qpn = request->dst_qpn,
				  .qkey = SIM_END_QKEY};

	if (peer && !wr.dst_qpn)
		wr.dst_qpn = peer->qp->qpn;
	if (peer && !wr.rkey)
		wr.rkey = peer->mr->rkey;
	if (peer)
		wr.remote_addr = (uintptr_t)peer->buf + request->remote_offset;
	return weft_post_send(request->qp ? request->qp : end->qp, &wr, NULL);
}

struct weft_wc expect(struct pair *p, struct sim_end *end, uint64_t wr_id,
		      enum weft_wc_status status)
{
	struct weft_wc wc = {0};

	FIX_REQUIRE(p, sim_end_wait(end, &wc, 1, FIX_LIMIT_NS) == 1);
	if (wc.wr_id != wr_id || wc.status != status)
		printf("\n    seed %llu: request %llu ended with %s (%s), expected %llu with %s",
		       (unsigned long long)sim_seed(p->sim), (unsigned long long)wc.wr_id,
		       weft_wc_status_str(wc.status), weft_vendor_err_str(wc.vendor_err),
		       (unsigned long long)wr_id, weft_wc_status_str(status));
	CU_ASSERT_FATAL(wc.wr_id == wr_id && wc.status == status);
	return wc;
}

bool silent(struct pair *p, struct sim_end *end, uint64_t ns)
{
	struct weft_wc wc;
	uint32_t n = sim_end_wait(end, &wc, 1, ns);

	if (n)
		printf("\n    seed %llu: unexpected completion %llu with %s",
		       (unsigned long long)sim_seed(p->sim), (unsigned long long)wc.wr_id,
		       weft_wc_status_str(wc.status));
	return !n;
}

void fill(struct pair *p, uint32_t n, uint8_t *dst, size_t bytes)
{
	sim_pattern(p->sim, 0, 0, n, dst, bytes);
}

bool filled(struct pair *p, uint32_t n, const uint8_t *data, size_t bytes)
{
	return sim_pattern_check(p->sim, 0, 0, n, data, bytes);
}

bool all_bytes(const uint8_t *data, uint8_t value, size_t bytes)
{
	while (bytes && *data == value) {
		data++;
		bytes--;
	}
	return !bytes;
}

struct weft_qp *extra_qp(struct sim_end *end, enum weft_qp_type type, bool inactive)
{
	struct weft_qp_init_attr init = {.type = type,
					 .send_cq = end->cq,
					 .recv_cq = end->cq,
					 .srq = end->srq,
					 .cap = {.max_send_wr = 32,
						 .max_recv_wr = end->srq ? 0 : 32,
						 .max_send_sge = 4,
						 .max_recv_sge = end->srq ? 0 : 4}};
	struct weft_qp *qp = weft_create_qp(end->pd, &init);

	CU_ASSERT_FATAL(qp != NULL);
	if (!inactive)
		CU_ASSERT_FATAL(weft_activate_qp(qp, SIM_END_QKEY,
						 WEFT_ACCESS_REMOTE_WRITE |
						     WEFT_ACCESS_REMOTE_READ |
						     WEFT_ACCESS_REMOTE_ATOMIC) == 0);
	return qp;
}
