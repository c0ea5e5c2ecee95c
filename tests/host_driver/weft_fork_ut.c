/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_fork.c: the state of parent and child after fork.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

enum {
	PAGE = 4096,
};

static const struct weft_qp_cap cap = {
    .max_send_wr = 8,
    .max_recv_wr = 8,
    .max_send_sge = 1,
    .max_recv_sge = 1,
};

/* Runs fn in a child: its exit status, or 128 and more when a signal ended it. */
static int in_child(int (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct memory {
	struct fake_setup s;
	uint8_t *alloc;
	uint8_t *moved;
	struct weft_mr *mr[2];
	int to_child[2];
	int to_parent[2];
};

static void register_memory(struct memory *m)
{
	fake_setup(&m->s, WEFT_QPT_UD, &cap, 8);
	m->alloc = weft_alloc(m->s.context, 8 * PAGE);
	m->moved = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m->alloc);
	m->mr[0] = weft_reg_mr(m->s.pd, m->alloc, 8 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
	m->mr[1] = weft_reg_mr(m->s.pd, m->moved, 8 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
	CU_ASSERT_TRUE_FATAL(m->mr[0] && m->mr[1]);
	memset(m->alloc, 1, PAGE);
	memset(m->moved + PAGE, 2, PAGE);
	CU_ASSERT_EQUAL(pipe(m->to_child), 0);
	CU_ASSERT_EQUAL(pipe(m->to_parent), 0);
}

static void unregister_memory(struct memory *m)
{
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(weft_dereg_mr(m->mr[i]), 0);
		close(m->to_child[i]);
		close(m->to_parent[i]);
	}
	weft_free(m->alloc, 8 * PAGE);
	munmap(m->moved, 8 * PAGE);
	fake_teardown(&m->s);
}

/* The child sees the content of the time of fork, and its writes stay its own. */
static int child_has_copies(void *arg)
{
	struct memory *m = arg;
	char byte;

	/* The parent has written when it reports so. */
	if (read(m->to_child[0], &byte, 1) != 1)
		return 1;
	if (m->alloc[0] != 1 || m->alloc[PAGE] != 0 || m->moved[0] != 0 || m->moved[PAGE] != 2)
		return 2;
	memset(m->alloc, 7, 8 * PAGE);
	memset(m->moved, 7, 8 * PAGE);
	return write(m->to_parent[1], "", 1) == 1 ? 0 : 3;
}

static void private_copies(void)
{
	struct memory m;
	int status;
	char byte;
	pid_t pid;

	register_memory(&m);
	pid = fork();
	if (pid == 0)
		_exit(child_has_copies(&m));
	/* fork() has returned: later writes do not reach the child. */
	m.alloc[0] = 11;
	m.moved[PAGE] = 12;
	CU_ASSERT_EQUAL(write(m.to_child[1], "", 1), 1);
	CU_ASSERT_EQUAL(read(m.to_parent[0], &byte, 1), 1);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(m.alloc[0], 11);
	CU_ASSERT_EQUAL(m.alloc[1], 1);
	CU_ASSERT_EQUAL(m.moved[PAGE], 12);
	CU_ASSERT_EQUAL(m.moved[PAGE + 1], 2);
	/* The parent's memory still belongs to the NIC. */
	if (m.mr[1]->mapped)
		CU_ASSERT_EQUAL(m.s.nic->mr[1].mapping[PAGE], 12);
	CU_ASSERT_EQUAL(m.s.nic->mr[0].mapping[0], 11);
	unregister_memory(&m);
}

/* Every call on an inherited context fails, and leaves the parent's NIC alone. */
static int child_uses_contexts(void *arg)
{
	struct memory *m = arg;
	struct hw_bar_header *header = weft_container_of(m->s.context, struct weft_ctx, pub)->bar;
	struct weft_send_wr send = {.ah = m->s.ah};
	struct weft_recv_wr recv = {.wr_id = 1};
	struct weft_async_event event;
	struct weft_qp_attr attr = {.state = WEFT_QPS_ERR};
	struct weft_wc wc;

	if (weft_post_send(m->s.qp, &send, NULL) != -EIO)
		return 1;
	if (weft_post_recv(m->s.qp, &recv, NULL) != -EIO)
		return 2;
	if (weft_poll_cq(m->s.cq, 1, &wc) != -EIO)
		return 3;
	if (weft_modify_qp(m->s.qp, &attr, WEFT_QP_STATE) != -EIO)
		return 4;
	if (weft_get_async_event(m->s.context, &event) != -EIO || m->s.context->async_fd != -1)
		return 5;
	if (weft_alloc_pd(m->s.context) || errno != EIO)
		return 6;
	if (weft_reg_mr(m->s.pd, m->alloc, 1, 0) || errno != EIO)
		return 7;
	if (weft_dereg_mr(m->mr[0]) != -EIO || weft_destroy_qp(m->s.qp) != -EIO)
		return 8;
	if (weft_destroy_cq(m->s.cq) != -EIO || weft_destroy_ah(m->s.ah) != -EIO)
		return 9;
	/* The NIC does not see the child's writes to its copy of the BAR. */
	header->db_tail += 1000;
	weft_close_device(m->s.context);
	return 0;
}

static void parents_contexts(void)
{
	struct weft_send_wr send = {.wr_id = 1};
	struct memory m;
	uint32_t commands[HW_CMD_OPS];
	uint32_t tail;

	register_memory(&m);
	send.ah = m.s.ah;
	memcpy(commands, m.s.nic->commands, sizeof(commands));
	tail = ((struct hw_bar_header *)(void *)m.s.nic->bar)->db_tail;
	CU_ASSERT_EQUAL(in_child(child_uses_contexts, &m), 0);
	CU_ASSERT_EQUAL(memcmp(commands, m.s.nic->commands, sizeof(commands)), 0);
	CU_ASSERT_EQUAL(((struct hw_bar_header *)(void *)m.s.nic->bar)->db_tail, tail);
	CU_ASSERT_EQUAL(weft_post_send(m.s.qp, &send, NULL), 0);
	CU_ASSERT_EQUAL(fake_doorbell(m.s.nic), HW_DB_ENTRY(HW_DB_SQ, m.s.qp->qpn));
	unregister_memory(&m);
}

/* The child may attach by itself, register, and fork again. */
static int grandchild(void *arg)
{
	const uint8_t *p = arg;

	return p[0] == 5 ? 0 : 1;
}

static int child_attaches(void *arg)
{
	struct fake_setup s;
	struct weft_mr *mr;
	uint8_t *p;

	(void)arg;
	fake_setup(&s, WEFT_QPT_UD, &cap, 8);
	p = weft_alloc(s.context, PAGE);
	if (!p)
		return 1;
	mr = weft_reg_mr(s.pd, p, PAGE, WEFT_ACCESS_LOCAL_WRITE);
	if (!mr || !mr->mapped)
		return 2;
	p[0] = 5;
	if (in_child(grandchild, p) != 0)
		return 3;
	p[0] = 6;
	if (s.nic->mr[0].mapping[0] != 6 || weft_dereg_mr(mr) != 0)
		return 4;
	weft_free(p, PAGE);
	fake_teardown(&s);
	return 0;
}

static void child_of_its_own(void)
{
	struct memory m;

	register_memory(&m);
	CU_ASSERT_EQUAL(in_child(child_attaches, NULL), 0);
	unregister_memory(&m);
}

/* A moved and split mapping is found in all its places. */
static int child_checks_pieces(void *arg)
{
	uint8_t **piece = arg;

	if (piece[0][0] != 1 || piece[1][0] != 3)
		return 1;
	piece[0][0] = 9;
	piece[1][0] = 9;
	return 0;
}

static void remapped_pieces(void)
{
	struct fake_setup s;
	uint8_t *p, *piece[2];

	fake_setup(&s, WEFT_QPT_UD, &cap, 8);
	p = weft_alloc(s.context, 4 * PAGE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	p[0] = 1;
	p[3 * PAGE] = 3;
	piece[0] = p;
	piece[1] = mremap(p + 3 * PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(piece[1], MAP_FAILED);
	munmap(p + PAGE, PAGE);
	CU_ASSERT_EQUAL(mprotect(p + 2 * PAGE, PAGE, PROT_READ), 0);
	/* Past the end of the memfd there is nothing to copy, and the child does not crash. */
	CU_ASSERT_EQUAL(in_child(child_checks_pieces, piece), 0);
	CU_ASSERT_EQUAL(piece[0][0], 1);
	CU_ASSERT_EQUAL(piece[1][0], 3);
	munmap(piece[1], 2 * PAGE);
	weft_free(p, 3 * PAGE);
	fake_teardown(&s);
}

struct forker {
	int stop;
	int failed;
};

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void *fork_often(void *arg)
{
	struct forker *f = arg;

	while (!__atomic_load_n(&f->stop, __ATOMIC_SEQ_CST)) {
		if (in_child(nothing, NULL) != 0)
			__atomic_store_n(&f->failed, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Registrations and forks of two threads do not hang or disturb each other. */
static void forks_beside_registration(void)
{
	struct forker f = {0};
	struct fake_setup s;
	pthread_t thread;

	fake_setup(&s, WEFT_QPT_UD, &cap, 8);
	pthread_create(&thread, NULL, fork_often, &f);
	for (int i = 0; i < 50; i++) {
		uint8_t *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct weft_mr *mr;

		p[0] = (uint8_t)i;
		mr = weft_reg_mr(s.pd, p, 4 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
		CU_ASSERT_EQUAL(p[0], (uint8_t)i);
		CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		munmap(p, 4 * PAGE);
	}
	__atomic_store_n(&f.stop, 1, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(f.failed, 0);
	fake_teardown(&s);
}

UT_MAIN("host_driver/weft_fork", UT(private_copies), UT(parents_contexts), UT(child_of_its_own),
	UT(remapped_pieces), UT(forks_beside_registration))
