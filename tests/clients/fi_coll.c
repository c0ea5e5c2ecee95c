/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of libfabric on the provider weft: one rank of several processes, which find each
 * other through files.
 *
 *	fi_coll RANK RANKS FOLDER		all collectives, sets, groups, errors
 *	fi_coll RANK RANKS FOLDER die		the last rank ends after the join; the others go on
 *	fi_coll RANK RANKS FOLDER sleep		waits for collectives sleep until their end
 *
 * Exit status 0: everything was as it should be. fi_collective(3), fi_av_set(3).
 */
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_RANKS = 16,
	MAX_COUNT = 70000
};

static int rank, ranks;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_cntr *cntr;
static struct fid_ep *ep;
static fi_addr_t peer[MAX_RANKS];
static uint64_t hello; /* from the rank before: a message beside the collectives */
static bool greeted;
static uint64_t out[MAX_RANKS * MAX_COUNT], in[MAX_RANKS * MAX_COUNT], want[MAX_RANKS * MAX_COUNT];
static double dout[MAX_COUNT], din[MAX_COUNT];

#define CHECK(ok)                                                                                  \
	do {                                                                                       \
		if (!(ok)) {                                                                       \
			fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #ok);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define ZERO(call)                                                                                 \
	do {                                                                                       \
		long rc_ = (call);                                                                 \
                                                                                                   \
		if (rc_) {                                                                         \
			fprintf(stderr, "rank %d, line %d: %s: %ld (%s)\n", rank, __LINE__, #call, \
				rc_, fi_strerror((int)-rc_));                                      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void open_all(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_cntr_attr cntr_attr = {.wait_obj = FI_WAIT_UNSPEC};

	hints->fabric_attr->prov_name = strdup("weft");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_COLLECTIVE;
	ZERO(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	ZERO(fi_fabric(info->fabric_attr, &fabric, NULL));
	ZERO(fi_domain(fabric, info, &domain, NULL));
	ZERO(fi_eq_open(fabric, &eq_attr, &eq, NULL));
	ZERO(fi_av_open(domain, &av_attr, &av, NULL));
	ZERO(fi_cq_open(domain, &cq_attr, &cq, NULL));
	ZERO(fi_endpoint(domain, info, &ep, NULL));
	ZERO(fi_ep_bind(ep, &av->fid, 0));
	ZERO(fi_ep_bind(ep, &eq->fid, 0));
	ZERO(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	ZERO(fi_cntr_open(domain, &cntr_attr, &cntr, NULL));
	ZERO(fi_ep_bind(ep, &cntr->fid, FI_WRITE));
	ZERO(fi_enable(ep));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void close_all(void)
{
	ZERO(fi_close(&ep->fid));
	ZERO(fi_close(&cq->fid));
	ZERO(fi_close(&cntr->fid));
	ZERO(fi_close(&av->fid));
	ZERO(fi_close(&eq->fid));
	ZERO(fi_close(&domain->fid));
	ZERO(fi_close(&fabric->fid));
}

/* Writes this rank's address to a file and reads those of all. */
static void exchange(const char *folder)
{
	char name[300], part[300];
	uint8_t addr[64];
	size_t len = sizeof(addr);
	FILE *f;
	int i;

	ZERO(fi_getname(&ep->fid, addr, &len));
	snprintf(part, sizeof(part), "%s/part.%d", folder, rank);
	snprintf(name, sizeof(name), "%s/rank.%d", folder, rank);
	f = fopen(part, "w");
	CHECK(f && fwrite(addr, len, 1, f) == 1 && fclose(f) == 0 && rename(part, name) == 0);
	for (i = 0; i < ranks; i++) {
		snprintf(name, sizeof(name), "%s/rank.%d", folder, i);
		while (!(f = fopen(name, "r")))
			usleep(1000);
		CHECK(fread(addr, len, 1, f) == 1);
		fclose(f);
		CHECK(fi_av_insert(av, addr, 1, &peer[i], 0, NULL) == 1);
	}
}

/* Waits for the end of the operation with that context. Its error, or 0. */
static int wait_for(void *context)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {0};
	ssize_t rc;

	for (;;) {
		rc = fi_cq_sread(cq, &entry, 1, NULL, 30000);
		if (rc == 1 && entry.op_context == &hello)
			greeted = true;
		else if (rc != -FI_EAGAIN)
			break;
		if (greeted && context == &hello)
			return 0;
	}
	if (rc == -FI_EAVAIL) {
		char text[200];

		CHECK(fi_cq_readerr(cq, &err, 0) == 1);
		CHECK(err.op_context == context && (err.flags & FI_COLLECTIVE));
		CHECK(*fi_cq_strerror(cq, err.prov_errno, NULL, text, sizeof(text)));
		return err.err;
	}
	CHECK(rc == 1);
	CHECK(entry.op_context == context);
	CHECK(entry.flags & FI_COLLECTIVE);
	return 0;
}

static struct fid_av_set *new_set(uint64_t flags)
{
	struct fi_av_set_attr attr = {
	    .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL, .flags = flags};
	struct fid_av_set *set;

	ZERO(fi_av_set(av, &attr, &set, NULL));
	return set;
}

/* Joins; the error of the event, or 0. */
static int join(struct fid_av_set *set, struct fid_mc **mc)
{
	struct fi_eq_err_entry err;
	struct fi_eq_entry entry;
	fi_addr_t addr;
	uint32_t event;
	ssize_t rc;

	ZERO(fi_av_set_addr(set, &addr));
	ZERO(fi_join_collective(ep, addr, set, 0, mc, &peer));
	while ((rc = fi_eq_sread(eq, &event, &entry, sizeof(entry), 100, 0)) == -FI_EAGAIN)
		;
	if (rc == -FI_EAVAIL) {
		CHECK(fi_eq_readerr(eq, &err, 0) > 0);
		CHECK(err.fid == &(*mc)->fid);
		return err.err;
	}
	CHECK(rc == sizeof(entry) && event == FI_JOIN_COMPLETE);
	CHECK(entry.fid == &(*mc)->fid && entry.context == &peer);
	return 0;
}

/* ---- data ----------------------------------------------------------------------------------- */

static uint64_t value(int of, size_t i)
{
	return (uint64_t)(of + 1) * 1000003 + i * 7;
}

/* member: this rank's place in the group, of the given rank per place. */
static void move(fi_addr_t g, int member, const int *at, size_t count)
{
	int root, m;
	size_t i;

	for (root = 0; root < ranks; root++) {
		for (i = 0; i < count; i++)
			in[i] = member == root ? value(root, i) : 0;
		ZERO(fi_broadcast(ep, in, count, NULL, g, peer[at[root]], FI_UINT64, 0, &root));
		ZERO(wait_for(&root));
		for (i = 0; i < count; i++)
			CHECK(in[i] == value(root, i));
	}
	for (i = 0; i < count * (size_t)ranks; i++)
		out[i] = value(member, i);
	memset(in, 0, sizeof(in));
	ZERO(fi_allgather(ep, out, count, NULL, in, NULL, g, FI_UINT64, 0, in));
	ZERO(wait_for(in));
	for (m = 0; m < ranks; m++)
		for (i = 0; i < count; i++)
			CHECK(in[(size_t)m * count + i] == value(m, i));
	memset(in, 0, sizeof(in));
	ZERO(fi_gather(ep, out, count, NULL, member == 1 ? in : NULL, NULL, g, peer[at[1]],
		       FI_UINT64, 0, in));
	ZERO(wait_for(in));
	for (m = 0; m < ranks && member == 1; m++)
		for (i = 0; i < count; i++)
			CHECK(in[(size_t)m * count + i] == value(m, i));
	ZERO(fi_scatter(ep, member == 1 ? out : NULL, count, NULL, in, NULL, g, peer[at[1]],
			FI_UINT64, 0, in));
	ZERO(wait_for(in));
	for (i = 0; i < count; i++)
		CHECK(in[i] == value(1, (size_t)member * count + i));
	ZERO(fi_alltoall(ep, out, count, NULL, in, NULL, g, FI_UINT64, 0, in));
	ZERO(wait_for(in));
	for (m = 0; m < ranks; m++)
		for (i = 0; i < count; i++)
			CHECK(in[(size_t)m * count + i] == value(m, (size_t)member * count + i));
}

static void combine(fi_addr_t g, int member, const int *at, size_t count)
{
	size_t i;
	int m;

	for (i = 0; i < count * (size_t)ranks; i++) {
		out[i] = value(member, i);
		want[i] = 0;
		for (m = 0; m < ranks; m++)
			want[i] += value(m, i);
	}
	ZERO(fi_allreduce(ep, out, count, NULL, in, NULL, g, FI_UINT64, FI_SUM, 0, in));
	ZERO(wait_for(in));
	CHECK(!memcmp(in, want, count * 8));
	ZERO(fi_reduce_scatter(ep, out, count, NULL, in, NULL, g, FI_UINT64, FI_SUM, 0, in));
	ZERO(wait_for(in));
	CHECK(!memcmp(in, want + (size_t)member * count, count * 8));
	ZERO(fi_reduce(ep, out, count, NULL, member == 1 ? in : NULL, NULL, g, peer[at[1]],
		       FI_UINT64, FI_SUM, 0, in));
	ZERO(wait_for(in));
	CHECK(member != 1 || !memcmp(in, want, count * 8));
	/* in place */
	ZERO(fi_allreduce(ep, out, count, NULL, out, NULL, g, FI_UINT64, FI_SUM, 0, out));
	ZERO(wait_for(out));
	CHECK(!memcmp(out, want, count * 8));
	for (i = 0; i < count; i++)
		dout[i] = -1.5 * member + (double)i;
	ZERO(fi_allreduce(ep, dout, count, NULL, din, NULL, g, FI_DOUBLE, FI_MIN, 0, in));
	ZERO(wait_for(in));
	for (i = 0; i < count; i++)
		CHECK(din[i] == -1.5 * (ranks - 1) + (double)i);
}

/* Three operations under way together complete once each. */
static void together(fi_addr_t g, int member, const int *at)
{
	uint64_t sum = (uint64_t)member, total = 0, word = member == 0 ? 77 : 0;
	struct fi_cq_tagged_entry entry;
	int seen = 0;

	ZERO(fi_allreduce(ep, &sum, 1, NULL, &total, NULL, g, FI_UINT64, FI_SUM, 0, (void *)1));
	ZERO(fi_barrier(ep, g, (void *)2));
	ZERO(fi_broadcast(ep, &word, 1, NULL, g, peer[at[0]], FI_UINT64, 0, (void *)4));
	while (seen != 7) {
		ssize_t rc = fi_cq_read(cq, &entry, 1);

		CHECK(rc == 1 || rc == -FI_EAGAIN);
		if (rc == 1) {
			CHECK(!(seen & (int)(uintptr_t)entry.op_context));
			seen |= (int)(uintptr_t)entry.op_context;
		}
	}
	CHECK(word == 77 && total == (uint64_t)(ranks * (ranks - 1) / 2));
}

static void refused(fi_addr_t g)
{
	struct fi_collective_attr attr = {.op = FI_SUM, .datatype = FI_INT32};
	uint64_t x = 0;

	ZERO(fi_query_collective(domain, FI_ALLREDUCE, &attr, 0));
	CHECK(attr.datatype_attr.size == 4 && attr.datatype_attr.count && attr.max_members > 1);
	attr.op = FI_LOR;
	CHECK(fi_query_collective(domain, FI_ALLREDUCE, &attr, 0) == -FI_EOPNOTSUPP);
	attr.op = FI_BOR;
	attr.datatype = FI_FLOAT;
	CHECK(fi_query_collective(domain, FI_REDUCE, &attr, 0) == -FI_EOPNOTSUPP);
	attr.op = FI_NOOP;
	attr.datatype = FI_DOUBLE_COMPLEX;
	ZERO(fi_query_collective(domain, FI_ALLGATHER, &attr, 0));
	CHECK(fi_query_collective(domain, FI_BARRIER, &attr, 0) == -FI_EOPNOTSUPP);
	attr.datatype = FI_VOID;
	ZERO(fi_query_collective(domain, FI_BARRIER, &attr, 0));
	CHECK(fi_query_collective(domain, FI_BROADCAST, &attr, 0) == -FI_EOPNOTSUPP);
	CHECK(fi_allreduce(ep, &x, 1, NULL, &x, NULL, g, FI_UINT64, FI_LAND, 0, NULL) ==
	      -FI_EOPNOTSUPP);
	CHECK(fi_broadcast(ep, &x, 1, NULL, g, 99, FI_UINT64, 0, NULL) == -FI_EINVAL);
	CHECK(fi_broadcast(ep, &x, SIZE_MAX / 4, NULL, g, peer[0], FI_UINT64, 0, NULL) ==
	      -FI_EMSGSIZE);
	CHECK(fi_barrier(ep, 0, NULL) == -FI_EINVAL);
	CHECK(fi_barrier(ep, FI_ADDR_UNSPEC, NULL) == -FI_EINVAL);
	CHECK(fi_close(&ep->fid) == -FI_EBUSY);
}

/* The even ranks, made by set operations, with a group of their own. */
static void some(void)
{
	struct fi_av_set_attr odd_attr = {
	    .start_addr = 1, .end_addr = (fi_addr_t)ranks - 1, .stride = 2};
	struct fid_av_set *even = new_set(FI_UNIVERSE), *odd, *both = new_set(0);
	uint64_t one = 1, sum = 0;
	struct fid_mc *mc;

	ZERO(fi_av_set(av, &odd_attr, &odd, NULL));
	ZERO(fi_av_set_diff(even, odd));
	CHECK(fi_av_set_remove(even, peer[1]) == -FI_EINVAL);
	CHECK(fi_av_set_insert(even, peer[0]) == -FI_EINVAL);
	CHECK(fi_av_set_insert(even, 12345) == -FI_EINVAL);
	ZERO(fi_av_set_union(both, even));
	ZERO(fi_av_set_union(both, odd));
	ZERO(fi_av_set_intersect(both, even));
	if (rank % 2 == 0) {
		ZERO(join(both, &mc));
		ZERO(fi_allreduce(ep, &one, 1, NULL, &sum, NULL, fi_mc_addr(mc), FI_UINT64, FI_SUM,
				  0, &sum));
		ZERO(wait_for(&sum));
		CHECK(sum == (uint64_t)(ranks + 1) / 2);
		ZERO(fi_close(&mc->fid));
	} else {
		fi_addr_t addr;

		ZERO(fi_av_set_addr(both, &addr));
		CHECK(fi_join_collective(ep, addr, both, 0, &mc, NULL) == -FI_EINVAL);
	}
	ZERO(fi_close(&even->fid));
	ZERO(fi_close(&odd->fid));
	ZERO(fi_close(&both->fid));
}

static void all(void)
{
	static const size_t counts[] = {1, 999, MAX_COUNT};
	struct fid_av_set *set = new_set(0);
	int at[MAX_RANKS], member = ranks - 1 - rank, i;
	uint64_t mine = (uint64_t)rank;
	struct fid_mc *mc;

	/* The application's own receive is not taken by what the provider exchanges. */
	ZERO(fi_recv(ep, &hello, sizeof(hello), NULL, FI_ADDR_UNSPEC, &hello));
	/* The order of the set is that of the members. */
	for (i = 0; i < ranks; i++) {
		at[i] = ranks - 1 - i;
		ZERO(fi_av_set_insert(set, peer[at[i]]));
	}
	ZERO(join(set, &mc));
	for (i = 0; i < (int)(sizeof(counts) / sizeof(counts[0])); i++) {
		move(fi_mc_addr(mc), member, at, counts[i]);
		combine(fi_mc_addr(mc), member, at, counts[i]);
	}
	together(fi_mc_addr(mc), member, at);
	refused(fi_mc_addr(mc));
	some();
	/* A barrier ends after the last one has come; those that wait sleep. */
	if (rank == 0)
		usleep(50000);
	ZERO(fi_barrier(ep, fi_mc_addr(mc), &mine));
	ZERO(wait_for(&mine));
	ZERO(fi_inject(ep, &mine, sizeof(mine), peer[(rank + 1) % ranks]));
	if (!greeted)
		ZERO(wait_for(&hello));
	CHECK(hello == (uint64_t)((rank + ranks - 1) % ranks));
	/* A barrier that waits for a member is withdrawn by closing the group. */
	ZERO(fi_barrier(ep, fi_mc_addr(mc), &mine));
	ZERO(wait_for(&mine));
	if (rank)
		ZERO(fi_barrier(ep, fi_mc_addr(mc), &mine));
	ZERO(fi_close(&mc->fid));
	if (rank)
		CHECK(wait_for(&mine));
	ZERO(fi_close(&set->fid));
}

static void die(void)
{
	struct fid_av_set *set = new_set(FI_UNIVERSE);
	uint64_t one = 1, sum = 0;
	struct fid_mc *mc, *rest;
	int error;

	ZERO(join(set, &mc));
	ZERO(fi_barrier(ep, fi_mc_addr(mc), &one));
	ZERO(wait_for(&one));
	if (rank == ranks - 1)
		_exit(0);
	ZERO(fi_allreduce(ep, &one, 1, NULL, &sum, NULL, fi_mc_addr(mc), FI_UINT64, FI_SUM, 0,
			  &one));
	error = wait_for(&one);
	CHECK(error == FI_ECONNRESET || error == FI_EHOSTUNREACH);
	/* The survivors make a group without it. */
	ZERO(fi_av_set_remove(set, peer[ranks - 1]));
	ZERO(join(set, &rest));
	ZERO(fi_allreduce(ep, &one, 1, NULL, &sum, NULL, fi_mc_addr(rest), FI_UINT64, FI_SUM, 0,
			  &one));
	ZERO(wait_for(&one));
	CHECK(sum == (uint64_t)ranks - 1);
	ZERO(fi_close(&mc->fid));
	ZERO(fi_close(&rest->fid));
	ZERO(fi_close(&set->fid));
}

/* Waits for the queue's descriptor. What fi_trywait() says is so: nothing is left, or there is. */
static void sleep_for(void *context)
{
	struct fid *fids[] = {&cq->fid};
	struct fi_cq_tagged_entry entry;
	struct pollfd p = {.events = POLLIN};
	ssize_t rc;

	ZERO(fi_control(&cq->fid, FI_GETWAIT, &p.fd));
	while ((rc = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN) {
		rc = fi_trywait(fabric, fids, 1);
		if (rc == -FI_EAGAIN) {
			rc = fi_cq_read(cq, &entry, 1);
			break;
		}
		ZERO(rc);
		CHECK(poll(&p, 1, 30000) == 1);
	}
	CHECK(rc == 1 && entry.op_context == context && (entry.flags & FI_COLLECTIVE));
}

static fi_addr_t later;

static void *start_later(void *arg)
{
	usleep(2000);
	ZERO(fi_barrier(ep, later, arg));
	return NULL;
}

static void asleep(void)
{
	struct fid_av_set *set = new_set(FI_UNIVERSE);
	uint64_t mine = 0, before;
	pthread_t thread;
	struct fid_mc *mc;
	int i;

	ZERO(join(set, &mc));
	for (i = 0; i < 24; i++) {
		/* Members that are there wait for the one that is late. */
		if (i % ranks == rank)
			usleep(4000);
		before = fi_cntr_read(cntr);
		CHECK(before == (uint64_t)i);
		if (i % 4 == 3) {
			/* It begins while its queue is slept for. */
			later = fi_mc_addr(mc);
			CHECK(pthread_create(&thread, NULL, start_later, &mine) == 0);
			sleep_for(&mine);
			CHECK(pthread_join(thread, NULL) == 0);
			continue;
		}
		ZERO(fi_barrier(ep, fi_mc_addr(mc), &mine));
		if (i % 4 == 2)
			ZERO(fi_cntr_wait(cntr, before + 1, 30000));
		if (i % 4)
			ZERO(wait_for(&mine));
		else
			sleep_for(&mine);
	}
	ZERO(fi_close(&mc->fid));
	ZERO(fi_close(&set->fid));
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	rank = atoi(argv[1]);
	ranks = atoi(argv[2]);
	CHECK(ranks > 1 && ranks <= MAX_RANKS);
	open_all();
	exchange(argv[3]);
	if (argc > 4 && !strcmp(argv[4], "sleep"))
		asleep();
	else if (argc > 4)
		die();
	else
		all();
	close_all();
	return 0;
}
