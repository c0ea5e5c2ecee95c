/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process whose eventfd has very many waiters, and that makes the NIC signal it as often as
 * possible:
 *
 *	waiters NIC CHILDREN
 *
 * Each of CHILDREN processes waits for it 900 times. The process arms its completion queue, sends
 * itself a message, and repeats. Prints "attacking" when it has begun; runs until SIGTERM.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#include "tests/int/host.h"

enum {
	WAITERS = 900,
	CHILDREN_MAX = 200,
	FDS_MAX = 8,
};

/* Copies of our eventfds, which libweft removes from a child. */
static int fd[FDS_MAX];
static int num_fds;

static void copy_eventfds(void)
{
	num_fds = host_eventfds(fd, FDS_MAX);
	for (int i = 0; i < num_fds; i++)
		fd[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, 64);
}

static void wait_often(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < WAITERS; i++) {
		struct epoll_event ev = {.events = EPOLLIN};
		int epoll_fd = epoll_create1(0);

		host_check(epoll_fd >= 0);
		for (int k = 0; k < num_fds; k++)
			host_check(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd[k], &ev) == 0);
	}
	host_check(write(ready, "", 1) == 1);
	for (;;)
		pause();
}

/* Posts one RDMA Write to itself that signals its completion. */
static void write_once(struct host_end *end, struct weft_qp *qp)
{
	struct weft_sge sge = {(uintptr_t)end->mem, 8, end->mr->lkey};
	struct weft_send_wr wr = {
	    .opcode = WEFT_WR_WRITE,
	    .flags = WEFT_SEND_SIGNALED,
	    .sg_list = &sge,
	    .num_sge = 1,
	    .remote_addr = (uintptr_t)end->mem + 64,
	    .rkey = end->mr->rkey,
	    .ah = end->ah,
	    .dst_qpn = qp->qpn,
	    .qkey = HOST_QKEY,
	};

	host_check(weft_post_send(qp, &wr, NULL) == 0);
}

int main(int argc, char **argv)
{
	struct weft_comp_channel *channel;
	struct host_end end = {0};
	struct weft_cq *cq;
	struct weft_qp *qp;
	int ready[2], children = argc == 3 ? atoi(argv[2]) : -1;
	uint32_t events = 0;

	if (children < 0 || children > CHILDREN_MAX) {
		fputs("waiters NIC CHILDREN\n", stderr);
		return 2;
	}
	host_open(&end, argv[1], 4096);
	channel = weft_create_comp_channel(end.ctx, 0);
	host_check(channel);
	cq = weft_create_cq(end.ctx, 64, channel, NULL);
	host_check(cq);
	qp = host_qp(&end, WEFT_QPT_RD, cq, NULL, 16);
	host_check(pipe(ready) == 0);
	copy_eventfds();
	for (int i = 0; i < children; i++)
		if (!fork())
			wait_often(ready[1]);
	for (int i = 0; i < children; i++)
		host_check(read(ready[0], &(char){0}, 1) == 1);
	for (;;) {
		struct weft_cq *of;
		struct weft_wc wc;
		void *user;

		host_check(weft_req_notify_cq(cq, false) == 0);
		write_once(&end, qp);
		host_check(weft_get_cq_event(channel, &of, &user) == 0);
		weft_ack_cq_events(cq, 1);
		while (weft_poll_cq(cq, 1, &wc) == 1)
			host_check(wc.status == WEFT_WC_SUCCESS);
		if (++events == 4) {
			puts("attacking");
			fflush(stdout);
		}
	}
}
