/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private data of connections over TCP, up to the most bytes that MPA carries, both ways between
 * two processes: request, accept and reject, revisions 1 and 2, each byte checked.
 *
 *	cm_data serve NIC PORT		answers six requests
 *	cm_data ask NIC IP PORT		makes them
 *	cm_data once NIC IP PORT	makes one, which any listener may accept
 *
 * Run by cm_data.sh. Calls host_driver/weft_cm.h.
 */
#include "lib/clock.h"
#include "tests/int/host.h"

#include <arpa/inet.h>
#include <poll.h>

#include "host_driver/weft_cm.h"

enum {
	ENHANCED = 4, /* bytes that revision 2 puts before the private data */
	WAIT_MS = 60000,
};

/*
 * The requests: MPA revision, bytes of private data in the request and in the answer, rejected or
 * not.
 */
static const struct {
	bool old;
	uint32_t asked, said;
	bool reject;
} cases[] = {
    {false, 508, 508, false}, {true, 512, 512, false}, {false, 256, 255, false},
    {false, 255, 256, true},  {true, 512, 512, true},  {false, 508, 508, true},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static struct weft_context *ctx;
static struct weft_comp_channel *channel;
static struct weft_pd *pd;
static struct weft_cq *cq;

static struct weft_cm_data pattern(uint8_t *buf, uint32_t bytes, uint32_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		buf[i] = (uint8_t)(i * 3 + (i >> 8) + seed);
	return (struct weft_cm_data){buf, bytes};
}

static void open_nic(const char *nic)
{
	ctx = weft_open_device(nic);
	host_check(ctx);
	channel = weft_create_comp_channel(ctx, 0);
	pd = weft_alloc_pd(ctx);
	cq = weft_create_cq(ctx, 64, NULL, NULL);
	host_check(channel && pd && cq);
}

/* Moves the QP of a connection to RTS. */
static struct weft_qp *make_qp(void)
{
	struct weft_qp_init_attr init = {
	    .type = WEFT_QPT_RC,
	    .send_cq = cq,
	    .recv_cq = cq,
	    .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct weft_qp_attr attr = {
	    .state = WEFT_QPS_INIT, .port = 1, .transport = WEFT_QP_TRANSPORT_TCP};
	struct weft_qp *qp = weft_create_qp(pd, &init);

	host_check(qp);
	host_check(weft_modify_qp(qp, &attr,
				  WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
				      WEFT_QP_ACCESS_FLAGS | WEFT_QP_TRANSPORT) == 0);
	attr.state = WEFT_QPS_RTR;
	host_check(weft_modify_qp(qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_DEST_RD_ATOMIC) == 0);
	attr.state = WEFT_QPS_RTS;
	host_check(weft_modify_qp(qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_QP_RD_ATOMIC) == 0);
	return qp;
}

static struct hw_resp_cm_event next(enum hw_cm_event_type type)
{
	struct hw_resp_cm_event event;
	uint64_t end_ms = clock_now_ms() + WAIT_MS;
	int rc;

	while ((rc = weft_cm_get_event(channel, &event)) == -EAGAIN) {
		host_check(clock_now_ms() < end_ms);
		(void)poll(&(struct pollfd){.fd = channel->fd, .events = POLLIN}, 1, 100);
	}
	host_check(rc == 0);
	if (event.type != type)
		host_die("event %u (status %u), not %u", event.type, event.status, type);
	return event;
}

static void expect_data(const struct hw_resp_cm_event *event, uint32_t bytes, uint32_t seed)
{
	uint8_t told[HW_CM_MAX_DATA], want[HW_CM_MAX_DATA];
	int n = weft_cm_get_data(ctx, event, told);

	if (n != (int)bytes)
		host_die("%d bytes of private data, not %u", n, bytes);
	(void)pattern(want, bytes, seed);
	host_check(memcmp(told, want, bytes) == 0);
	host_check(weft_cm_get_data(ctx, event, told) ==
		   (bytes > HW_CM_EVENT_BYTES ? -ENOENT : (int)bytes));
}

static void serve(uint16_t port)
{
	const struct weft_cm_llp tcp = {.transport = HW_CM_TRANSPORT_TCP};
	uint8_t buf[HW_CM_MAX_DATA + 1];
	uint32_t ep;

	host_check(weft_cm_create(channel, &ep) == 0);
	host_check(weft_cm_bind(ctx, ep, HW_CM_TCP, &port, false) == 0);
	host_check(weft_cm_listen(ctx, ep, 0, &tcp) == 0);
	puts("listening");
	fflush(stdout);
	for (uint32_t i = 0; i < CASES; i++) {
		uint32_t most = HW_CM_MAX_DATA - (cases[i].old ? 0 : (uint32_t)ENHANCED);
		struct weft_cm_data data = pattern(buf, most + 1, 100 + i);
		struct hw_resp_cm_event event = next(HW_CM_EVENT_REQUEST);
		struct weft_qp *qp = make_qp();
		struct hw_cm_param param = {.qpn = qp->qpn, .qp_type = WEFT_QPT_RC};

		expect_data(&event, cases[i].asked, i);
		host_check(weft_cm_accept(ctx, event.ep, &param, &data) == -EINVAL);
		data.bytes = cases[i].said;
		if (cases[i].reject) {
			host_check(weft_cm_reject(ctx, event.ep, HW_CM_REJ_CONSUMER, &data) == 0);
		} else {
			host_check(weft_cm_accept(ctx, event.ep, &param, &data) == 0);
			(void)next(HW_CM_EVENT_ESTABLISHED);
			(void)next(HW_CM_EVENT_DISCONNECTED);
		}
		host_check(weft_cm_destroy(ctx, event.ep) == 0);
		host_check(weft_destroy_qp(qp) == 0);
	}
	host_check(weft_cm_destroy(ctx, ep) == 0);
}

static void ask_once(uint32_t ip, uint16_t port, uint32_t i, bool alone)
{
	struct weft_cm_llp tcp = {.transport = HW_CM_TRANSPORT_TCP,
				  .mpa = HW_MPA_DEFAULT | (cases[i].old ? HW_MPA_REVISION_1 : 0)};
	uint32_t most = HW_CM_MAX_DATA - (cases[i].old ? 0 : (uint32_t)ENHANCED), ep;
	uint8_t buf[HW_CM_MAX_DATA + 1];
	struct weft_cm_data data = pattern(buf, most + 1, i);
	struct weft_qp *qp = make_qp();
	struct hw_cm_param param = {.qpn = qp->qpn, .qp_type = WEFT_QPT_RC};
	struct hw_resp_cm_event event;
	uint16_t own = 0;

	host_check(weft_cm_create(channel, &ep) == 0);
	host_check(weft_cm_bind(ctx, ep, HW_CM_TCP, &own, false) == 0);
	host_check(weft_cm_connect(ctx, ep, ip, port, false, &tcp, &param, &data) == -EINVAL);
	data.bytes = cases[i].asked;
	host_check(weft_cm_connect(ctx, ep, ip, port, false, &tcp, &param, &data) == 0);
	event = next(cases[i].reject ? HW_CM_EVENT_REJECTED : HW_CM_EVENT_RESPONSE);
	if (!alone)
		expect_data(&event, cases[i].said, 100 + i);
	if (!cases[i].reject) {
		host_check(weft_cm_accept(ctx, ep, NULL, NULL) == 0);
		host_check(weft_cm_disconnect(ctx, ep) == 0);
		(void)next(HW_CM_EVENT_DISCONNECTED);
	}
	host_check(weft_cm_destroy(ctx, ep) == 0);
	host_check(weft_destroy_qp(qp) == 0);
}

int main(int argc, char **argv)
{
	uint32_t i;

	if (argc < 4)
		host_die("usage: cm_data serve NIC PORT | ask NIC IP PORT | once NIC IP PORT");
	open_nic(argv[2]);
	if (!strcmp(argv[1], "serve"))
		serve((uint16_t)atoi(argv[3]));
	else
		for (i = 0; i < (strcmp(argv[1], "ask") ? 1 : CASES); i++)
			ask_once(inet_addr(argv[3]), (uint16_t)atoi(argv[4]), i,
				 strcmp(argv[1], "ask") != 0);
	host_check(weft_destroy_cq(cq) == 0);
	host_check(weft_dealloc_pd(pd) == 0);
	host_check(weft_destroy_comp_channel(channel) == 0);
	weft_close_device(ctx);
	return 0;
}
