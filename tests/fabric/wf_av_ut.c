/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address vectors: places, the way back from an address, removal, symbolic insertion, errors one by
 * one, events, shares.
 */
#include <arpa/inet.h>

#include "tests/fabric/wf_fix.h"

enum {
	QPN = 0x030405
};

static struct sockaddr_in address(const struct wff_end *e, uint32_t qpn)
{
	return wf_addr_out((struct wf_addr){e->nic.port.ip, qpn});
}

static struct wf_av *inner(struct fid_av *av)
{
	return container_of(av, struct wf_av, fid);
}

static void addr(void)
{
	struct wf_addr addr = {htonl(0x0a4d0001), QPN}, back;
	struct sockaddr_in sin = wf_addr_out(addr);

	CU_ASSERT(wf_addr_in(&sin, &back));
	CU_ASSERT_EQUAL(back.ip, addr.ip);
	CU_ASSERT_EQUAL(back.qpn, QPN);
	CU_ASSERT_EQUAL(ntohs(sin.sin_port), 0x0405);
	memset(sin.sin_zero, 0, sizeof(sin.sin_zero));
	CU_ASSERT(wf_addr_in(&sin, &back));
	CU_ASSERT_EQUAL(back.qpn, 0x0405);
	sin.sin_family = AF_INET6;
	CU_ASSERT_FALSE(wf_addr_in(&sin, &back));
	sin = wf_addr_out((struct wf_addr){htonl(0x7f000001), 1});
	CU_ASSERT_FALSE(wf_addr_in(&sin, &back));
	sin = wf_addr_out((struct wf_addr){htonl(0xe0000001), 1});
	CU_ASSERT_FALSE(wf_addr_in(&sin, &back));
	sin = wf_addr_out((struct wf_addr){htonl(0x0a4d0001), 1});
	sin.sin_zero[0] = 1; /* a number beyond 24 bits */
	CU_ASSERT_FALSE(wf_addr_in(&sin, &back));
	CU_ASSERT_EQUAL(wf_addr_resolve("10.77.0.9", "0x30405", FI_NUMERICHOST, 0, &back), 0);
	CU_ASSERT_EQUAL(back.qpn, QPN);
	CU_ASSERT_EQUAL(wf_addr_resolve("10.77.0.9", "http", FI_NUMERICHOST, 0, &back), -FI_EINVAL);
	CU_ASSERT_EQUAL(wf_addr_resolve("10.77.0.9", "16777216", FI_NUMERICHOST, 0, &back),
			-FI_EINVAL);
	CU_ASSERT_EQUAL(wf_addr_resolve("no number", "1", FI_NUMERICHOST, 0, &back), -FI_ENODATA);
}

static void insert_many(void)
{
	enum {
		MANY = 5000
	};
	struct sockaddr_in *sin = calloc(MANY, sizeof(*sin)), got;
	fi_addr_t *addr = calloc(MANY, sizeof(*addr)), one;
	size_t len = sizeof(got);
	struct wff f;
	uint32_t i;

	wff_open(&f);
	for (i = 0; i < MANY; i++)
		sin[i] = address(&f.b, 1 + i);
	CU_ASSERT_EQUAL(fi_av_insert(f.a.av, sin, MANY, addr, 0, NULL), MANY);
	for (i = 0; i < MANY; i++) {
		CU_ASSERT_EQUAL(addr[i], i);
		CU_ASSERT_EQUAL(wf_av_find(inner(f.a.av), (struct wf_addr){f.b.nic.port.ip, 1 + i}),
				i);
	}
	CU_ASSERT_EQUAL(fi_av_lookup(f.a.av, 77, &got, &len), 0);
	CU_ASSERT_EQUAL(memcmp(&got, &sin[77], sizeof(got)), 0);
	CU_ASSERT_PTR_NULL(wf_av_peer(inner(f.a.av), MANY));
	CU_ASSERT_PTR_NULL(wf_av_peer(inner(f.a.av), FI_ADDR_UNSPEC));
	/* a removed place is nobody's, then the next one's */
	CU_ASSERT_EQUAL(fi_av_remove(f.a.av, &addr[4000], 1, 0), 0);
	CU_ASSERT_EQUAL(fi_av_remove(f.a.av, &addr[4000], 1, 0), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_av_lookup(f.a.av, 4000, &got, &len), -FI_EINVAL);
	CU_ASSERT_EQUAL(wf_av_find(inner(f.a.av), (struct wf_addr){f.b.nic.port.ip, 4001}),
			FI_ADDR_NOTAVAIL);
	got = address(&f.b, 60000);
	CU_ASSERT_EQUAL(fi_av_insert(f.a.av, &got, 1, &one, 0, NULL), 1);
	CU_ASSERT_EQUAL(one, 4000);
	CU_ASSERT_EQUAL(wf_av_find(inner(f.a.av), (struct wf_addr){f.b.nic.port.ip, 60000}), 4000);
	wff_close(&f);
	free(sin);
	free(addr);
}

static void symbolic(void)
{
	char ip[INET_ADDRSTRLEN];
	fi_addr_t addr[6];
	struct wff f;
	uint32_t base;

	wff_open(&f);
	base = ntohl(f.a.nic.port.ip) < ntohl(f.b.nic.port.ip) ? f.a.nic.port.ip : f.b.nic.port.ip;
	inet_ntop(AF_INET, &base, ip, sizeof(ip));
	CU_ASSERT_EQUAL(fi_av_insertsym(f.a.av, ip, 2, "16", 3, addr, 0, NULL), 6);
	CU_ASSERT_EQUAL(wf_av_find(inner(f.a.av), (struct wf_addr){htonl(ntohl(base) + 1), 16 + 2}),
			addr[5]);
	CU_ASSERT_EQUAL(fi_av_insertsvc(f.a.av, ip, "0x10", addr, 0, NULL), 1);
	CU_ASSERT_EQUAL(fi_av_insertsvc(f.a.av, ip, NULL, addr, 0, NULL), -FI_EINVAL);
	wff_close(&f);
}

static void errors(void)
{
	struct sockaddr_in sin[3];
	fi_addr_t addr[3];
	int errors[3] = {-1, -1, -1};
	struct wff f;

	wff_open(&f);
	sin[0] = address(&f.b, 1);
	sin[1] = wf_addr_out((struct wf_addr){htonl(0xffffffff), 1});
	sin[2] = address(&f.b, 2);
	CU_ASSERT_EQUAL(fi_av_insert(f.a.av, sin, 3, addr, FI_SYNC_ERR, errors), 2);
	CU_ASSERT_EQUAL(errors[0], 0);
	CU_ASSERT_EQUAL(errors[1], FI_EINVAL);
	CU_ASSERT_EQUAL(errors[2], 0);
	CU_ASSERT_EQUAL(addr[1], FI_ADDR_NOTAVAIL);
	CU_ASSERT_EQUAL(fi_av_insert(f.a.av, sin, 3, addr, FI_PEEK, NULL), -FI_EBADFLAGS);
	wff_close(&f);
}

static void events(void)
{
	struct fi_av_attr attr = {.type = FI_AV_MAP, .flags = FI_EVENT};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_FD};
	struct fi_eq_err_entry err;
	struct fi_eq_entry entry;
	struct sockaddr_in sin[2];
	struct fid_av *av;
	struct fid_eq *eq;
	fi_addr_t addr[2];
	uint32_t event;
	struct wff f;
	int context;

	wff_open(&f);
	sin[0] = address(&f.b, 1);
	sin[1] = wf_addr_out((struct wf_addr){htonl(0x7f000001), 1});
	CU_ASSERT_EQUAL_FATAL(fi_eq_open(f.fabric, &eq_attr, &eq, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fi_av_open(f.a.domain, &attr, &av, NULL), 0);
	CU_ASSERT_EQUAL(fi_av_insert(av, sin, 2, addr, 0, &context), -FI_ENOEQ);
	CU_ASSERT_EQUAL(fi_av_bind(av, &eq->fid, 0), 0);
	CU_ASSERT_EQUAL(fi_close(&eq->fid), -FI_EBUSY);
	CU_ASSERT_EQUAL(fi_av_insert(av, sin, 2, addr, 0, &context), 0);
	CU_ASSERT_EQUAL(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAVAIL);
	CU_ASSERT_EQUAL(fi_eq_readerr(eq, &err, 0), sizeof(err));
	CU_ASSERT_EQUAL(err.data, 1);
	CU_ASSERT_EQUAL(err.err, FI_EINVAL);
	CU_ASSERT_EQUAL(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	CU_ASSERT_EQUAL(event, FI_AV_COMPLETE);
	CU_ASSERT_EQUAL(entry.data, 1);
	CU_ASSERT_PTR_EQUAL(entry.context, &context);
	CU_ASSERT_EQUAL(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	CU_ASSERT_EQUAL(fi_close(&av->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&eq->fid), 0);
	wff_close(&f);
}

static void shared_by_name(void)
{
	struct fi_av_attr owner = {.type = FI_AV_MAP, .name = "wf_av_ut"}, reader = owner;
	struct fid_av *own, *read;
	struct sockaddr_in sin;
	fi_addr_t addr;
	struct wff f;

	wff_open(&f);
	sin = address(&f.b, 5);
	reader.flags = FI_READ;
	CU_ASSERT_EQUAL(fi_av_open(f.b.domain, &reader, &read, NULL), -FI_ENOENT);
	CU_ASSERT_EQUAL_FATAL(fi_av_open(f.a.domain, &owner, &own, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fi_av_open(f.b.domain, &reader, &read, NULL), 0);
	CU_ASSERT_PTR_NULL(wf_av_peer(inner(read), 0));
	CU_ASSERT_EQUAL(fi_av_insert(own, &sin, 1, &addr, 0, NULL), 1);
	CU_ASSERT_EQUAL(((fi_addr_t *)reader.map_addr)[0], addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(wf_av_peer(inner(read), addr));
	CU_ASSERT_EQUAL(wf_av_peer(inner(read), addr)->addr.qpn, 5);
	CU_ASSERT_EQUAL(fi_av_insert(read, &sin, 1, &addr, 0, NULL), -FI_EINVAL);
	CU_ASSERT_EQUAL(fi_close(&own->fid), 0);
	CU_ASSERT_EQUAL(fi_close(&read->fid), 0);
	CU_ASSERT_EQUAL(fi_av_open(f.b.domain, &reader, &read, NULL), -FI_ENOENT);
	wff_close(&f);
}

UT_MAIN("fabric/wf_av", UT(addr), UT(insert_many), UT(symbolic), UT(errors), UT(events),
	UT(shared_by_name))
