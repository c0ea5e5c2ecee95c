/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One UD queue pair and an IPv4 group, for mcast.sh:
 *
 *	mcast_prog member NIC GROUP QKEY
 *	mcast_prog send NIC GROUP QKEY FIRST COUNT [listen|block]
 *
 * member: attaches, prints "attached", and "got N" for each datagram, N being the number it
 * carries. On SIGUSR1 it detaches, prints "detached" and goes on; on SIGTERM it detaches if it is
 * still attached, prints "total N" and ends.
 *
 * send: sends COUNT numbers from FIRST on, in datagrams of different lengths, and prints "sent".
 * With listen it is attached itself and ends when it has received all of its own datagrams. With
 * block it is attached with WEFT_QP_F_BLOCK_SELF_MCAST_LB and prints "self N", the number of its
 * own datagrams that it received nevertheless in the time that a member needs.
 *
 * Calls host_driver/weft.h only.
 */
#include "lib/clock.h"
#include "tests/int/host.h"

#include <arpa/inet.h>
#include <signal.h>

enum {
	RECEIVES = 64,
	GRH = 40,
	BYTES_MAX = 1024,
	SLOT_BYTES = GRH + BYTES_MAX,
	SELF_MS = 300, /* wait for datagrams that must not come; loopback within the NIC takes
			  microseconds */
	LIMIT_MS = 60000,
};

static volatile sig_atomic_t want_detach, want_end;

static void on_signal(int signo)
{
	if (signo == SIGTERM)
		want_end = 1;
	else
		want_detach = 1;
}

struct mcast_end {
	struct host_end host;
	struct weft_cq *cq;
	struct weft_qp *qp;
	struct weft_ah *ah;
	uint32_t qkey;
	uint8_t gid[16];
	uint32_t received;
	uint32_t sent;
};

static uint32_t bytes_of(uint32_t number)
{
	return 4 + number * 37 % (BYTES_MAX - 4);
}

static uint8_t byte_of(uint32_t number, uint32_t i)
{
	return (uint8_t)(number * 7 + i * 13 + (i >> 8));
}

static void post_receive(struct mcast_end *end, uint64_t slot)
{
	struct weft_sge sge = {(uintptr_t)end->host.mem + slot * SLOT_BYTES, SLOT_BYTES,
			       end->host.mr->lkey};
	struct weft_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};

	host_check(weft_post_recv(end->qp, &wr, NULL) == 0);
}

static void open_end(struct mcast_end *end, char **argv, uint32_t flags)
{
	struct weft_qp_init_attr init = {.type = WEFT_QPT_UD, .flags = flags};
	struct in_addr group;
	struct weft_av av;
	uint64_t slot;

	memset(end, 0, sizeof(*end));
	host_check(inet_pton(AF_INET, argv[3], &group) == 1);
	end->qkey = (uint32_t)strtoul(argv[4], NULL, 0);
	host_open(&end->host, argv[2], (RECEIVES + 1) * SLOT_BYTES);
	end->cq = weft_create_cq(end->host.ctx, 4 * RECEIVES, NULL, NULL);
	host_check(end->cq);
	init.send_cq = init.recv_cq = end->cq;
	init.cap = (struct weft_qp_cap){RECEIVES, RECEIVES, 1, 1, 0};
	end->qp = weft_create_qp(end->host.pd, &init);
	host_check(end->qp);
	host_check(weft_activate_qp(end->qp, end->qkey, 0) == 0);
	av = weft_av_mcast(group.s_addr);
	end->ah = weft_create_ah(end->host.pd, &av);
	host_check(end->ah);
	weft_mcast_gid(group.s_addr, end->gid);
	for (slot = 0; slot < RECEIVES; slot++)
		post_receive(end, slot);
}

static void close_end(struct mcast_end *end)
{
	host_check(weft_destroy_ah(end->ah) == 0);
	host_check(weft_destroy_qp(end->qp) == 0);
	host_check(weft_destroy_cq(end->cq) == 0);
	host_close(&end->host);
}

/* Checks a received datagram to its last byte and prints its number. */
static void take(struct mcast_end *end, const struct weft_wc *wc)
{
	const uint8_t *data = (uint8_t *)end->host.mem + wc->wr_id * SLOT_BYTES + GRH;
	uint32_t number, i;

	host_check(wc->flags & WEFT_WC_F_GRH);
	memcpy(&number, data, sizeof(number));
	host_check(wc->bytes == GRH + bytes_of(number));
	for (i = sizeof(number); i < bytes_of(number); i++)
		host_check(data[i] == byte_of(number, i));
	printf("got %u\n", number);
	fflush(stdout);
	end->received++;
	post_receive(end, wc->wr_id);
}

static void poll_end(struct mcast_end *end)
{
	struct weft_wc wc[16];
	int i, n = weft_poll_cq(end->cq, 16, wc);

	host_check(n >= 0);
	for (i = 0; i < n; i++) {
		if (wc[i].status != WEFT_WC_SUCCESS)
			host_die("completion with %s", weft_wc_status_str(wc[i].status));
		if (wc[i].opcode == WEFT_WC_RECV)
			take(end, &wc[i]);
		else
			end->sent++;
	}
	if (!n)
		usleep(1000);
}

static void member(char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct mcast_end end;
	bool attached = true;
	int i;

	host_check(sigaction(SIGTERM, &action, NULL) == 0);
	host_check(sigaction(SIGUSR1, &action, NULL) == 0);
	open_end(&end, argv, 0);
	host_check(weft_attach_mcast(end.qp, end.gid) == 0);
	/* A second attach is no error and gives no second copy. */
	host_check(weft_attach_mcast(end.qp, end.gid) == 0);
	puts("attached");
	fflush(stdout);
	while (!want_end) {
		poll_end(&end);
		if (!want_detach || !attached)
			continue;
		host_check(weft_detach_mcast(end.qp, end.gid) == 0);
		host_check(weft_detach_mcast(end.qp, end.gid) == -EINVAL);
		attached = false;
		puts("detached");
		fflush(stdout);
	}
	if (attached)
		host_check(weft_detach_mcast(end.qp, end.gid) == 0);
	/* Datagrams received before are printed. */
	for (i = 0; i < RECEIVES; i++)
		poll_end(&end);
	close_end(&end);
	printf("total %u\n", end.received);
}

static void send_one(struct mcast_end *end, uint32_t number)
{
	uint8_t *data = (uint8_t *)end->host.mem + RECEIVES * SLOT_BYTES;
	struct weft_sge sge = {(uintptr_t)data, bytes_of(number), end->host.mr->lkey};
	struct weft_send_wr wr = {.wr_id = RECEIVES,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED,
				  .ah = end->ah,
				  .dst_qpn = WEFT_MCAST_QPN,
				  .qkey = end->qkey};
	uint64_t until_ms = clock_now_ms() + LIMIT_MS;
	uint32_t i, sent = end->sent;

	memcpy(data, &number, sizeof(number));
	for (i = sizeof(number); i < bytes_of(number); i++)
		data[i] = byte_of(number, i);
	host_check(weft_post_send(end->qp, &wr, NULL) == 0);
	while (end->sent == sent) {
		host_check(clock_now_ms() < until_ms);
		poll_end(end);
	}
}

static void sender(char **argv)
{
	bool listen = argv[7] && strcmp(argv[7], "listen") == 0;
	bool block = argv[7] && strcmp(argv[7], "block") == 0;
	uint32_t first = (uint32_t)strtoul(argv[5], NULL, 10);
	uint32_t count = (uint32_t)strtoul(argv[6], NULL, 10), i;
	struct mcast_end end;
	uint64_t until_ms;

	open_end(&end, argv, block ? WEFT_QP_F_BLOCK_SELF_MCAST_LB : 0);
	if (listen || block)
		host_check(weft_attach_mcast(end.qp, end.gid) == 0);
	for (i = 0; i < count; i++)
		send_one(&end, first + i);
	puts("sent");
	until_ms = clock_now_ms() + (listen ? LIMIT_MS : block ? SELF_MS : 0);
	while (clock_now_ms() < until_ms && (block || end.received < count))
		poll_end(&end);
	printf("self %u\n", end.received);
	/* Destroying the QP detaches it if necessary. */
	close_end(&end);
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "member") == 0) {
		member(argv);
	} else if ((argc == 7 || argc == 8) && strcmp(argv[1], "send") == 0) {
		sender(argv);
	} else {
		fprintf(stderr,
			"usage: mcast_prog member NIC GROUP QKEY\n"
			"       mcast_prog send NIC GROUP QKEY FIRST COUNT [listen|block]\n");
		return 2;
	}
	return 0;
}
