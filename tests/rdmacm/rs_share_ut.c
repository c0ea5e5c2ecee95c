/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/rdmacm/rs_share.c: which of several datagram sockets on a port answers for it. The
 * test plays rdma_cm, which can fail.
 */
#include <stdlib.h>

#include "host_driver/rdmacm/rs_share.c"
#include "tests/ut.h"

static int ids_made, ids_destroyed, listens;
static int fail_id, fail_bind, fail_listen; /* errno; 0: it works */
static struct rdma_cm_id made;

int rs_cm_id(struct rs *rs, enum rdma_port_space ps, struct rdma_cm_id **id)
{
	CU_ASSERT_PTR_NOT_NULL(rs);
	CU_ASSERT_EQUAL(ps, RDMA_PS_UDP);
	if (fail_id)
		return -fail_id;
	ids_made++;
	*id = &made;
	return 0;
}

static int result(int err)
{
	errno = err;
	return err ? -1 : 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	CU_ASSERT_PTR_EQUAL(id, &made);
	CU_ASSERT_EQUAL(((struct sockaddr_in *)addr)->sin_port, htons(7000));
	return result(fail_bind);
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	CU_ASSERT_PTR_EQUAL(id, &made);
	CU_ASSERT_TRUE(backlog > 0);
	listens += !fail_listen;
	return result(fail_listen);
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	CU_ASSERT_PTR_EQUAL(id, &made);
	ids_destroyed++;
	return 0;
}

static struct sockaddr_in at(uint32_t ip, uint16_t port)
{
	return (struct sockaddr_in){
	    .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
}

/* An end of a socket with the QPN. */
struct one {
	struct rs rs;
	struct rs_end end;
	struct rdma_cm_id id;
	struct ibv_qp qp;
};

static void add(struct one *o, uint32_t qpn, struct sockaddr_in addr, bool reuse)
{
	*o = (struct one){.qp.qp_num = qpn};
	o->rs.opts.reuseaddr = reuse;
	o->id.qp = &o->qp;
	o->end.id = &o->id;
	o->end.addr = addr;
	rs_share_add(&o->rs, &o->end);
}

static uint32_t asked(struct sockaddr_in addr, struct sockaddr_in by)
{
	return rs_share_qpn(&addr, &by);
}

/* The socket that is connected to the requester, else the newest unconnected one. */
static void who_answers(void)
{
	struct sockaddr_in port = at(0x0a4d0001, 7000), other = at(0x0a4d0001, 7001);
	struct sockaddr_in elsewhere = at(0x0a4d0002, 7000), nobody = at(0, 0);
	struct sockaddr_in p = at(0x0a4d0009, 99), q = at(0x0a4d0009, 100);
	struct one a, b, c;

	CU_ASSERT_EQUAL(asked(port, p), 0);
	add(&a, 1, port, true);
	CU_ASSERT_EQUAL(asked(port, p), 1);
	CU_ASSERT_EQUAL(asked(other, p), 0);
	CU_ASSERT_EQUAL(asked(elsewhere, p), 0);
	add(&b, 2, port, true);
	CU_ASSERT_EQUAL(asked(port, p), 2);
	rs_share_connected(&b.end, &p);
	CU_ASSERT_EQUAL(asked(port, p), 2);
	CU_ASSERT_EQUAL(asked(port, q), 1);
	CU_ASSERT_EQUAL(asked(port, nobody), 1); /* the requester named no address */
	add(&c, 3, port, true);
	CU_ASSERT_EQUAL(asked(port, p), 2);
	CU_ASSERT_EQUAL(asked(port, q), 3);
	rs_share_connected(&a.end, &q);
	rs_share_connected(&c.end, &p);
	CU_ASSERT_EQUAL(asked(port, q), 1);
	CU_ASSERT_EQUAL(asked(port, p), 3);                 /* the newer of two */
	CU_ASSERT_EQUAL(asked(port, at(0x0a4d0009, 1)), 0); /* all are connected to others */
	rs_share_remove(&b.end);
	rs_share_remove(&b.end); /* a second time: no change */
	CU_ASSERT_EQUAL(asked(port, p), 3);
	rs_share_remove(&c.end);
	CU_ASSERT_EQUAL(asked(port, p), 0);
	rs_share_remove(&a.end);
	CU_ASSERT_EQUAL(asked(port, q), 0);
}

/* A port is shared with sockets that allowed it. */
static void sharing(void)
{
	struct sockaddr_in port = at(0x0a4d0001, 7000), other = at(0x0a4d0001, 7001);
	struct one a, b;

	add(&a, 1, port, false);
	CU_ASSERT_FALSE(rs_share_has(&port));
	add(&b, 2, port, true);
	CU_ASSERT_TRUE(rs_share_has(&port));
	CU_ASSERT_FALSE(rs_share_has(&other));
	rs_share_remove(&b.end);
	CU_ASSERT_FALSE(rs_share_has(&port));
	rs_share_remove(&a.end);
}

static void inherited(void)
{
	struct sockaddr_in port = at(0x0a4d0001, 7000);
	struct one a;
	int *fails[] = {&fail_id, &fail_bind, &fail_listen};

	rs_share_inherit(&port); /* none is left */
	CU_ASSERT_EQUAL(ids_made, 0);
	add(&a, 1, port, true);
	for (int i = 0; i < 3; i++) {
		*fails[i] = ENOMEM;
		rs_share_inherit(&port);
		*fails[i] = 0;
		CU_ASSERT_PTR_NULL(a.end.listen_id);
		CU_ASSERT_EQUAL(ids_made, ids_destroyed);
	}
	CU_ASSERT_EQUAL(ids_made, 2);
	rs_share_inherit(&port);
	CU_ASSERT_PTR_EQUAL(a.end.listen_id, &made);
	CU_ASSERT_EQUAL(listens, 1);
	/* it listens already */
	rs_share_inherit(&port);
	CU_ASSERT_EQUAL(listens, 1);
	CU_ASSERT_EQUAL(ids_made - ids_destroyed, 1);
	rs_share_remove(&a.end);
}

/* A child of fork begins without its parent's, even where a thread held the lock. */
static void forked(void)
{
	struct sockaddr_in port = at(0x0a4d0001, 7000);
	struct one a;

	add(&a, 1, port, true);
	pthread_mutex_lock(&shared.lock);
	rs_share_forked();
	CU_ASSERT_EQUAL(asked(port, port), 0);
	add(&a, 2, port, true);
	CU_ASSERT_EQUAL(asked(port, port), 2);
	rs_share_remove(&a.end);
}

UT_MAIN("rdmacm/rs_share", UT(who_answers), UT(sharing), UT(inherited), UT(forked))
