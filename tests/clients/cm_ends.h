/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ends for cm_calls.c: channels, identifiers of two NICs, members of a multicast group, and
 * waits for events. A call that fails, or takes longer than LIMIT_S, ends the program.
 *
 * Public calls of librdmacm and libibverbs alone. One thread, but for rdma_create_ep()'s.
 */
#ifndef WEFT_TESTS_CM_ENDS_H
#define WEFT_TESTS_CM_ENDS_H

#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	LIMIT_S = 60,  /* seconds until a missing event is a failure */
	LONGEST = 255, /* bytes of private data */
};

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			die("%s:%d: %s: %m", __FILE__, __LINE__, #cond);                           \
	} while (0)

#define FAILS(call, err) CHECK((errno = 0, (call)) == -1 && errno == (err))

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* A listener, and an identifier that connects to it; either end has a channel of its own. */
struct ends {
	struct rdma_event_channel *client, *server;
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_id *peer; /* made by the listener's request; NULL: none */
	struct sockaddr_in to;   /* the listener's address */
};

enum {
	SLOTS = 4,
};

/* A UD queue pair that sends and receives numbers. */
struct member {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_ah *ah; /* of the group joined last */
	uint32_t qpn, qkey;
	uint8_t mem[1 + SLOTS][64]; /* sent, received */
};

struct sockaddr_in at(struct in_addr addr, uint16_t port);
static inline struct sockaddr *sa(struct sockaddr_in *in)
{
	return (struct sockaddr *)in;
}
static inline void *wr_context(uintptr_t n)
{
	return (void *)n;
}

struct rdma_event_channel *channel_new(void);
struct rdma_cm_id *id_new(struct rdma_event_channel *channel, enum rdma_port_space ps);
struct ibv_qp_init_attr qp_init(struct rdma_cm_id *id);
/* rdma_create_qp() with what qp_init() says. */
int id_qp(struct rdma_cm_id *id);

/* Receives the next event, which must be of this type. */
struct rdma_cm_event *next(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The same, acknowledged. */
void done(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* Waits until there may be an event. */
void readable(struct rdma_event_channel *channel);
/* Checks that there is no event: EAGAIN where the channel does not block. */
void no_event(struct rdma_event_channel *channel);
/* Waits for one completion. */
void wait_wc(struct ibv_cq *cq, struct ibv_wc *wc);

/* addr: of the active end, of the listener. */
void ends_new(struct ends *e, const struct in_addr addr[2], enum rdma_port_space ps);
void ends_resolve(struct ends *e);
/* True if the connection is MPA's: an iWARP device without datagrams. */
bool ends_over_tcp(const struct ends *e);
/* Waits until the request has arrived; either end has a queue pair. */
void ends_request(struct ends *e, struct rdma_conn_param *param);
void ends_connect(struct ends *e, struct rdma_conn_param *param);
void ends_drop_peer(struct ends *e);
/* Checks that no event of either channel is left. */
void ends_free(struct ends *e);

/* Private data: bytes that count up from first. */
void *pattern(uint8_t *data, size_t bytes, uint8_t first);
bool is_pattern(const void *data, size_t bytes, uint8_t first);
void check_data(const struct rdma_cm_event *event, size_t bytes, uint8_t first);

void member_new(struct member *m, struct in_addr addr);
void member_free(struct member *m);
void member_ah(struct member *m, struct rdma_ud_param *param);
void member_send(struct member *m, struct ibv_ah *ah, uint8_t number);
uint8_t member_receive(struct member *m);

#endif /* WEFT_TESTS_CM_ENDS_H */
