/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of a memif without any checks, for the hostile ends memif_stranger.c and
 * memif_false_server.c. dpdk_app/wire/memif_proto.h.
 */
#ifndef WEFT_TESTS_MEMIF_PEER_H
#define WEFT_TESTS_MEMIF_PEER_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/wire/memif_proto.h"

enum {
	PEER_LOG2 = 10,
	PEER_SLOTS = 1 << PEER_LOG2,
	PEER_BUFFER = 2048,
	PEER_RING = sizeof(struct memif_ring_shared) + PEER_SLOTS * sizeof(struct memif_desc),
	PEER_BUFFERS = (2 * PEER_RING + 4095) / 4096 * 4096,
	PEER_BYTES = PEER_BUFFERS + 2 * PEER_SLOTS * PEER_BUFFER,
	PEER_WAIT_MS = 60000,
	PEER_FRAME = 60,
};

/* State of a client's end. */
struct peer {
	int sock;
	int region;    /* memfd */
	uint8_t *base; /* its bytes */
	struct memif_ring_shared *out, *in;
};

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

static inline void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (errno: %s)\n", strerror(errno));
	exit(1);
}

static inline void peer_address(struct sockaddr_un *addr, const char *path)
{
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	snprintf(addr->sun_path, sizeof(addr->sun_path), "%s", path);
}

/* Sends bytes of a message, with num descriptors. */
static inline void peer_send_raw(int sock, const void *msg, size_t bytes, const int *fd,
				 uint32_t num)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)msg, .iov_len = bytes};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

	if (num) {
		struct cmsghdr *c;

		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(num * sizeof(int));
		c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(num * sizeof(int));
		memcpy(CMSG_DATA(c), fd, num * sizeof(int));
	}
	/* weftd may have hung up on the previous message. */
	if (sendmsg(sock, &header, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		die("sendmsg");
}

static inline void peer_send(int sock, struct memif_msg *msg, enum memif_kind kind, int fd)
{
	msg->kind = (uint16_t)kind;
	peer_send_raw(sock, msg, sizeof(*msg), &fd, fd >= 0);
}

/* Receives the next message and its descriptor. Returns its kind; MEMIF_MSG_NONE: weftd hung up. */
static inline enum memif_kind peer_recv(int sock, struct memif_msg *msg, int *fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = msg, .iov_len = sizeof(*msg)};
	struct msghdr header = {.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	struct pollfd poll_fd = {.fd = sock, .events = POLLIN};
	struct cmsghdr *c;

	if (poll(&poll_fd, 1, PEER_WAIT_MS) != 1)
		die("no answer within %d ms", PEER_WAIT_MS);
	if (recvmsg(sock, &header, 0) != (ssize_t)sizeof(*msg))
		return MEMIF_MSG_NONE;
	c = CMSG_FIRSTHDR(&header);
	if (fd && c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return (enum memif_kind)msg->kind;
}

/* Waits until weftd hangs up, with or without a reason. */
static inline void peer_gone(int sock)
{
	struct memif_msg msg;
	enum memif_kind kind;

	while ((kind = peer_recv(sock, &msg, NULL)) != MEMIF_MSG_NONE) {
		if (kind == MEMIF_MSG_DISCONNECT)
			printf("it says: %.96s\n", msg.u.disconnect.reason);
	}
}

static inline void peer_expect(int sock, enum memif_kind kind)
{
	struct memif_msg msg;
	enum memif_kind got = peer_recv(sock, &msg, NULL);

	if (got == MEMIF_MSG_DISCONNECT)
		die("it says %.96s instead of message %d", msg.u.disconnect.reason, (int)kind);
	if (got != kind)
		die("message %d instead of %d", (int)got, (int)kind);
}

/* Makes a memfd of that many bytes with these seals. */
static inline int peer_memory(uint64_t bytes, int seals)
{
	int fd = memfd_create("stranger", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) || (seals && fcntl(fd, F_ADD_SEALS, seals)))
		die("memory");
	return fd;
}

/* Connects to the server at path, before its first message; -1 with errno: refused. */
static inline int peer_open(const char *path)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;
	struct sockaddr_un addr;

	peer_address(&addr, path);
	if (sock < 0 || !connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		return sock;
	err = errno;
	close(sock);
	errno = err;
	return -1;
}

/* Connects and reads HELLO. */
static inline int peer_connect(const char *path)
{
	uint64_t tries = 0;

	for (;;) {
		struct memif_msg msg;
		int sock = peer_open(path);

		if (sock < 0)
			die("connect to %s", path);
		if (peer_recv(sock, &msg, NULL) == MEMIF_MSG_HELLO)
			return sock;
		/* weftd may still be closing the last attack's connection. */
		close(sock);
		if (++tries == 1000)
			die("no HELLO");
		usleep(10000);
	}
}

static inline void peer_init(int sock, uint16_t version, uint8_t mode, const char *secret)
{
	struct memif_msg msg = {0};
	size_t bytes = strlen(secret);

	msg.u.init.version = version;
	msg.u.init.mode = mode;
	memcpy(msg.u.init.secret, secret, bytes < MEMIF_SECRET_BYTES ? bytes : MEMIF_SECRET_BYTES);
	peer_send(sock, &msg, MEMIF_MSG_INIT, -1);
}

static inline void peer_region(int sock, uint16_t index, uint64_t bytes, int fd)
{
	struct memif_msg msg = {0};

	msg.u.add_region.index = index;
	msg.u.add_region.bytes = bytes;
	peer_send(sock, &msg, MEMIF_MSG_ADD_REGION, fd);
}

struct peer_ring {
	uint16_t flags, index, region;
	uint32_t offset;
	uint8_t log2_slots;
	int fd;
};

static inline void peer_ring(int sock, struct peer_ring ring)
{
	struct memif_msg msg = {0};

	msg.u.add_ring.flags = ring.flags;
	msg.u.add_ring.index = ring.index;
	msg.u.add_ring.region = ring.region;
	msg.u.add_ring.offset = ring.offset;
	msg.u.add_ring.log2_slots = ring.log2_slots;
	peer_send(sock, &msg, MEMIF_MSG_ADD_RING, ring.fd);
}

static inline struct memif_desc peer_desc(uint32_t ring, uint32_t slot)
{
	return (struct memif_desc){.bytes = PEER_BUFFER,
				   .offset =
				       PEER_BUFFERS + (ring * PEER_SLOTS + slot) * PEER_BUFFER};
}

/* Lays out rings and buffers as an honest client does. */
static inline void peer_format(struct peer *p)
{
	p->base = mmap(NULL, PEER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->region, 0);
	if (p->base == MAP_FAILED)
		die("mmap");
	p->out = (void *)p->base;
	p->in = (void *)(p->base + PEER_RING);
	p->out->cookie = p->in->cookie = MEMIF_COOKIE;
	p->out->flags = p->in->flags = MEMIF_MASK_INT;
	for (uint32_t i = 0; i < PEER_SLOTS; i++) {
		p->out->desc[i] = peer_desc(0, i);
		p->in->desc[i] = peer_desc(1, i);
	}
}

/* Sends INIT with the secret and a region with these seals, and receives the ACK. */
static inline void peer_begin(struct peer *p, const char *path, int seals)
{
	p->sock = peer_connect(path);
	peer_init(p->sock, MEMIF_VERSION, MEMIF_MODE_ETHERNET, "");
	peer_expect(p->sock, MEMIF_MSG_ACK);
	p->region = peer_memory(PEER_BYTES, seals);
	peer_format(p);
	peer_region(p->sock, 0, PEER_BYTES, p->region);
}

/* Does the whole set-up as an honest client does. */
static inline void peer_up(struct peer *p, const char *path)
{
	struct memif_msg msg = {0};

	peer_begin(p, path, F_SEAL_SHRINK);
	peer_expect(p->sock, MEMIF_MSG_ACK);
	peer_ring(p->sock, (struct peer_ring){.flags = MEMIF_RING_S2M,
					      .log2_slots = PEER_LOG2,
					      .fd = eventfd(0, EFD_NONBLOCK)});
	peer_expect(p->sock, MEMIF_MSG_ACK);
	peer_ring(p->sock, (struct peer_ring){.offset = PEER_RING,
					      .log2_slots = PEER_LOG2,
					      .fd = eventfd(0, EFD_NONBLOCK)});
	peer_expect(p->sock, MEMIF_MSG_ACK);
	peer_send(p->sock, &msg, MEMIF_MSG_CONNECT, -1);
	peer_expect(p->sock, MEMIF_MSG_CONNECTED);
}

/* Builds an ARP request for 10.9.0.1, which the NIC answers. */
static inline void peer_arp(uint8_t frame[PEER_FRAME])
{
	static const uint8_t request[] = {
	    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0, 0, 0, 9, 8, 6, /* Ethernet */
	    0,    1,    8,    0,    6,    4,    0,  1,                   /* ARP request */
	    2,    0,    0,    0,    0,    9,    10, 9, 0, 9, 0, 0, 0, 0, 0, 0, 10, 9, 0, 1,
	};

	memset(frame, 0, PEER_FRAME);
	memcpy(frame, request, sizeof(request));
}

static inline void peer_store(uint16_t *index, uint16_t value)
{
	__atomic_store_n(index, value, __ATOMIC_RELEASE);
}

/*
 * Puts ARP requests into the first n slots from head on, moves head, and waits until they are
 * taken.
 */
static inline void peer_ask(struct peer *p, uint32_t n)
{
	uint16_t head = p->out->head;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = (uint16_t)(head + i) % PEER_SLOTS;

		peer_arp(p->base + PEER_BUFFERS + slot * PEER_BUFFER);
		p->out->desc[slot] = peer_desc(0, slot);
		p->out->desc[slot].bytes = PEER_FRAME;
	}
	peer_store(&p->out->head, (uint16_t)(head + n));
}

/*
 * Waits until *index has reached value: weftd answers a request, and may send one first. False:
 * weftd hung up before.
 */
static inline bool peer_await(const struct peer *p, const uint16_t *index, uint16_t value)
{
	struct pollfd poll_fd = {.fd = p->sock, .events = POLLIN};

	for (int ms = 0; ms < PEER_WAIT_MS; ms++) {
		if ((int16_t)(__atomic_load_n(index, __ATOMIC_ACQUIRE) - value) >= 0)
			return true;
		if (poll(&poll_fd, 1, 1))
			return false;
	}
	die("its index stays %u, not %u", *index, value);
}

struct peer_attack {
	const char *name;
	void (*run)(void);
};
#define PEER_ATTACK(name)                                                                          \
	{                                                                                          \
#name, name                                                                        \
	}

static inline void peer_become(uid_t user)
{
	if (!user)
		return;
	if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user))
		die("cannot run as user %u", user);
	/* The sanitizers want all memory freed. */
	prctl(PR_SET_DUMPABLE, 1);
}

/*
 * Parses the arguments UID PATH ATTACK and runs that attack as that user. Returns the exit status.
 */
static inline int peer_main(int argc, char **argv, const struct peer_attack *attack, size_t num,
			    const char **path)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s UID PATH ATTACK\n", argv[0]);
		return 2;
	}
	peer_become((uid_t)strtoul(argv[1], NULL, 10));
	*path = argv[2];
	for (size_t i = 0; i < num; i++) {
		if (!strcmp(argv[3], attack[i].name)) {
			attack[i].run();
			return 0;
		}
	}
	fprintf(stderr, "%s: no attack is called %s\n", argv[0], argv[3]);
	return 2;
}

#endif /* WEFT_TESTS_MEMIF_PEER_H */
