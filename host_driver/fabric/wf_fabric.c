/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The provider's entry point and the fabric object. libfabric loads the library, calls
 * fi_prov_ini(), and reaches all else through the tables here: wf_info.c describes the NICs,
 * wf_domain.c opens one. fi_provider(7), fi_fabric(3).
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/fabric/wf_coll.h"

FI_EXT_INI;

void wf_expect(int rc, const char *what)
{
	if (rc && rc != -EIO)
		WF_WARN(FI_LOG_CORE, "%s: %s\n", what, strerror(-rc));
}

int wf_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid;
	(void)bfid;
	(void)flags;
	return -FI_ENOSYS;
}

int wf_no_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return -FI_ENOSYS;
}

int wf_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid;
	(void)name;
	(void)flags;
	(void)ops;
	(void)context;
	return -FI_ENOSYS;
}

static int fabric_close(struct fid *fid)
{
	struct wf_fabric *fabric = container_of(fid, struct wf_fabric, fid.fid);

	if (atomic_load(&fabric->refs) != 0)
		return -FI_EBUSY;
	wf_work_fini(&fabric->work);
	free(fabric);
	return 0;
}

static int no_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
			 void *context)
{
	(void)fabric;
	(void)info;
	(void)pep;
	(void)context;
	return -FI_ENOSYS;
}

static struct fi_ops fabric_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = fabric_close,
    .bind = wf_no_bind,
    .control = wf_no_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_fabric fabric_ops = {
    .size = sizeof(struct fi_ops_fabric),
    .domain = wf_domain_open,
    .passive_ep = no_passive_ep,
    .eq_open = wf_eq_open,
    .wait_open = wf_wait_open,
    .trywait = wf_trywait,
};

int wf_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct wf_fabric *f = calloc(1, sizeof(*f));

	if (!f)
		return -FI_ENOMEM;
	wf_work_init(&f->work);
	f->fid.fid.fclass = FI_CLASS_FABRIC;
	f->fid.fid.context = context;
	f->fid.fid.ops = &fabric_fi_ops;
	f->fid.ops = &fabric_ops;
	f->fid.api_version = attr ? attr->api_version : FI_VERSION(1, 17);
	*fabric = &f->fid;
	return 0;
}

struct fi_provider wf_provider = {
    .version = FI_VERSION(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR),
    .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
    .name = "weft",
    .getinfo = wf_getinfo,
    .fabric = wf_fabric,
};

/* Gives libfabric the provider. */
struct fi_provider *fi_prov_ini(void)
{
	wf_param_define();
	return &wf_provider;
}
