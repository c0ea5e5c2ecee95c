/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See wf_fix.h.
 */
#include "tests/fabric/wf_fix.h"

#include <stdio.h>

#define LIMIT_NS  (UINT64_C(60) * 1000000000)
#define SILENT_NS UINT64_C(10000000)

static void end_open(struct wff *f, struct wff_end *e, const char *name)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED};
	struct weft_context *weft;

	memset(e, 0, sizeof(*e));
	e->proc = sim_proc_new(sim_nic_new(f->sim), name);
	weft = sim_open(e->proc);
	CU_ASSERT_PTR_NOT_NULL_FATAL(weft);
	snprintf(e->nic.name, sizeof(e->nic.name), "%s", name);
	sim_proc_set_nonblocking(e->proc, true);
	sim_proc_move_memory(e->proc);
	CU_ASSERT_EQUAL_FATAL(weft_query_device(weft, &e->nic.device), 0);
	CU_ASSERT_EQUAL_FATAL(weft_query_port(weft, &e->nic.port), 0);
	e->info = wf_info_base(&e->nic);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e->info);
	CU_ASSERT_EQUAL_FATAL(wf_hints_apply(e->info, FI_VERSION(1, 17), NULL), 0);
	CU_ASSERT_EQUAL_FATAL(wf_domain_new(container_of(f->fabric, struct wf_fabric, fid), e->info,
					    weft, &e->domain, e),
			      0);
	CU_ASSERT_EQUAL_FATAL(fi_av_open(e->domain, &av, &e->av, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fi_cq_open(e->domain, &cq, &e->cq, e), 0);
	e->buf = sim_mem_alloc(e->proc, WFF_BYTES, true);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e->buf);
	CU_ASSERT_EQUAL_FATAL(
	    fi_mr_reg(e->domain, e->buf, WFF_BYTES,
		      FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
		      0, 0, &e->mr, NULL),
	    0);
}

static void end_close(struct wff_end *e)
{
	if (e->ep)
		CU_ASSERT_EQUAL(fi_close(&e->ep->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&e->mr->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&e->cq->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&e->av->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&e->domain->fid), 0);
	fi_freeinfo(e->info);
}

void wff_open(struct wff *f)
{
	memset(f, 0, sizeof(*f));
	f->sim = sim_new(NULL, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->sim);
	CU_ASSERT_EQUAL_FATAL(wf_fabric(NULL, &f->fabric, NULL), 0);
	end_open(f, &f->a, "a");
	end_open(f, &f->b, "b");
}

void wff_close(struct wff *f)
{
	end_close(&f->a);
	end_close(&f->b);
	CU_ASSERT_EQUAL(fi_close(&f->fabric->fid), 0);
	sim_free(f->sim);
}

static void end_dgram(struct wff_end *e, struct fid_eq *eq)
{
	fi_freeinfo(e->info);
	e->info = wf_info_dgram(&e->nic);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e->info);
	CU_ASSERT_EQUAL_FATAL(wf_hints_apply(e->info, FI_VERSION(1, 17), NULL), 0);
	e->eq = eq;
}

void wff_dgram(struct wff *f, struct fid_eq *eq)
{
	end_dgram(&f->a, eq);
	end_dgram(&f->b, eq);
}

static void endpoint(struct wff_end *e)
{
	CU_ASSERT_EQUAL_FATAL(fi_endpoint(e->domain, e->info, &e->ep, e), 0);
	CU_ASSERT_EQUAL_FATAL(fi_ep_bind(e->ep, &e->av->fid, 0), 0);
	CU_ASSERT_EQUAL_FATAL(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	if (e->eq)
		CU_ASSERT_EQUAL_FATAL(fi_ep_bind(e->ep, &e->eq->fid, 0), 0);
	CU_ASSERT_EQUAL_FATAL(fi_enable(e->ep), 0);
}

static void know(struct wff_end *e, struct wff_end *other, fi_addr_t *addr)
{
	struct sockaddr_in sin;
	size_t len = sizeof(sin);

	CU_ASSERT_EQUAL_FATAL(fi_getname(&other->ep->fid, &sin, &len), 0);
	CU_ASSERT_EQUAL_FATAL(len, sizeof(sin));
	CU_ASSERT_EQUAL_FATAL(fi_av_insert(e->av, &sin, 1, addr, 0, NULL), 1);
}

void wff_endpoints(struct wff *f)
{
	endpoint(&f->a);
	endpoint(&f->b);
	know(&f->a, &f->a, &f->a.self);
	know(&f->a, &f->b, &f->a.peer);
	know(&f->b, &f->b, &f->b.self);
	know(&f->b, &f->a, &f->b.peer);
}

struct one {
	struct fid_cq *cq;
	struct fi_cq_tagged_entry entry;
	ssize_t rc;
};

static bool got_one(void *ctx)
{
	struct one *one = ctx;

	one->rc = fi_cq_read(one->cq, &one->entry, 1);
	return one->rc != -FI_EAGAIN;
}

ssize_t wff_wait(struct wff *f, struct wff_end *end, struct fi_cq_tagged_entry *entry,
		 struct fi_cq_err_entry *err)
{
	struct one one = {.cq = end->cq};

	CU_ASSERT_FATAL(sim_run_until(f->sim, got_one, &one, LIMIT_NS));
	*entry = one.entry;
	if (one.rc == -FI_EAVAIL)
		CU_ASSERT_EQUAL_FATAL(fi_cq_readerr(end->cq, err, 0), 1);
	return one.rc;
}

struct fi_cq_tagged_entry wff_good(struct wff *f, struct wff_end *end)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;

	CU_ASSERT_EQUAL(wff_wait(f, end, &entry, &err), 1);
	return entry;
}

struct fi_cq_err_entry wff_bad(struct wff *f, struct wff_end *end)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {0};

	CU_ASSERT_EQUAL(wff_wait(f, end, &entry, &err), -FI_EAVAIL);
	return err;
}

bool wff_silent(struct wff *f, struct wff_end *end)
{
	struct one one = {.cq = end->cq};

	return !sim_run_until(f->sim, got_one, &one, SILENT_NS);
}

void wff_fill(uint8_t *buf, size_t bytes, uint8_t seed)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		buf[i] = (uint8_t)(seed + i * 7);
}
