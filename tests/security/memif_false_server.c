/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile memif server, to which weftd connects as a client. usage:
 *
 *	memif_false_server UID PATH ATTACK
 *
 * runs as user UID and listens at PATH. Exit status 0: the attack ran to its end, and weftd's
 * answers were the expected ones. Run by memif_false_server.sh, which checks the counters.
 */
#include <sys/stat.h>

#include "tests/security/memif_peer.h"

static const char *path;

static int server_listen(void)
{
	struct sockaddr_un addr;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	unlink(path);
	peer_address(&addr, path);
	umask(0); /* weftd has no right to bypass file modes */
	if (sock < 0 || bind(sock, (struct sockaddr *)&addr, sizeof(addr)) || listen(sock, 8))
		die("listen at %s", path);
	puts("listens");
	fflush(stdout);
	return sock;
}

static int server_accept(int listener)
{
	struct pollfd poll_fd = {.fd = listener, .events = POLLIN};
	int sock;

	if (poll(&poll_fd, 1, PEER_WAIT_MS) != 1)
		die("nobody comes");
	sock = accept(listener, NULL, NULL);
	if (sock < 0)
		die("accept");
	return sock;
}

static void server_hello(int sock, uint16_t version, uint8_t log2)
{
	struct memif_msg msg = {0};

	msg.u.hello.min_version = msg.u.hello.max_version = version;
	msg.u.hello.max_log2_ring_size = log2;
	peer_send(sock, &msg, MEMIF_MSG_HELLO, -1);
}

/* Maps the client's memory, as an honest server does. */
static void server_up(struct peer *p, int listener)
{
	struct memif_msg msg;
	enum memif_kind kind;
	uint64_t bytes = 0;
	uint32_t out = 0, in = 0;
	int fd = -1;

	p->sock = server_accept(listener);
	server_hello(p->sock, MEMIF_VERSION, PEER_LOG2);
	while ((kind = peer_recv(p->sock, &msg, &fd)) != MEMIF_MSG_CONNECT) {
		struct memif_msg ack = {0};

		if (kind == MEMIF_MSG_ADD_REGION) {
			p->region = fd;
			bytes = msg.u.add_region.bytes;
		} else if (kind == MEMIF_MSG_ADD_RING && msg.u.add_ring.flags) {
			in = msg.u.add_ring.offset;
		} else if (kind == MEMIF_MSG_ADD_RING) {
			out = msg.u.add_ring.offset;
		} else if (kind != MEMIF_MSG_INIT) {
			die("message %d in the set-up", (int)kind);
		}
		peer_send(p->sock, &ack, MEMIF_MSG_ACK, -1);
	}
	if (!ftruncate(p->region, 0) || errno != EPERM)
		die("the client's memory can be made smaller");
	p->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->region, 0);
	if (p->base == MAP_FAILED)
		die("mmap");
	p->out = (void *)(p->base + out);
	p->in = (void *)(p->base + in);
	memset(&msg, 0, sizeof(msg));
	peer_send(p->sock, &msg, MEMIF_MSG_CONNECTED, -1);
	for (int ms = 0; p->out->head != PEER_SLOTS; ms++) {
		if (ms == PEER_WAIT_MS)
			die("it offers no buffers");
		usleep(1000);
	}
}

static void server_strange(void)
{
	int listener = server_listen();
	struct memif_msg msg;

	/* weftd connects, checks the server's credentials, and hangs up. */
	if (peer_recv(server_accept(listener), &msg, NULL) != MEMIF_MSG_NONE)
		die("it speaks with a stranger");
}

static void server_messages(void)
{
	int listener = server_listen();
	struct memif_msg msg = {0};
	int sock = server_accept(listener);

	server_hello(sock, 0x0300, 10);
	peer_gone(sock);
	sock = server_accept(listener);
	server_hello(sock, MEMIF_VERSION, 0);
	peer_gone(sock);
	sock = server_accept(listener);
	peer_send_raw(sock, "\2", 2, NULL, 0);
	peer_gone(sock);
	sock = server_accept(listener);
	peer_send(sock, &msg, MEMIF_MSG_CONNECTED, -1);
	peer_gone(sock);
	sock = server_accept(listener);
	server_hello(sock, MEMIF_VERSION, 10);
	server_hello(sock, MEMIF_VERSION, 10);
	peer_gone(sock);
}

static void server_tails(void)
{
	int listener = server_listen();
	struct peer p;

	server_up(&p, listener);
	peer_store(&p.out->tail, PEER_SLOTS + 1);
	peer_gone(p.sock);
	server_up(&p, listener);
	peer_store(&p.out->tail, 0x9000);
	peer_gone(p.sock);
}

/* Sends frames of any length at any offset in the client's own memory. */
static void server_descriptors(void)
{
	int listener = server_listen();
	struct peer p;

	server_up(&p, listener);
	for (uint32_t i = 0; i < PEER_SLOTS; i++) {
		struct memif_desc *d = &p.out->desc[i];

		d->flags = i % 5 ? 0 : MEMIF_DESC_NEXT;
		d->region = (uint16_t)(i * 7);
		d->offset = 0xffffffff - i * 1000;
		d->bytes = i % 2 ? 0xffffffff - i : 4096 + i;
	}
	peer_store(&p.out->tail, PEER_SLOTS);
	if (!peer_await(&p, &p.out->head, (uint16_t)(2 * PEER_SLOTS)))
		die("it hung up");
	if (p.out->desc[7].region || p.out->desc[7].bytes != PEER_BUFFER)
		die("its buffers are not where they were");
	close(p.sock);
}

static const struct peer_attack attacks[] = {
    PEER_ATTACK(server_strange),
    PEER_ATTACK(server_messages),
    PEER_ATTACK(server_tails),
    PEER_ATTACK(server_descriptors),
};

int main(int argc, char **argv)
{
	return peer_main(argc, argv, attacks, sizeof(attacks) / sizeof(attacks[0]), &path);
}
