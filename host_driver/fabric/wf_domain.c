/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The domain: one attachment of the process to a NIC, with a protection domain and a registration
 * cache for buffers that come without a descriptor. Its objects are in wf_av.c, wf_cq.c, wf_cntr.c,
 * wf_ep.c and wf_mr.c. fi_domain(3).
 */
#include "host_driver/fabric/wf_srx.h"

#include <stdlib.h>
#include <string.h>

/* Logs how often the buffers of messages were copied, with FI_LOG_LEVEL=info. */
static void say_counts(const struct wf_domain *domain)
{
	struct weft_tag_mem_stats s;

	weft_query_tag_mem(domain->mem, &s);
	WF_INFO(FI_LOG_DOMAIN,
		"buffers watched %u, used often %u; messages copied %llu, not copied %llu, long "
		"%llu, not watched %llu\n",
		s.entries, s.frequent, (unsigned long long)s.copied, (unsigned long long)s.direct,
		(unsigned long long)s.registered, (unsigned long long)s.unwatched);
}

static int domain_close(struct fid *fid)
{
	struct wf_domain *domain = container_of(fid, struct wf_domain, fid.fid);

	if (atomic_load(&domain->refs) != 0)
		return -FI_EBUSY;
	if (domain->mr_eq)
		wf_eq_ref(domain->mr_eq, -1);
	if (domain->mem) {
		say_counts(domain);
		wf_expect(weft_destroy_tag_mem(domain->mem), "memory of messages");
	}
	if (domain->cache)
		wf_expect(weft_destroy_mr_cache(domain->cache), "registration cache");
	if (domain->scratch_mr)
		wf_expect(weft_dereg_mr(domain->scratch_mr), "memory region");
	if (domain->scratch)
		weft_free(domain->scratch, WF_SCRATCH_BYTES);
	weft_close_device(domain->context);
	atomic_fetch_sub(&domain->fabric->refs, 1);
	free(domain);
	return 0;
}

/* The event queue of registrations; FI_REG_MR: their completions are events. */
static int domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct wf_domain *domain = container_of(fid, struct wf_domain, fid.fid);
	struct wf_eq *eq = wf_eq_of(bfid);

	if (!eq || (flags & ~FI_REG_MR))
		return -FI_EINVAL;
	if (domain->mr_eq)
		return -FI_EBUSY;
	if (flags & FI_REG_MR) {
		domain->mr_eq = eq;
		wf_eq_ref(eq, 1);
	}
	return 0;
}

static int no_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
			  void *context)
{
	(void)domain;
	(void)info;
	(void)sep;
	(void)context;
	return -FI_ENOSYS;
}

static struct fi_ops domain_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = domain_close,
    .bind = domain_bind,
    .control = wf_no_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_domain domain_ops = {
    .size = sizeof(struct fi_ops_domain),
    .av_open = wf_av_open,
    .cq_open = wf_cq_open,
    .endpoint = wf_ep_open,
    .scalable_ep = no_scalable_ep,
    .cntr_open = wf_cntr_open,
    .poll_open = wf_poll_open,
    .stx_ctx = wf_stx_open,
    .srx_ctx = wf_srx_open,
    .query_atomic = wf_query_atomic,
    .query_collective = wf_query_collective,
};

/* Makes the libweft objects of a domain. 0 or a negative errno. */
static int open_objects(struct wf_domain *domain)
{
	struct weft_tag_mem_attr mem = {.uses = 0};
	int rc;

	rc = weft_query_device(domain->context, &domain->device);
	if (!rc)
		rc = weft_query_port(domain->context, &domain->port);
	if (rc)
		return rc;
	domain->pd = weft_alloc_pd(domain->context);
	if (!domain->pd)
		return -errno;
	domain->cache = weft_create_mr_cache(domain->pd, NULL);
	if (!domain->cache)
		return -errno;
	wf_param_keep_buffers(&mem);
	domain->mem = weft_create_tag_mem(domain->pd, &mem);
	if (!domain->mem)
		return -errno;
	domain->scratch = weft_alloc(domain->context, WF_SCRATCH_BYTES);
	if (!domain->scratch)
		return -FI_ENOMEM;
	domain->scratch_mr =
	    weft_reg_mr(domain->pd, domain->scratch, WF_SCRATCH_BYTES, WEFT_ACCESS_LOCAL_WRITE);
	return domain->scratch_mr ? 0 : -errno;
}

int wf_domain_new(struct wf_fabric *fabric, const struct fi_info *info,
		  struct weft_context *context, struct fid_domain **domain, void *user)
{
	struct wf_domain *d = calloc(1, sizeof(*d));
	int rc;

	if (!d) {
		weft_close_device(context);
		return -FI_ENOMEM;
	}
	d->fid.fid.fclass = FI_CLASS_DOMAIN;
	d->fid.fid.context = user;
	d->fid.fid.ops = &domain_fi_ops;
	d->fid.ops = &domain_ops;
	d->fid.mr = &wf_mr_ops;
	d->fabric = fabric;
	d->context = context;
	d->mr_mode = info->domain_attr->mr_mode;
	if (d->mr_mode == FI_MR_BASIC)
		d->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	d->av_type = info->domain_attr->av_type;
	d->caps = info->caps;
	atomic_fetch_add(&fabric->refs, 1);
	rc = open_objects(d);
	if (rc) {
		WF_WARN(FI_LOG_DOMAIN, "%s: %s\n", context->name, strerror(-rc));
		domain_close(&d->fid.fid);
		return rc;
	}
	*domain = &d->fid;
	return 0;
}

int wf_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		   void *context)
{
	struct wf_fabric *f = container_of(fabric, struct wf_fabric, fid);
	const struct weft_open_attr attr = {.shard = -1, .use = WEFT_USE_LIBFABRIC};
	struct weft_context *weft;

	if (!info->domain_attr || !info->domain_attr->name)
		return -FI_EINVAL;
	weft = weft_open_device_attr(info->domain_attr->name, &attr);
	if (!weft) {
		int error = errno;

		WF_WARN(FI_LOG_DOMAIN, "%s: %s\n", info->domain_attr->name, strerror(error));
		return -error;
	}
	return wf_domain_new(f, info, weft, domain, context);
}
