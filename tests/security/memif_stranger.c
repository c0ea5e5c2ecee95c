/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile memif client. usage:
 *
 *	memif_stranger UID PATH ATTACK
 *
 * runs as user UID and attacks the server at PATH. Exit status 0: the attack ran to its end, and
 * weftd's answers were the expected ones. Run by memif_stranger.sh, which checks the counters.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "tests/security/memif_peer.h"

static const char *path;

/* ---- before anything is mapped */

static void denied(void)
{
	if (peer_open(path) >= 0 || errno != EACCES)
		die("not refused by the socket's mode");
}

/* The mode of the socket was wrong once: weftd checks the client's credentials all the same. */
static void unknown_user(void)
{
	struct memif_msg msg;
	int sock = peer_open(path);

	if (sock < 0)
		die("connect");
	if (peer_recv(sock, &msg, NULL) != MEMIF_MSG_NONE)
		die("it was greeted");
}

static void busy(void)
{
	struct peer p;
	int sock;

	peer_up(&p, path);
	sock = peer_open(path);
	if (sock < 0)
		die("connect");
	peer_gone(sock);
	/* The earlier connection still works. */
	for (uint32_t i = 0; i < PEER_SLOTS; i++)
		p.in->desc[i] = peer_desc(1, i);
	peer_store(&p.in->head, PEER_SLOTS);
	peer_ask(&p, 1);
	if (!peer_await(&p, &p.in->tail, 1))
		die("the connection that was up has ended");
}

static void silent(void)
{
	peer_gone(peer_connect(path));
}

static void short_message(void)
{
	int sock = peer_connect(path);

	peer_send_raw(sock, "\3", 2, NULL, 0);
	peer_gone(sock);
}

static void long_message(void)
{
	static const char msg[4096] = "\3";
	int sock = peer_connect(path);

	peer_send_raw(sock, msg, sizeof(msg), NULL, 0);
	peer_gone(sock);
}

static void wrong_kind(void)
{
	struct memif_msg msg = {0};
	int sock = peer_connect(path);

	peer_send(sock, &msg, (enum memif_kind)77, -1);
	peer_gone(sock);
}

static void wrong_order(void)
{
	struct memif_msg msg = {0};
	int sock = peer_connect(path);

	peer_ring(sock, (struct peer_ring){.log2_slots = 10, .fd = eventfd(0, 0)});
	peer_gone(sock);
	sock = peer_connect(path);
	peer_send(sock, &msg, MEMIF_MSG_CONNECT, -1);
	peer_gone(sock);
}

static void wrong_version(void)
{
	int sock = peer_connect(path);

	peer_init(sock, 0x0300, 0, "");
	peer_gone(sock);
	sock = peer_connect(path);
	peer_init(sock, MEMIF_VERSION, 1, "");
	peer_gone(sock);
}

static void init_twice(void)
{
	int sock = peer_connect(path);

	peer_init(sock, MEMIF_VERSION, 0, "");
	peer_expect(sock, MEMIF_MSG_ACK);
	peer_init(sock, MEMIF_VERSION, 0, "");
	peer_gone(sock);
}

static void wrong_secret(void)
{
	int sock = peer_connect(path);

	peer_init(sock, MEMIF_VERSION, 0, "guessed");
	peer_gone(sock);
}

/* ---- regions: each is refused when it is added */

static void region(uint16_t index, uint64_t bytes, int fd)
{
	int sock = peer_connect(path);

	peer_init(sock, MEMIF_VERSION, 0, "");
	peer_expect(sock, MEMIF_MSG_ACK);
	peer_region(sock, index, bytes, fd);
	peer_gone(sock);
	close(sock);
	if (fd >= 0)
		close(fd);
}

/* Does the whole set-up with memory that can shrink, whatever the answers are; then shrinks it. */
static void truncated(void)
{
	struct memif_msg msg = {0};
	struct peer p;

	peer_begin(&p, path, 0);
	peer_ring(p.sock, (struct peer_ring){.flags = MEMIF_RING_S2M,
					     .log2_slots = PEER_LOG2,
					     .fd = eventfd(0, EFD_NONBLOCK)});
	peer_ring(p.sock, (struct peer_ring){.offset = PEER_RING,
					     .log2_slots = PEER_LOG2,
					     .fd = eventfd(0, EFD_NONBLOCK)});
	peer_send(p.sock, &msg, MEMIF_MSG_CONNECT, -1);
	usleep(100000); /* uses a port of DPDK's driver for a while after it is up */
	if (ftruncate(p.region, 0))
		die("ftruncate");
	peer_gone(p.sock);
}

static void unsealed(void)
{
	region(0, 8192, peer_memory(8192, 0));
	region(0, 8192, peer_memory(8192, F_SEAL_GROW));
}

static void unwritable(void)
{
	char name[64];
	int fd = peer_memory(8192, F_SEAL_SHRINK);

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	region(0, 8192, open(name, O_RDONLY | O_CLOEXEC));
	region(0, 8192, peer_memory(8192, F_SEAL_SHRINK | F_SEAL_WRITE));
}

static void no_memory(void)
{
	int pipe_fd[2];

	if (pipe(pipe_fd))
		die("pipe");
	region(0, 8192, -1);
	region(0, 8192, pipe_fd[0]);
	region(0, 8192, open("/dev/zero", O_RDWR));
	region(0, 8192, open("/proc/self/mem", O_RDWR));
	region(0, 8192, open("/proc/self/exe", O_RDONLY));
	region(0, 8192, open("/", O_PATH));
	region(0, 8192, epoll_create1(0));
	region(0, 8192, eventfd(0, 0));
}

static void wrong_size(void)
{
	region(0, 8193, peer_memory(8192, F_SEAL_SHRINK));
	region(0, 0, peer_memory(8192, F_SEAL_SHRINK));
	region(0, UINT64_MAX, peer_memory(8192, F_SEAL_SHRINK));
	region(0, UINT64_C(1) << 40, peer_memory(UINT64_C(1) << 40, F_SEAL_SHRINK));
	region(1, 8192, peer_memory(8192, F_SEAL_SHRINK));
	region(0xffff, 8192, peer_memory(8192, F_SEAL_SHRINK));
}

static void many_regions(void)
{
	int fd = peer_memory(8192, F_SEAL_SHRINK);
	int sock = peer_connect(path);

	peer_init(sock, MEMIF_VERSION, 0, "");
	peer_expect(sock, MEMIF_MSG_ACK);
	for (uint16_t i = 0; i < 16; i++) {
		peer_region(sock, i, 8192, fd);
		peer_expect(sock, MEMIF_MSG_ACK);
	}
	peer_region(sock, 16, 8192, fd);
	peer_gone(sock);
}

static void many_descriptors(void)
{
	struct memif_msg msg = {.kind = MEMIF_MSG_ADD_REGION};
	int fd[8];
	int sock = peer_connect(path);

	for (uint32_t i = 0; i < 8; i++)
		fd[i] = peer_memory(8192, F_SEAL_SHRINK);
	peer_init(sock, MEMIF_VERSION, 0, "");
	peer_expect(sock, MEMIF_MSG_ACK);
	msg.u.add_region.bytes = 8192;
	peer_send_raw(sock, &msg, sizeof(msg), fd, 8);
	peer_gone(sock);
}

/* ---- rings */

/* Goes on with the set-up, with one ring as given, whatever the answers are. */
static void ring(struct peer_ring announced)
{
	const struct peer_ring other = {.flags = announced.flags ^ MEMIF_RING_S2M,
					.offset = PEER_RING,
					.log2_slots = PEER_LOG2,
					.fd = eventfd(0, EFD_NONBLOCK)};
	struct memif_msg msg = {0};
	struct peer p;

	peer_begin(&p, path, F_SEAL_SHRINK);
	peer_expect(p.sock, MEMIF_MSG_ACK);
	peer_ring(p.sock, announced);
	peer_ring(p.sock, other);
	peer_send(p.sock, &msg, MEMIF_MSG_CONNECT, -1);
	peer_gone(p.sock);
	close(p.sock);
	close(p.region);
	close(other.fd);
	munmap(p.base, PEER_BYTES);
}

static void ring_outside(void)
{
	static const uint32_t offset[] = {PEER_BYTES, PEER_BYTES - 128, 0x80000000, 0xfffffff0,
					  0xffffc000, 0x20000000,       0x40000000, 0x60000000,
					  0xa0000000, 0xc0000000,       0xe0000000};
	int fd = eventfd(0, 0);

	for (uint32_t i = 0; i < sizeof(offset) / sizeof(offset[0]); i++)
		ring((struct peer_ring){.flags = MEMIF_RING_S2M,
					.offset = offset[i],
					.log2_slots = PEER_LOG2,
					.fd = fd});
	/* The ring begins inside the region. */
	ring((struct peer_ring){.offset = PEER_BYTES - 65536, .log2_slots = 14, .fd = fd});
	ring((struct peer_ring){.region = 1, .log2_slots = 4, .fd = fd});
	ring((struct peer_ring){.region = 0xffff, .log2_slots = 4, .fd = fd});
}

static void ring_wrong(void)
{
	int fd = eventfd(0, 0);

	ring((struct peer_ring){.log2_slots = 0, .fd = fd});
	ring((struct peer_ring){.log2_slots = 15, .fd = fd});
	ring((struct peer_ring){.log2_slots = 64, .fd = fd});
	ring((struct peer_ring){.log2_slots = 255, .fd = fd});
	ring((struct peer_ring){.index = 1, .log2_slots = 4, .fd = fd});
	ring((struct peer_ring){.offset = 8, .log2_slots = 4, .fd = fd});
	ring((struct peer_ring){.offset = PEER_BUFFERS, .log2_slots = 4, .fd = fd}); /* no cookie */
}

static void no_eventfd(void)
{
	char name[64];
	int pipe_fd[2], event = eventfd(0, 0);

	if (pipe(pipe_fd))
		die("pipe");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", event);
	ring((struct peer_ring){.log2_slots = PEER_LOG2, .fd = -1});
	ring((struct peer_ring){.log2_slots = PEER_LOG2, .fd = pipe_fd[1]});
	ring((struct peer_ring){.log2_slots = PEER_LOG2, .fd = epoll_create1(0)});
	ring((struct peer_ring){.log2_slots = PEER_LOG2, .fd = open("/dev/null", O_RDWR)});
	ring((struct peer_ring){.log2_slots = PEER_LOG2, .fd = open(name, O_PATH)});
}

static void many_rings(void)
{
	const struct peer_ring one = {.log2_slots = PEER_LOG2, .fd = eventfd(0, 0)};
	struct memif_msg msg = {0};
	struct peer p;

	peer_begin(&p, path, F_SEAL_SHRINK);
	peer_expect(p.sock, MEMIF_MSG_ACK);
	peer_ring(p.sock, one);
	peer_expect(p.sock, MEMIF_MSG_ACK);
	peer_ring(p.sock, one);
	peer_gone(p.sock);
	/* And one ring too few. */
	peer_begin(&p, path, F_SEAL_SHRINK);
	peer_expect(p.sock, MEMIF_MSG_ACK);
	peer_ring(p.sock, one);
	peer_expect(p.sock, MEMIF_MSG_ACK);
	peer_send(p.sock, &msg, MEMIF_MSG_CONNECT, -1);
	peer_gone(p.sock);
}

/* ---- frames: an honest set-up, and then */

/*
 * Gives the NIC descriptors to receive from. It takes all of them and answers a valid frame after
 * them.
 */
static void descriptors(const struct memif_desc *desc, uint32_t num)
{
	struct peer p;

	peer_up(&p, path);
	peer_store(&p.in->head, PEER_SLOTS);
	memcpy(p.out->desc, desc, num * sizeof(*desc));
	peer_store(&p.out->head, (uint16_t)num);
	if (!peer_await(&p, &p.out->tail, (uint16_t)num))
		die("it hung up");
	peer_ask(&p, 1);
	if (!peer_await(&p, &p.in->tail, 1))
		die("it hung up");
	close(p.sock);
}

static void read_outside(void)
{
	static const struct memif_desc desc[] = {
	    {.region = 1, .bytes = 64, .offset = PEER_BUFFERS},
	    {.region = 0xffff, .bytes = 64, .offset = PEER_BUFFERS},
	    {.bytes = 64, .offset = PEER_BYTES - 63},
	    {.bytes = 64, .offset = PEER_BYTES},
	    {.bytes = 64, .offset = 0xffffffff},
	    {.bytes = 0xffffffff, .offset = 1},
	    {.bytes = 0xffffffff, .offset = PEER_BUFFERS},
	    {.bytes = 0x20, .offset = 0xfffffff0},
	    {.bytes = 0x80000000, .offset = 0x80000000},
	};

	descriptors(desc, sizeof(desc) / sizeof(desc[0]));
}

static void wrong_length(void)
{
	static const struct memif_desc desc[] = {
	    {.bytes = 0, .offset = PEER_BUFFERS},
	    {.bytes = 13, .offset = PEER_BUFFERS},
	    {.bytes = 1519, .offset = PEER_BUFFERS},
	    {.bytes = 65535, .offset = PEER_BUFFERS},
	    {.bytes = PEER_BYTES - PEER_BUFFERS, .offset = PEER_BUFFERS},
	    {.flags = MEMIF_DESC_NEXT, .bytes = 1500, .offset = PEER_BUFFERS},
	    {.bytes = 1500, .offset = PEER_BUFFERS},
	};

	descriptors(desc, sizeof(desc) / sizeof(desc[0]));
}

/* A chain around the ring without an end, with pieces of zero bytes. */
static void endless_chain(void)
{
	struct memif_desc desc[PEER_SLOTS];

	for (uint32_t i = 0; i < PEER_SLOTS; i++)
		desc[i] = (struct memif_desc){.flags = MEMIF_DESC_NEXT, .offset = PEER_BUFFERS};
	desc[PEER_SLOTS - 1].flags = 0;
	descriptors(desc, PEER_SLOTS);
	for (uint32_t i = 0; i < PEER_SLOTS; i++)
		desc[i] = (struct memif_desc){.flags = 0xffff, .bytes = 1, .offset = PEER_BUFFERS};
	desc[PEER_SLOTS - 1].flags = 0;
	descriptors(desc, PEER_SLOTS);
	/* Or with no descriptor behind it. */
	desc[0] = (struct memif_desc){
	    .flags = MEMIF_DESC_NEXT, .bytes = PEER_FRAME, .offset = PEER_BUFFERS};
	descriptors(desc, 1);
}

static void head_jumps(void)
{
	struct peer p;

	peer_up(&p, path);
	peer_store(&p.out->head, PEER_SLOTS + 1);
	peer_gone(p.sock);
	peer_up(&p, path);
	peer_store(&p.out->head, 0x8000);
	peer_gone(p.sock);
	/* The index goes back. */
	peer_up(&p, path);
	peer_ask(&p, 3);
	if (!peer_await(&p, &p.out->tail, 3))
		die("it hung up");
	peer_store(&p.out->head, 2);
	peer_gone(p.sock);
	/* More room than there are slots. */
	peer_up(&p, path);
	peer_store(&p.in->head, PEER_SLOTS + 1);
	peer_ask(&p, 1);
	peer_gone(p.sock);
}

/* The buffers for the NIC's answers are anywhere but in the region. */
static void write_outside(void)
{
	struct peer p;

	peer_up(&p, path);
	for (uint32_t i = 0; i < PEER_SLOTS; i++) {
		p.in->desc[i].bytes = PEER_BUFFER;
		p.in->desc[i].offset = PEER_BYTES + i * (1 << 20);
		p.in->desc[i].region = i < 512 ? 0 : (uint16_t)i;
	}
	p.in->desc[500].offset = 0xfffffff0;
	p.in->desc[501].offset = PEER_BYTES - PEER_BUFFER + 1;
	p.in->desc[502].bytes = 0xffffffff;
	p.in->desc[502].offset = 4096;
	p.in->desc[503].bytes = 0;
	peer_store(&p.in->head, PEER_SLOTS);
	/* One at a time, so that few frames are lost while memory is missing. */
	for (uint16_t i = 0; i < 40; i++) {
		peer_ask(&p, 1);
		if (!peer_await(&p, &p.out->tail, (uint16_t)(i + 1)))
			die("it hung up");
		usleep(2000);
	}
	if (!peer_await(&p, &p.in->tail, PEER_SLOTS))
		die("it hung up");
	close(p.sock);
}

/* Its buffers hold one byte each. */
static void no_room(void)
{
	struct peer p;

	peer_up(&p, path);
	for (uint32_t i = 0; i < PEER_SLOTS; i++)
		p.in->desc[i].bytes = 1;
	peer_store(&p.in->head, PEER_SLOTS);
	peer_ask(&p, 8);
	if (!peer_await(&p, &p.out->tail, 8))
		die("it hung up");
	close(p.sock);
}

/*
 * It gives no buffers and goes on sending requests: answers are dropped, and weftd does not wait.
 */
static void never_reads(void)
{
	struct peer p;

	peer_up(&p, path);
	for (uint32_t i = 1; i <= 40; i++) {
		peer_ask(&p, 100);
		if (!peer_await(&p, &p.out->tail, (uint16_t)(i * 100)))
			die("it hung up");
	}
	close(p.sock);
}

static void punch(int fd, off_t at, off_t bytes)
{
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, bytes))
		die("fallocate");
}

/* Pages vanish under the rings and the buffers while frames flow. */
static void holes(void)
{
	struct peer p;

	peer_up(&p, path);
	for (uint16_t i = 1; i <= 300; i++) {
		peer_store(&p.in->head, (uint16_t)(p.in->tail + PEER_SLOTS));
		peer_ask(&p, 32);
		/* Punches buffers, and one time in three only the pages of descriptors. */
		punch(p.region, i % 3 ? PEER_BUFFERS : 4096,
		      i % 3 ? PEER_BYTES - PEER_BUFFERS : 4096);
		if (!peer_await(&p, &p.out->tail, (uint16_t)(i * 32)))
			die("it hung up");
	}
	/* Overwrites the indices themselves: the ring becomes inconsistent. */
	punch(p.region, 0, PEER_BYTES);
	peer_gone(p.sock);
}

/* Changes random bytes of the shared memory all the time, from a seed. */
static void scribble(void)
{
	uint64_t seed = 20240917;

	for (uint32_t round = 0; round < 60; round++) {
		struct pollfd poll_fd;
		struct peer p;

		peer_up(&p, path);
		poll_fd = (struct pollfd){.fd = p.sock, .events = POLLIN};
		for (uint32_t i = 0; i < 20000 && !poll(&poll_fd, 1, 0); i += 100) {
			for (uint32_t j = 0; j < 100; j++) {
				uint32_t *word = (uint32_t *)(void *)p.base;

				seed = seed * UINT64_C(6364136223846793005) + 1;
				word[(seed >> 33) % (2 * PEER_RING / 4)] =
				    (uint32_t)(seed >> (seed >> 60));
			}
			if (round % 2)
				peer_store(&p.out->head, (uint16_t)(p.out->tail + seed % 2000));
			else
				peer_store(&p.out->head, (uint16_t)(p.out->tail + PEER_SLOTS));
			peer_store(&p.in->head, (uint16_t)(p.in->tail + PEER_SLOTS));
		}
		close(p.sock);
		close(p.region);
		munmap(p.base, PEER_BYTES);
	}
}

/* Dies with a full ring that the NIC is reading. */
static void dies(void)
{
	struct peer p;

	peer_up(&p, path);
	peer_store(&p.in->head, PEER_SLOTS);
	peer_ask(&p, PEER_SLOTS);
	kill(getpid(), SIGKILL);
}

/* Connects and disconnects as fast as possible, at each step of the set-up. */
static void comes_and_goes(void)
{
	for (uint32_t i = 0; i < 200; i++) {
		struct peer p = {.region = -1};

		switch (i % 4) {
		case 0:
			p.sock = peer_connect(path);
			break;
		case 1:
			p.sock = peer_connect(path);
			peer_init(p.sock, MEMIF_VERSION, 0, "");
			break;
		case 2:
			peer_begin(&p, path, F_SEAL_SHRINK);
			break;
		default:
			peer_up(&p, path);
			peer_ask(&p, PEER_SLOTS);
			break;
		}
		close(p.sock);
		if (p.region >= 0) {
			close(p.region);
			munmap(p.base, PEER_BYTES);
		}
	}
}

static const struct peer_attack attacks[] = {
    PEER_ATTACK(denied),        PEER_ATTACK(unknown_user),  PEER_ATTACK(busy),
    PEER_ATTACK(silent),        PEER_ATTACK(short_message), PEER_ATTACK(long_message),
    PEER_ATTACK(wrong_kind),    PEER_ATTACK(wrong_order),   PEER_ATTACK(wrong_version),
    PEER_ATTACK(init_twice),    PEER_ATTACK(wrong_secret),  PEER_ATTACK(truncated),
    PEER_ATTACK(unsealed),      PEER_ATTACK(unwritable),    PEER_ATTACK(no_memory),
    PEER_ATTACK(wrong_size),    PEER_ATTACK(many_regions),  PEER_ATTACK(many_descriptors),
    PEER_ATTACK(ring_outside),  PEER_ATTACK(ring_wrong),    PEER_ATTACK(no_eventfd),
    PEER_ATTACK(many_rings),    PEER_ATTACK(read_outside),  PEER_ATTACK(wrong_length),
    PEER_ATTACK(endless_chain), PEER_ATTACK(head_jumps),    PEER_ATTACK(write_outside),
    PEER_ATTACK(no_room),       PEER_ATTACK(never_reads),   PEER_ATTACK(holes),
    PEER_ATTACK(scribble),      PEER_ATTACK(dies),          PEER_ATTACK(comes_and_goes),
};

int main(int argc, char **argv)
{
	return peer_main(argc, argv, attacks, sizeof(attacks) / sizeof(attacks[0]), &path);
}
