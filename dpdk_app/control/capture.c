/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture: one byte ring per shard, written by its core and read by the capture's thread, which
 * converts frames to pcapng and writes the pipe or the file. Frames of several shards are merged by
 * time. A file ends with a whole block, also when the disk is full.
 *
 * Calls pcapng.c, own_file.c.
 */
#include "dpdk_app/control/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/borrow.h"
#include "dpdk_app/csum.h"
#include "dpdk_app/lcore.h"
#include "dpdk_app/log.h"
#include "dpdk_app/own_file.h"
#include "lib/clock.h"
#include "lib/pcapng.h"

enum {
	CAPTURE_WAIT_MS = 2, /* interval between checks of the rings */
	CAPTURE_FRAME_MAX = 16384,
	CAPTURE_FILE_MODE = 0600, /* frames contain data of all processes */
};

/* Precedes each frame in the ring; records are multiples of 8 bytes. */
struct capture_record {
	uint64_t time_ns;
	uint64_t dropped; /* frames lost before this one */
	uint32_t bytes;
	uint32_t dir;
};

struct capture_ring {
	_Atomic(uint64_t) head; /* bytes read by the thread */
	uint8_t pad[APP_CACHE_LINE_BYTES - 8];
	_Atomic(uint64_t) tail; /* bytes written by the core */
	_Atomic(uint64_t) dropped;
	uint64_t dropped_reported; /* core: value in the last record */
	uint8_t *data;
	uint8_t sealed[CAPTURE_FRAME_MAX]; /* core */
};

struct capture {
	struct nic *nic;
	struct capture_ring ring[CONF_MAX_SHARDS];
	int64_t realtime_offset_ns; /* offset from the cores' clock to real time */
	int out_fd;                 /* the pipe or the file */
	uint64_t limit_bytes;       /* of the file; 0: a pipe */
	pthread_t thread;
	_Atomic(bool) stop;
	_Atomic(bool) finished;
	/* thread: */
	uint64_t written; /* bytes of whole blocks */
	uint8_t frame[CAPTURE_FRAME_MAX];
	uint8_t block[CAPTURE_FRAME_MAX + PCAPNG_PACKET_OVERHEAD + 4];
};

static void ring_copy_in(struct capture_ring *ring, uint64_t at, const void *data, uint32_t bytes)
{
	uint32_t offset = (uint32_t)(at % CAPTURE_RING_BYTES);
	uint32_t first = CAPTURE_RING_BYTES - offset;

	if (first > bytes)
		first = bytes;
	memcpy(ring->data + offset, data, first);
	memcpy(ring->data, (const uint8_t *)data + first, bytes - first);
}

static void ring_copy_out(const struct capture_ring *ring, uint64_t at, void *data, uint32_t bytes)
{
	uint32_t offset = (uint32_t)(at % CAPTURE_RING_BYTES);
	uint32_t first = CAPTURE_RING_BYTES - offset;

	if (first > bytes)
		first = bytes;
	memcpy(data, ring->data + offset, first);
	memcpy((uint8_t *)data + first, ring->data, bytes - first);
}

static uint32_t record_room(uint32_t bytes)
{
	return (uint32_t)sizeof(struct capture_record) + (bytes + 7) / 8 * 8;
}

/*
 * Writes the frame into the ring as a wire would carry it. Between NICs of one weftd it may lack
 * checksums and bytes; those are made in a copy, so that a capture changes nothing of its path.
 */
static void ring_put_frame(struct capture_ring *ring, uint64_t at, const struct rte_mbuf *m,
			   uint32_t bytes)
{
	if (borrow_is_borrowed(m)) {
		/* ring->sealed has it. */
		ring_copy_in(ring, at, ring->sealed, bytes);
		return;
	}
	if (csum_is_left(m) && m->nb_segs == 1) {
		memcpy(ring->sealed, rte_pktmbuf_mtod(m, const void *), m->pkt_len);
		csum_seal(m, ring->sealed, m->pkt_len);
		ring_copy_in(ring, at, ring->sealed, m->pkt_len);
		return;
	}
	for (; m; m = m->next) {
		ring_copy_in(ring, at, rte_pktmbuf_mtod(m, const void *), m->data_len);
		at += m->data_len;
	}
}

/* bytes: of the packet; of a borrowed frame's ring->sealed has it. */
static void capture_packet(struct capture *capture, const struct shard *shard, enum capture_dir dir,
			   const struct rte_mbuf *m, uint32_t bytes)
{
	struct capture_ring *ring = &capture->ring[shard->number];
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
	struct capture_record record = {.bytes = bytes, .dir = dir};
	uint64_t at = tail + sizeof(record);

	if (bytes > CAPTURE_FRAME_MAX || record_room(bytes) > CAPTURE_RING_BYTES - (tail - head)) {
		atomic_store_explicit(&ring->dropped, dropped + 1, memory_order_relaxed);
		return;
	}
	record.time_ns = shard->core->now_ns + (uint64_t)capture->realtime_offset_ns;
	record.dropped = dropped - ring->dropped_reported;
	ring->dropped_reported = dropped;
	ring_copy_in(ring, tail, &record, sizeof(record));
	ring_put_frame(ring, at, m, bytes);
	atomic_store_explicit(&ring->tail, tail + record_room(record.bytes), memory_order_release);
}

void capture_frame(struct capture *capture, const struct shard *shard, enum capture_dir dir,
		   const struct rte_mbuf *m)
{
	uint32_t segment_bytes, packets = borrow_packets(m, &segment_bytes);

	for (uint32_t i = 0; i < packets; i++)
		capture_packet(capture, shard, dir, m,
			       borrow_is_borrowed(m)
				   ? borrow_seal(m, i, capture->ring[shard->number].sealed)
				   : m->pkt_len);
}

uint64_t capture_dropped(const struct capture *capture, const struct shard *shard)
{
	return atomic_load_explicit(&capture->ring[shard->number].dropped, memory_order_relaxed);
}

bool capture_finished(const struct capture *capture)
{
	return atomic_load(&capture->finished);
}

/*
 * Writes all bytes, waiting for the reader of a pipe. Returns false if the reader is gone, or does
 * not read at the end, or after an error of the file, which errno has.
 */
static bool write_all(struct capture *capture, const uint8_t *data, uint32_t bytes)
{
	while (bytes) {
		struct pollfd wait = {.fd = capture->out_fd, .events = POLLOUT};
		ssize_t n = write(capture->out_fd, data, bytes);

		if (n > 0) {
			data += n;
			bytes -= (uint32_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			if (atomic_load(&capture->stop))
				return false;
			poll(&wait, 1, 100);
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}

/* Writes whole blocks. Returns false if the capture ends before them. */
static bool capture_write(struct capture *capture, const uint8_t *data, uint32_t bytes)
{
	const char *name = capture->nic->name;

	if (capture->limit_bytes && capture->written + bytes > capture->limit_bytes) {
		log_nic_info(name, "the capture has its %llu bytes and ends",
			     (unsigned long long)capture->limit_bytes);
		return false;
	}
	if (!write_all(capture, data, bytes)) {
		if (!capture->limit_bytes)
			return false;
		log_nic_error(name, "the capture ends: %s", strerror(errno));
		if (ftruncate(capture->out_fd, (off_t)capture->written))
			log_nic_error(name, "the last frame of the capture is cut off");
		return false;
	}
	capture->written += bytes;
	return true;
}

/* Returns the ring whose next frame is the oldest; NULL: all are empty. */
static struct capture_ring *capture_oldest(struct capture *capture, struct capture_record *oldest)
{
	struct capture_ring *found = NULL;

	for (uint32_t i = 0; i < capture->nic->num_shards; i++) {
		struct capture_ring *ring = &capture->ring[i];
		uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
		struct capture_record record;

		if (head == atomic_load_explicit(&ring->tail, memory_order_acquire))
			continue;
		ring_copy_out(ring, head, &record, sizeof(record));
		if (!found || record.time_ns < oldest->time_ns) {
			found = ring;
			*oldest = record;
		}
	}
	return found;
}

static bool capture_drain(struct capture *capture)
{
	struct capture_record record;
	struct capture_ring *ring;

	while ((ring = capture_oldest(capture, &record))) {
		uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
		uint32_t bytes;

		ring_copy_out(ring, head + sizeof(record), capture->frame, record.bytes);
		atomic_store_explicit(&ring->head, head + record_room(record.bytes),
				      memory_order_release);
		bytes = pcapng_packet(capture->block, 0, record.time_ns, record.dir, record.dropped,
				      capture->frame, record.bytes);
		if (!capture_write(capture, capture->block, bytes))
			return false;
	}
	return true;
}

static void *capture_main(void *arg)
{
	struct capture *capture = arg;
	uint32_t section = pcapng_section(capture->block);
	uint32_t bytes = section + pcapng_interface(capture->block + section, capture->nic->name);
	bool open = capture_write(capture, capture->block, bytes);

	while (open && !atomic_load(&capture->stop)) {
		struct pollfd gone = {.fd = capture->out_fd};

		open = capture_drain(capture);
		/* A pipe reports to its writer with POLLERR that the reader is gone. */
		if (open && poll(&gone, 1, CAPTURE_WAIT_MS) > 0)
			open = !(gone.revents & (POLLERR | POLLHUP));
	}
	if (open)
		capture_drain(capture);
	close(capture->out_fd);
	atomic_store(&capture->finished, true);
	app_wake_control(capture->nic->app);
	return NULL;
}

static void capture_free(struct capture *capture)
{
	for (uint32_t i = 0; i < CONF_MAX_SHARDS; i++) {
		if (capture->ring[i].data)
			munmap(capture->ring[i].data, CAPTURE_RING_BYTES);
	}
	free(capture);
}

static struct capture *capture_new(struct nic *nic)
{
	struct capture *capture = calloc(1, sizeof(*capture));

	if (!capture)
		return NULL;
	capture->nic = nic;
	capture->realtime_offset_ns = (int64_t)(clock_read_ns(CLOCK_REALTIME) - app_clock_ns());
	for (uint32_t i = 0; i < nic->num_shards; i++) {
		void *data = mmap(NULL, CAPTURE_RING_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (data == MAP_FAILED) {
			capture_free(capture);
			return NULL;
		}
		capture->ring[i].data = data;
	}
	return capture;
}

/* Takes out_fd over, also after an error. */
static int begin(struct nic *nic, int out_fd, uint64_t limit_bytes)
{
	struct capture *capture = capture_new(nic);
	int err;

	if (!capture) {
		close(out_fd);
		return -ENOMEM;
	}
	capture->out_fd = out_fd;
	capture->limit_bytes = limit_bytes;
	err = pthread_create(&capture->thread, NULL, capture_main, capture);
	if (err) {
		close(out_fd);
		capture_free(capture);
		return -err;
	}
	atomic_store(&nic->capture, capture);
	return 0;
}

int capture_start(struct nic *nic, int *read_fd)
{
	int fds[2];
	int err;

	if (atomic_load(&nic->capture))
		return -EBUSY;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	/* Each end has its own flags: the reader's end blocks, as readers expect. */
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
	err = begin(nic, fds[1], 0);
	if (err)
		close(fds[0]);
	else
		*read_fd = fds[0];
	return err;
}

int capture_to_file(struct nic *nic, const char *path, uint64_t limit_bytes)
{
	int fd;

	if (atomic_load(&nic->capture))
		return -EBUSY;
	fd = own_file_open(path, 0, CAPTURE_FILE_MODE);
	if (fd < 0)
		return fd;
	if (fchmod(fd, CAPTURE_FILE_MODE) || ftruncate(fd, 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return begin(nic, fd, limit_bytes);
}

bool capture_has_file(const struct nic *nic)
{
	const struct capture *capture = atomic_load(&nic->capture);

	return capture && capture->limit_bytes;
}

void capture_stop(struct nic *nic)
{
	struct capture *capture = atomic_exchange(&nic->capture, NULL);

	if (!capture)
		return;
	lcore_quiesce(nic->app);
	atomic_store(&capture->stop, true);
	pthread_join(capture->thread, NULL);
	capture_free(capture);
}
