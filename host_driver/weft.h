/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft: the public interface of the weft NIC. The only header an application includes; it
 * brings weft_coalesce.h along.
 *
 * It is verbs-shaped: device, protection domain, memory region, completion queue, queue
 * pair, work request, completion. A context is one attachment of this process to one NIC
 * (weft_open_device); all objects live in it and die with it.
 *
 * Conventions
 *   - Functions that return int return 0 (or a count) on success and a negative errno on
 *     failure. Functions that return a pointer return NULL and set errno. Errors that every
 *     call can give and that are not repeated below: -EIO, the NIC is gone (weftd ended, or
 *     this is a child of fork and the context belongs to the parent); -ENOMEM.
 *   - Lengths are in bytes, times in the unit that ends the name, IPv4 addresses in network
 *     byte order (as struct in_addr holds them), QPNs and everything else in host order.
 *     Immediate data is carried as the 32 bits in memory: use htonl() where machines differ.
 *   - Thread safety: every call may be made from any thread at any time, except that nobody
 *     may use an object while or after another thread destroys it. Posting locks one send
 *     or receive queue, polling one completion queue; nothing global is locked on the data
 *     path. No call is async-signal-safe. A thread may be cancelled (pthread_cancel(3)) while it
 *     waits in weft_get_cq_event() or weft_get_async_event(); what it had taken is not lost.
 *   - fork: the parent goes on undisturbed. In the child, registered memory is a private copy and
 *     contexts opened before the fork answer -EIO (they may be closed, and new ones opened).
 *   - Nothing blocks unless it says so; where it does it ends when the NIC goes away.
 *
 * Environment: WEFT_RUN_DIR (directory of the NICs' sockets, default /run/weft), WEFT_DEVICE
 * (device that weft_open_device(NULL) opens), WEFT_SHARD (shard of programs that name none),
 * WEFT_YIELD (auto, never, or after how many empty polls weft_poll_cq gives up the processor),
 * WEFT_MEM (auto; process_vm: memory is never moved onto shared pages at registration),
 * WEFT_MR_CACHE (policy of registration caches).
 *
 * docs/host-interface.md describes what lies beneath.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
#ifndef WEFT_VERSION
#define WEFT_VERSION "0.1.0"
#endif

#ifdef __GNUC__
#define WEFT_API       __attribute__((visibility("default")))
#define WEFT_CHECK_RET __attribute__((warn_unused_result))
#else
#define WEFT_API
#define WEFT_CHECK_RET
#endif

/* The version of the library that is loaded, WEFT_VERSION of its build. Never fails. */
WEFT_API const char *weft_version(void);

/* ------------------------------------------------------------------ devices */

struct weft_device {
	char name[32];  /* "weft0" */
	char path[108]; /* of its control socket */
};

/*
 * Finds the NICs that can be reached: sockets in the run directory behind which a weftd
 * listens, sorted by name. *list is allocated; free it with weft_free_device_list().
 * Returns the number, 0 with *list NULL when there are none (a missing directory included).
 */
WEFT_API WEFT_CHECK_RET int weft_get_device_list(struct weft_device **list);
WEFT_API void weft_free_device_list(struct weft_device *list);

/* One attachment to a NIC. */
struct weft_context {
	char name[32];
	/*
	 * Readable while an asynchronous event waits, or when the NIC has gone (poll, epoll and
	 * fcntl(O_NONBLOCK) only; never read it). -1 where the channel has no descriptors.
	 */
	int async_fd;
	void *user; /* the application's */
};

/*
 * Attaches to a NIC by name ("weft0"), by the path of its socket, or with NULL to the one that
 * WEFT_DEVICE names, else the first of weft_get_device_list(), in the shard that WEFT_SHARD names,
 * else in any. Blocks until weftd answers. errno: ENODEV no such NIC, ECONNREFUSED no weftd behind
 * it, EACCES not in the NIC's group, EUSERS too many processes, EPROTO version mismatch, ETIMEDOUT
 * weftd does not answer, for it is stopped (told after 2 s).
 */
WEFT_API struct weft_context *weft_open_device(const char *name);

/* How a context is opened. */
struct weft_open_attr {
	bool collectives; /* into the NIC's shard for collectives, where it has one */
	int shard; /* -1: WEFT_SHARD's or any; else this one. errno ENXIO: there is none such */
};

/* weft_open_device() with a say in the shard; attr NULL: the same as that. */
WEFT_API struct weft_context *weft_open_device_attr(const char *name,
						    const struct weft_open_attr *attr);

/*
 * The same for tools: no doorbells, no queues; only weft_query_*, weft_set_coalesce, weft_stats,
 * weft_list, weft_capture. A weftd that does not answer is not waited for: -ETIMEDOUT after 2 s if
 * it is stopped, after 10 s else.
 */
WEFT_API struct weft_context *weft_open_tool(const char *name);

/*
 * Detaches. Whatever objects are left in the context are destroyed with it, memory regions too;
 * their pointers become invalid. Always succeeds.
 */
WEFT_API void weft_close_device(struct weft_context *context);

struct weft_device_attr {
	char name[16];
	uint64_t node_guid; /* EUI-64 of the MAC, network byte order */
	uint32_t max_qp, max_cq, max_srq, max_mr, max_pd, max_ah, max_mw;
	uint32_t max_wr;  /* of one queue */
	uint32_t max_cqe; /* of one completion queue */
	uint32_t max_sge;
	uint32_t max_inline_bytes;
	uint32_t max_rd_atomic;     /* reads and atomics of one QP in flight */
	uint32_t max_ud_bytes;      /* longest UD message without WEFT_QP_F_UD_LONG */
	uint32_t max_ud_long_bytes; /* with it */
	uint32_t num_vectors;
	uint32_t max_peers;
	uint32_t shard; /* that serves this context */
	uint32_t num_shards;
	uint32_t max_mcast_grp;
	uint32_t max_mcast_qp_attach;       /* QPs in one group */
	uint32_t max_total_mcast_qp_attach; /* in all groups */
	uint32_t num_coll_shards;           /* of them, the last ones: for collectives alone */
	uint64_t max_msg_bytes;             /* RD, RC, UC */
	uint64_t max_mr_bytes;
};

/* The limits of the device, as it answered at attach; -EIO once it is gone. Does not block. */
WEFT_API WEFT_CHECK_RET int weft_query_device(struct weft_context *context,
					      struct weft_device_attr *attr);

struct weft_port_attr {
	bool link_up;
	uint8_t ip_prefix; /* bits */
	uint8_t mac[6];
	uint32_t ip;        /* network byte order */
	uint32_t mtu_bytes; /* of the IPv4 packet */
	uint32_t link_mbps;
};

/* The state of the port now: asks the NIC, so it blocks for one round trip. */
WEFT_API WEFT_CHECK_RET int weft_query_port(struct weft_context *context,
					    struct weft_port_attr *attr);

/* --------------------------------------------------- protection domains, memory */

struct weft_pd {
	struct weft_context *context;
	uint32_t handle;
	void *user;
};

/* Makes a protection domain: objects of different domains cannot be used together. */
WEFT_API struct weft_pd *weft_alloc_pd(struct weft_context *context);
/* -EBUSY while a memory region, queue pair, ... of it exists. */
WEFT_API WEFT_CHECK_RET int weft_dealloc_pd(struct weft_pd *pd);

/* Access rights, the bits of enum ibv_access_flags. Local read is always granted. */
enum weft_access {
	WEFT_ACCESS_LOCAL_WRITE = 1 << 0,
	WEFT_ACCESS_REMOTE_WRITE = 1 << 1,
	WEFT_ACCESS_REMOTE_READ = 1 << 2,
	WEFT_ACCESS_REMOTE_ATOMIC = 1 << 3,
	WEFT_ACCESS_MW_BIND = 1 << 4,
	WEFT_ACCESS_ZERO_BASED = 1 << 5, /* remote addresses count from 0 */
};

struct weft_mr {
	struct weft_context *context;
	struct weft_pd *pd;
	void *addr;
	size_t bytes;
	uint32_t lkey; /* lkey, rkey and STag are the same number */
	uint32_t rkey;
	bool mapped; /* the NIC has the memory mapped; else each access is a system call of weftd */
	void *user;
};

/*
 * Registers memory of any kind: malloc, mmap, stack, static, of a file; read-only memory as
 * long as access asks for no write. Private anonymous memory, the brk heap too (not stacks), is
 * moved onto shared pages where the kernel allows it (WEFT_MEM), its address and
 * content unchanged and other threads free to write to it meanwhile; then, or when it is
 * of weft_alloc(), mr->mapped is true and transfers are a memcpy. Everything else works
 * too, at about 1 us a piece. The memory must stay mapped until weft_dereg_mr(); where it
 * was unmapped, requests end in an error.
 * errno: EINVAL bytes 0, address range wraps, remote write or atomic without local write,
 * unknown access bit; EFAULT memory not there or not writable as asked; EDQUOT quota.
 * Memory that is not mapped: EPERM the process may not open its own /proc/self/mem
 * (PR_SET_DUMPABLE 0), EOPNOTSUPP weftd --unmapped off.
 */
WEFT_API struct weft_mr *weft_reg_mr(struct weft_pd *pd, void *addr, size_t bytes, int access);

/*
 * The same, iova being the address that work requests and peers will use for the first
 * byte.
 */
WEFT_API struct weft_mr *weft_reg_mr_iova(struct weft_pd *pd, void *addr, size_t bytes,
					  uint64_t iova, int access);

/*
 * Ends a registration. Blocks until no frame refers to the memory any more. -EBUSY
 * while a memory window is bound to it; -EINVAL: it is of a cache.
 */
WEFT_API WEFT_CHECK_RET int weft_dereg_mr(struct weft_mr *mr);

/*
 * Gives a registration other rights (access), and another protection domain unless pd is NULL. Keys
 * and addresses stay. 0; -EBUSY: a memory window is bound to it; -EINVAL as for weft_reg_mr(), or
 * WEFT_ACCESS_ZERO_BASED is not as it was; -EFAULT: not writable as asked. On failure nothing has
 * changed. -EINVAL, too: it is of a cache.
 */
WEFT_API WEFT_CHECK_RET int weft_modify_mr(struct weft_mr *mr, struct weft_pd *pd, int access);

/*
 * Memory that registers without a move and is mapped by the NIC: at least bytes long,
 * page-aligned, zero-filled. Free it with weft_free() and the same length, after deregistration.
 * Usable with every context of the process. Where the NIC gives no memory it is ordinary memory.
 * weft_alloc_attr() with shared_min_bytes 1.
 */
WEFT_API void *weft_alloc(struct weft_context *context, size_t bytes);
WEFT_API void weft_free(void *addr, size_t bytes);

/* Zero in a field: its default. */
struct weft_alloc_attr {
	size_t alignment;        /* a power of two up to 4 MiB; default: a page */
	size_t shared_min_bytes; /* less is plain memory; default 4 KiB */
	/*
	 * From here on memory has a mapping and a descriptor of its own, less comes out of extents
	 * that many requests share. Default and most: 256 KiB.
	 */
	size_t own_min_bytes;
	bool must_be_shared; /* mapped by the NIC, however small, or not at all: errno ENOMEM */
};

/*
 * Memory as the attributes say (NULL: the defaults), zero-filled; plain memory where it is small or
 * the NIC gives none. weft_free() frees it. errno EINVAL: bytes 0, or no such alignment.
 */
WEFT_API void *weft_alloc_attr(struct weft_context *context, size_t bytes,
			       const struct weft_alloc_attr *attr);

/* ------------------------------------------------------------- registration cache */

/*
 * Registering costs system calls and a round trip to weftd, so layers that register the buffers of
 * their users for one transfer keep regions for the next one. A cache does that and sees to it that
 * none outlives its memory: what is unmapped, mapped over, moved by mremap() or discarded by
 * madvise(MADV_DONTNEED), by free() too, is withdrawn from the NIC before the call returns. A peer
 * that uses its rkey then gets REM_ACCESS_ERR.
 *
 * It works by userfaultfd(2) and a thread of the library's, which the thread that unmaps waits for
 * (some ten microseconds; as long as weftd is stopped). Where memory cannot be watched (mappings of
 * files, MAP_SHARED | MAP_ANONYMOUS before Linux 5.19, no userfaultfd, under valgrind) regions end
 * when they are released: weft_mr_cache_stats.unwatched.
 */
struct weft_mr_cache {
	struct weft_pd *pd;
	void *user;
};

enum weft_mr_cache_policy {
	/* Kept until a number of entries is reached, or the NIC has no room for a new one. */
	WEFT_MR_CACHE_LAZY = 0,
	WEFT_MR_CACHE_LRU = 1,       /* besides, no more than max_bytes are kept idle */
	WEFT_MR_CACHE_IMMEDIATE = 2, /* shared by those who use it at once, ended by the last */
	WEFT_MR_CACHE_OFF = 3,       /* each call registers */
};

/* The environment variable WEFT_MR_CACHE (lazy, lru, immediate, off) overrides policy. */
struct weft_mr_cache_attr {
	enum weft_mr_cache_policy policy;
	int access;           /* granted in each registration, beside what a call asks for */
	uint32_t max_entries; /* 0: 1024. Those released first go first */
	uint64_t max_bytes;   /* WEFT_MR_CACHE_LRU, idle and in use together; 0: no limit */
	/*
	 * Registers what is asked for to the byte. Else whole pages, so that neighbours find them;
	 * a peer that is given the rkey may then reach what else lies in the first and the last
	 * page.
	 */
	bool exact;
};

struct weft_mr_cache_stats {
	uint64_t hits;
	uint64_t misses;        /* registrations */
	uint64_t evictions;     /* idle regions that made room */
	uint64_t invalidations; /* regions withdrawn because their memory went away */
	uint64_t unwatched;     /* registrations that could not be kept */
	uint64_t entries;       /* regions there are, ... */
	uint64_t in_use;        /* ... of these in use, ... */
	uint64_t bytes;         /* ... and their size */
};

/* attr NULL: all zero. errno EINVAL: no such policy, more than 1 Mi entries. */
WEFT_API struct weft_mr_cache *weft_create_mr_cache(struct weft_pd *pd,
						    const struct weft_mr_cache_attr *attr);
/* Ends all that is idle, too. -EBUSY: regions are in use. */
WEFT_API WEFT_CHECK_RET int weft_destroy_mr_cache(struct weft_mr_cache *cache);

/*
 * A region that covers the memory with at least these rights, at its own addresses; it may be
 * larger and allow more. Whoever asks meanwhile may get the same. The memory must stay mapped until
 * it is released: else the region is withdrawn all the same, and requests that use it fail. errno
 * as weft_reg_mr(); EINVAL also with WEFT_ACCESS_MW_BIND and _ZERO_BASED.
 */
WEFT_API struct weft_mr *weft_reg_mr_cached(struct weft_mr_cache *cache, void *addr, size_t bytes,
					    int access);
/*
 * Its memory has gone away, and with it the region: it is only to be released. False of one that is
 * not watched.
 */
WEFT_API bool weft_mr_is_withdrawn(const struct weft_mr *mr);
/* Ends one use of a region of weft_reg_mr_cached(). Others are left alone. */
WEFT_API void weft_release_mr(struct weft_mr *mr);

/* Ends all that is idle. */
WEFT_API WEFT_CHECK_RET int weft_flush_mr_cache(struct weft_mr_cache *cache);
WEFT_API WEFT_CHECK_RET int weft_query_mr_cache(struct weft_mr_cache *cache,
						struct weft_mr_cache_stats *stats);

struct weft_mw {
	struct weft_context *context;
	struct weft_pd *pd;
	uint32_t rkey;
	uint32_t type; /* 1 or 2 */
};

/* A memory window; bind it with WEFT_WR_BIND_MW. */
WEFT_API struct weft_mw *weft_alloc_mw(struct weft_pd *pd, uint32_t type);
WEFT_API WEFT_CHECK_RET int weft_dealloc_mw(struct weft_mw *mw);

/* ------------------------------------------------------------- completion queues */

/* Where completion events arrive: an event queue of the NIC with an interrupt of its own. */
struct weft_comp_channel {
	struct weft_context *context;
	/*
	 * Readable while a completion event waits, or when the NIC has gone (poll, epoll and
	 * fcntl(O_NONBLOCK) only; never read it). Now and then it is readable without an
	 * event: set O_NONBLOCK where weft_get_cq_event() must not block.
	 */
	int fd;
	void *user;
};

/* vector: which interrupt's moderation applies, below weft_device_attr.num_vectors. */
WEFT_API struct weft_comp_channel *weft_create_comp_channel(struct weft_context *context,
							    uint32_t vector);
/* -EBUSY while a CQ uses it. */
WEFT_API WEFT_CHECK_RET int weft_destroy_comp_channel(struct weft_comp_channel *channel);

struct weft_cq {
	struct weft_context *context;
	struct weft_comp_channel *channel; /* NULL: polled only */
	uint32_t handle;
	uint32_t entries; /* at least what was asked for */
	void *user;
};

/* A completion queue for at least entries completions. channel may be NULL. */
WEFT_API struct weft_cq *weft_create_cq(struct weft_context *context, uint32_t entries,
					struct weft_comp_channel *channel, void *user);
/*
 * Changes the size; completions that wait stay. -EINVAL: too large; -EBUSY: more completions
 * wait than would fit.
 */
WEFT_API WEFT_CHECK_RET int weft_resize_cq(struct weft_cq *cq, uint32_t entries);
/*
 * Interrupt moderation: an event is raised after count completions or period_us
 * microseconds after the first, whatever is sooner. 0, 0: as the channel's vector has it
 * (weft_coalesce.h), which is at once by default. Solicited completions and errors are not delayed.
 */
WEFT_API WEFT_CHECK_RET int weft_modify_cq(struct weft_cq *cq, uint16_t count, uint32_t period_us);
/*
 * -EBUSY while a QP uses it. Blocks until every event that weft_get_cq_event() or
 * weft_get_async_event() returned for it is acknowledged.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_cq(struct weft_cq *cq);

/* The numbers of enum ibv_wc_status. */
enum weft_wc_status {
	WEFT_WC_SUCCESS = 0,
	WEFT_WC_LOC_LEN_ERR = 1,
	WEFT_WC_LOC_QP_OP_ERR = 2,
	WEFT_WC_LOC_EEC_OP_ERR = 3,
	WEFT_WC_LOC_PROT_ERR = 4,
	WEFT_WC_WR_FLUSH_ERR = 5,
	WEFT_WC_MW_BIND_ERR = 6,
	WEFT_WC_BAD_RESP_ERR = 7,
	WEFT_WC_LOC_ACCESS_ERR = 8,
	WEFT_WC_REM_INV_REQ_ERR = 9,
	WEFT_WC_REM_ACCESS_ERR = 10,
	WEFT_WC_REM_OP_ERR = 11,
	WEFT_WC_RETRY_EXC_ERR = 12,
	WEFT_WC_RNR_RETRY_EXC_ERR = 13,
	WEFT_WC_LOC_RDD_VIOL_ERR = 14,
	WEFT_WC_REM_INV_RD_REQ_ERR = 15,
	WEFT_WC_REM_ABORT_ERR = 16,
	WEFT_WC_INV_EECN_ERR = 17,
	WEFT_WC_INV_EEC_STATE_ERR = 18,
	WEFT_WC_FATAL_ERR = 19,
	WEFT_WC_RESP_TIMEOUT_ERR = 20,
	WEFT_WC_GENERAL_ERR = 21,
};

/* The numbers of enum ibv_wc_opcode. Valid when status is WEFT_WC_SUCCESS. */
enum weft_wc_opcode {
	WEFT_WC_SEND = 0,
	WEFT_WC_WRITE = 1, /* WEFT_WR_WRITE_RECORD too */
	WEFT_WC_READ = 2,
	WEFT_WC_CMP_SWAP = 3,
	WEFT_WC_FETCH_ADD = 4,
	WEFT_WC_BIND_MW = 5,
	WEFT_WC_LOCAL_INV = 6,
	WEFT_WC_RECV = 128,
	WEFT_WC_RECV_WRITE_IMM = 129,
	WEFT_WC_RECV_WRITE_RECORD = 192, /* a peer's Write-Record; takes no receive */
};

/* weft_wc.flags */
enum weft_wc_flags {
	WEFT_WC_F_GRH = 0x01, /* 40 bytes of GRH stand before the data and count in bytes */
	WEFT_WC_F_IMM = 0x02, /* imm is valid */
	WEFT_WC_F_INV = 0x04, /* inv_stag is valid: the peer invalidated it */
	WEFT_WC_F_SOLICITED = 0x08,
	WEFT_WC_F_PARTIAL = 0x10, /* Write-Record: pieces are missing, see record_map */
};

struct weft_wc {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* the NIC's clock when it wrote the completion */
	enum weft_wc_status status;
	enum weft_wc_opcode opcode;
	uint32_t vendor_err; /* enum weft_vendor_err */
	uint32_t bytes;      /* received, or read */
	uint32_t qpn;
	uint32_t src_qpn; /* UD, RD receives */
	uint32_t src_ip;  /* network byte order; UD, RD receives */
	uint32_t flags;   /* enum weft_wc_flags */
	uint32_t imm;
	uint32_t inv_stag;
	/*
	 * Write-Record: where the message went. Bit i of record_map says that the piece from
	 * i * record_piece_bytes on (the last one may be shorter) is valid.
	 */
	uint32_t record_stag;
	uint32_t record_piece_bytes;
	uint64_t record_to;
	uint64_t record_map;
};

/* Why a request failed, finer than the status. */
enum weft_vendor_err {
	WEFT_VENDOR_ERR_NONE = 0,
	WEFT_VENDOR_ERR_OPCODE = 1,
	WEFT_VENDOR_ERR_SLOTS = 2,
	WEFT_VENDOR_ERR_NUM_SGE = 3,
	WEFT_VENDOR_ERR_FLAGS = 4,
	WEFT_VENDOR_ERR_AH = 5,
	WEFT_VENDOR_ERR_LKEY = 6,
	WEFT_VENDOR_ERR_BOUNDS = 7,
	WEFT_VENDOR_ERR_ACCESS = 8,
	WEFT_VENDOR_ERR_TOO_LONG = 9,
	WEFT_VENDOR_ERR_ALIGN = 10,
	WEFT_VENDOR_ERR_QUEUE = 11,
	WEFT_VENDOR_ERR_PEER_RESTART = 12,
	WEFT_VENDOR_ERR_HOST_FAULT = 13,
	WEFT_VENDOR_ERR_UNREACHABLE = 14,
	WEFT_VENDOR_ERR_RD_ATOMIC = 15,
	WEFT_VENDOR_ERR_CQ_OVERRUN = 16,
	WEFT_VENDOR_ERR_NIC_GONE = 255, /* made by the library: weftd ended */
};

/*
 * Takes up to max completions, oldest first. Returns how many (0: none). No system call but
 * for sched_yield after a number of empty polls (WEFT_YIELD) and a look every 10 ms whether
 * weftd still lives. When it does not, outstanding requests of the CQ's QPs come back as
 * WEFT_WC_WR_FLUSH_ERR after what the NIC had completed; where nothing is left but receives of
 * shared queues, which are not completed, -EIO.
 */
WEFT_API WEFT_CHECK_RET int weft_poll_cq(struct weft_cq *cq, int max, struct weft_wc *wc);

/*
 * Asks for one event on the CQ's channel when a completion (solicited_only: a solicited one
 * or an error) is there beyond those polled so far; at once if it already is, so that none
 * is lost between the last poll and this call. -EINVAL: the CQ has no channel.
 */
WEFT_API WEFT_CHECK_RET int weft_req_notify_cq(struct weft_cq *cq, bool solicited_only);

/*
 * Waits for the next completion event and tells its CQ and that CQ's user pointer (both may
 * be NULL pointers). Blocks unless channel->fd has O_NONBLOCK. Each must be acknowledged.
 * -EAGAIN: nothing (O_NONBLOCK); -EINTR: a signal; -EIO: the NIC is gone and each CQ that
 * was armed has had its event.
 */
WEFT_API WEFT_CHECK_RET int weft_get_cq_event(struct weft_comp_channel *channel,
					      struct weft_cq **cq, void **user);
/* Acknowledges count events of weft_get_cq_event(); one call may answer for many, and more than
 * there were count for nothing. */
WEFT_API void weft_ack_cq_events(struct weft_cq *cq, uint32_t count);

/* ------------------------------------------------------------------ XRC domains */

/*
 * Extended reliable connections (IBA annex A14): an XRC_SEND QP sends to an XRC_RECV QP of the
 * peer, and each request names the SRQ there that gives it its receive, its protection domain and
 * its completion queue. QP and SRQ are of one domain, which processes share by opening the same
 * file. Processes that share one must be in the same shard of the NIC: NICs with several give them
 * out in turn, WEFT_SHARD (see weft_open_device()) or weft_open_attr.shard name one.
 */
struct weft_xrcd {
	struct weft_context *context;
	uint32_t handle;
	void *user;
};

/*
 * Opens a domain: of the file (fd -1: a new one that nobody else can open). oflags, as open(2) has
 * them: without O_CREAT a file that nobody has made a domain of is EAGAIN, with O_EXCL one that
 * somebody has is EINVAL. errno EXDEV: the file's domain is in another shard; ENOSPC: as many are
 * open as the device lets one process have.
 */
WEFT_API struct weft_xrcd *weft_open_xrcd(struct weft_context *context, int fd, int oflags);
/* -EBUSY while an SRQ or QP was made in it. The domain lives on with others that have it open. */
WEFT_API WEFT_CHECK_RET int weft_close_xrcd(struct weft_xrcd *xrcd);

/* ------------------------------------------------------- shared receive queues */

struct weft_srq {
	struct weft_context *context;
	struct weft_pd *pd;
	uint32_t handle;
	void *user;
	struct weft_xrcd *xrcd; /* XRC; else NULL */
	struct weft_cq *cq;     /* XRC: where its receives complete; else NULL */
	uint32_t srqn;          /* XRC: what requests of peers name it by; else 0 */
};

struct weft_srq_attr {
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit; /* below so many waiting receives WEFT_EVENT_SRQ_LIMIT comes, once; 0 off */
};

enum weft_srq_attr_mask {
	WEFT_SRQ_MAX_WR = 1, /* not supported: -EOPNOTSUPP */
	WEFT_SRQ_LIMIT = 2,
};

/* attr->limit is ignored; max_wr and max_sge are set to what was given. */
WEFT_API struct weft_srq *weft_create_srq(struct weft_pd *pd, struct weft_srq_attr *attr);
/* One of XRC, all of one context. Its completions come to cq; their qpn is that of the XRC_RECV QP.
 */
WEFT_API struct weft_srq *weft_create_xrc_srq(struct weft_pd *pd, struct weft_xrcd *xrcd,
					      struct weft_cq *cq, struct weft_srq_attr *attr);
WEFT_API WEFT_CHECK_RET int weft_modify_srq(struct weft_srq *srq, const struct weft_srq_attr *attr,
					    int mask);
WEFT_API WEFT_CHECK_RET int weft_query_srq(struct weft_srq *srq, struct weft_srq_attr *attr);
/* -EBUSY while a QP uses it. Blocks for unacknowledged asynchronous events. */
WEFT_API WEFT_CHECK_RET int weft_destroy_srq(struct weft_srq *srq);

/* ------------------------------------------------------------- address handles */

/* Whom to send to. All zero: the destination QPN alone names the peer (NICs of one weftd). */
struct weft_av {
	uint32_t dst_ip; /* network byte order */
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t by_ip; /* 1: dst_ip is valid */
};

/* The address vector of a peer's NIC by its IPv4 address (network byte order). */
static inline struct weft_av weft_av_ip(uint32_t dst_ip)
{
	struct weft_av av;

	av.dst_ip = dst_ip;
	av.sgid_index = 1;
	av.hop_limit = 64;
	av.traffic_class = 0;
	av.by_ip = 1;
	return av;
}

/*
 * The address vector of an IPv4 group (network byte order), for Sends of UD QPs to QPN
 * WEFT_MCAST_QPN. hop_limit is the time to live of the packets: 1 stays on the link.
 */
static inline struct weft_av weft_av_mcast(uint32_t group_ip)
{
	struct weft_av av = weft_av_ip(group_ip);

	av.hop_limit = 1;
	return av;
}

/* The address vector that leaves it to the QPN. */
static inline struct weft_av weft_av_qpn(void)
{
	struct weft_av av = weft_av_ip(0);

	av.by_ip = 0;
	return av;
}

struct weft_ah {
	struct weft_context *context;
	struct weft_pd *pd;
	uint32_t handle;
};

/* An address handle for UD and RD requests. errno EINVAL: no unicast or group address. */
WEFT_API struct weft_ah *weft_create_ah(struct weft_pd *pd, const struct weft_av *av);
/* Only after the requests that use it have completed. */
WEFT_API WEFT_CHECK_RET int weft_destroy_ah(struct weft_ah *ah);

/* --------------------------------------------------------------- queue pairs */

/* All but RD, which is weft's, have the numbers of enum ibv_qp_type. */
enum weft_qp_type {
	WEFT_QPT_RC = 2,
	WEFT_QPT_UC = 3,
	WEFT_QPT_UD = 4,
	WEFT_QPT_XRC_SEND = 9,
	WEFT_QPT_XRC_RECV = 10,
	WEFT_QPT_RD = 16,
};

/* The numbers of enum ibv_qp_state. */
enum weft_qp_state {
	WEFT_QPS_RESET = 0,
	WEFT_QPS_INIT = 1,
	WEFT_QPS_RTR = 2,
	WEFT_QPS_RTS = 3,
	WEFT_QPS_SQD = 4,
	WEFT_QPS_SQE = 5,
	WEFT_QPS_ERR = 6,
};

/* weft_qp_init_attr.flags */
enum weft_qp_flags {
	WEFT_QP_F_SQ_SIG_ALL = 0x01, /* every send request completes on the CQ */
	WEFT_QP_F_UD_LONG = 0x02,    /* UD messages to 64 KiB; no GRH in front of the data */
	/* UD: it does not receive what it sends to a group that it is attached to */
	WEFT_QP_F_BLOCK_SELF_MCAST_LB = 0x04,
	/* UD: no WEFT_EVENT_PEER_ERROR; for layers whose users do not know that event */
	WEFT_QP_F_NO_PEER_ERROR = 0x08,
};

struct weft_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_bytes;
};

struct weft_qp_init_attr {
	enum weft_qp_type type;
	uint32_t flags; /* enum weft_qp_flags */
	struct weft_cq *send_cq;
	struct weft_cq *recv_cq;
	struct weft_srq *srq; /* or NULL */
	struct weft_qp_cap cap;
	void *user;
	struct weft_xrcd *xrcd; /* XRC_RECV, which has no CQ, no PD and no queues (cap is 0) */
};

struct weft_qp {
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_cq *send_cq;
	struct weft_cq *recv_cq;
	struct weft_srq *srq;
	uint32_t qpn;
	enum weft_qp_type type;
	uint32_t flags;
	struct weft_qp_cap cap;
	void *user;
	struct weft_xrcd *xrcd; /* XRC_RECV */
};

/*
 * Makes a queue pair in state RESET. attr->cap is set to what was given, at least what was
 * asked for. errno: EINVAL something beyond the device's limits, or of another context;
 * EOPNOTSUPP: type not served. pd NULL: XRC_RECV, which has none.
 */
WEFT_API struct weft_qp *weft_create_qp(struct weft_pd *pd, struct weft_qp_init_attr *attr);
/*
 * Another process's XRC_RECV QP of the same domain, or one that this process has already: may be
 * modified, queried, and ends when all who have it have destroyed it, each as often as it has made
 * or opened it. Each handle has events of its own. errno EINVAL: no such QP there.
 */
WEFT_API struct weft_qp *weft_open_qp(struct weft_xrcd *xrcd, uint32_t qpn, void *user);

/* Fields of weft_qp_attr; the bits of enum ibv_qp_attr_mask. */
enum weft_qp_attr_mask {
	WEFT_QP_STATE = 1 << 0,
	WEFT_QP_CUR_STATE = 1 << 1,
	WEFT_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	WEFT_QP_ACCESS_FLAGS = 1 << 3,
	WEFT_QP_PKEY_INDEX = 1 << 4,
	WEFT_QP_PORT = 1 << 5,
	WEFT_QP_QKEY = 1 << 6,
	WEFT_QP_AV = 1 << 7,
	WEFT_QP_PATH_MTU = 1 << 8,
	WEFT_QP_TIMEOUT = 1 << 9,
	WEFT_QP_RETRY_CNT = 1 << 10,
	WEFT_QP_RNR_RETRY = 1 << 11,
	WEFT_QP_RQ_PSN = 1 << 12,
	WEFT_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	WEFT_QP_MIN_RNR_TIMER = 1 << 15,
	WEFT_QP_SQ_PSN = 1 << 16,
	WEFT_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	WEFT_QP_DEST_QPN = 1 << 20,
	WEFT_QP_TRANSPORT = 1 << 28, /* weft's own: RC, in INIT or on the way to RTR */
};

/*
 * What carries an RC QP's messages; both ends choose the same. ESP: streams over raw Ethernet, to
 * peers on the same link (modify to RTR: -EHOSTUNREACH to others). TCP: the connection of an
 * endpoint (weft_cm.h), which the QP is given in RTS; its peer's QPN is 0.
 */
enum weft_qp_transport {
	WEFT_QP_TRANSPORT_RD = 0,
	WEFT_QP_TRANSPORT_ESP = 1,
	WEFT_QP_TRANSPORT_TCP = 2,
};

struct weft_qp_attr {
	enum weft_qp_state state;
	enum weft_qp_state cur_state;
	uint32_t access; /* enum weft_access: what peers may do */
	uint32_t qkey;
	uint32_t path_mtu_bytes;
	uint32_t dst_qpn;
	uint32_t sq_psn;
	uint32_t rq_psn;
	struct weft_av av;
	uint8_t timeout; /* 4.096 us * 2^timeout; 0: for ever */
	uint8_t retry_cnt;
	uint8_t rnr_retry; /* 7: for ever */
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;
	uint8_t port; /* 1 */
	uint16_t pkey_index;
	enum weft_qp_transport transport;
};

/*
 * Changes state and attributes as verbs allow (IBA 11.2.5.2). -EINVAL: not legal in this
 * state or for this type. Going to RESET drops what was posted, uncompleted.
 */
WEFT_API WEFT_CHECK_RET int weft_modify_qp(struct weft_qp *qp, const struct weft_qp_attr *attr,
					   int mask);
/* What was set, and the state now. cap may be NULL. */
WEFT_API WEFT_CHECK_RET int weft_query_qp(struct weft_qp *qp, struct weft_qp_attr *attr,
					  struct weft_qp_cap *cap);

/*
 * UD and RD: RESET to RTS with sensible values in one call. access: what peers may do with RDMA
 * (enum weft_access; 0 for sends only). Receives may be posted before or after. A request of RD
 * fails after 12.9 s without an answer (docs/operating.md "How long requests hold out").
 */
WEFT_API WEFT_CHECK_RET int weft_activate_qp(struct weft_qp *qp, uint32_t qkey, uint32_t access);

/*
 * Ends it: requests that wait are dropped without completion and completions of it that were
 * not polled are taken out of the CQs. Blocks until no frame refers to its memory, and for
 * unacknowledged asynchronous events.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_qp(struct weft_qp *qp);

/* The destination QPN of what is sent to a group. */
#define WEFT_MCAST_QPN 0xffffffu

/* The GID of an IPv4 group (network byte order): ::ffff:a.b.c.d. */
static inline void weft_mcast_gid(uint32_t group_ip, uint8_t gid[16])
{
	const uint8_t *octet = (const uint8_t *)&group_ip;
	int i;

	for (i = 0; i < 16; i++)
		gid[i] = i < 10 ? 0 : i < 12 ? 0xff : octet[i - 12];
}

/*
 * Attaches a UD QP to a group: each datagram to it that carries the QP's Q_Key takes a receive of
 * the QP. What the NIC itself sends is among them (WEFT_QP_F_BLOCK_SELF_MCAST_LB). The NIC
 * joins the group by IGMP with the first QP and leaves it with the last. May be done in any
 * state, and again to no effect. Ends with weft_detach_mcast() or with the QP. Blocks for one
 * round trip. -EINVAL: no UD QP, or no GID of an IPv4 group; -ENOSPC: a limit of the device
 * (max_mcast_*); -EDQUOT: the share of the process or its user is used up.
 */
WEFT_API WEFT_CHECK_RET int weft_attach_mcast(struct weft_qp *qp, const uint8_t gid[16]);
/* Undoes it. -EINVAL: the QP is not attached to this group. */
WEFT_API WEFT_CHECK_RET int weft_detach_mcast(struct weft_qp *qp, const uint8_t gid[16]);

/* --------------------------------------------------------------------- posting */

struct weft_sge {
	uint64_t addr; /* (uintptr_t)pointer, or an offset from the region's iova */
	uint32_t bytes;
	uint32_t lkey;
};

enum weft_wr_opcode {
	WEFT_WR_SEND = 0,
	WEFT_WR_SEND_IMM = 1,
	WEFT_WR_SEND_INV = 2,  /* not UD */
	WEFT_WR_WRITE = 3,     /* not UD */
	WEFT_WR_WRITE_IMM = 4, /* not UD */
	WEFT_WR_READ = 5,      /* not UD, UC */
	WEFT_WR_FETCH_ADD = 6, /* not UD, UC: 8 bytes, 8-aligned; the old value goes to the SGE */
	WEFT_WR_CMP_SWAP = 7,  /* likewise */
	WEFT_WR_LOCAL_INV = 8,
	WEFT_WR_BIND_MW = 9,
	WEFT_WR_WRITE_RECORD = 10, /* UD only */
};

/* weft_send_wr.flags */
enum weft_send_flags {
	WEFT_SEND_SIGNALED = 0x01,  /* completes on the CQ; failures always do */
	WEFT_SEND_SOLICITED = 0x02, /* the peer's completion is a solicited one */
	WEFT_SEND_FENCE = 0x04,     /* starts when earlier reads and atomics are done */
	WEFT_SEND_INLINE = 0x08,    /* data is copied now; lkeys are not looked at */
};

struct weft_send_wr {
	const struct weft_send_wr *next;
	uint64_t wr_id;
	const struct weft_sge *sg_list;
	uint32_t num_sge;
	enum weft_wr_opcode opcode;
	uint32_t flags;       /* enum weft_send_flags */
	uint32_t imm;         /* *_IMM */
	uint32_t inv_stag;    /* SEND_INV: the peer's; LOCAL_INV: ours */
	uint32_t rkey;        /* WRITE*, READ, atomics: the peer's; BIND_MW: the window's */
	uint64_t remote_addr; /* WRITE*, READ, atomics */
	uint64_t compare_add; /* CMP_SWAP: compare with; FETCH_ADD: add this */
	uint64_t swap;        /* CMP_SWAP: and store this */
	uint32_t mw_access;   /* BIND_MW: enum weft_access; sg_list[0] is range and region */
	struct weft_ah *ah;   /* UD, RD */
	uint32_t dst_qpn;     /* UD, RD */
	uint32_t qkey;        /* UD, RD; high bit set: the QP's own is used. XRC: the peer's srqn */
};

struct weft_recv_wr {
	const struct weft_recv_wr *next;
	uint64_t wr_id;
	const struct weft_sge *sg_list;
	uint32_t num_sge;
};

/*
 * Hands a list of requests to the NIC in order, with one doorbell. On failure those before
 * *bad_wr (may be a NULL pointer) were posted. Without WEFT_SEND_INLINE, the memory belongs to the
 * NIC until completion. -ENOMEM: the send queue is full, poll its CQ; -EINVAL: opcode not of this
 * QP type, too many SGEs or inline bytes, no address handle, QP state RESET, INIT or RTR. What only
 * the NIC can check (keys, bounds, rights) comes back as the completion's status.
 */
WEFT_API WEFT_CHECK_RET int weft_post_send(struct weft_qp *qp, const struct weft_send_wr *wr,
					   const struct weft_send_wr **bad_wr);

/*
 * Posts receive buffers. UD without WEFT_QP_F_UD_LONG: 40 bytes of GRH come before the
 * data. -ENOMEM: queue full; -EINVAL: too many SGEs, state RESET, or the QP has an SRQ.
 */
WEFT_API WEFT_CHECK_RET int weft_post_recv(struct weft_qp *qp, const struct weft_recv_wr *wr,
					   const struct weft_recv_wr **bad_wr);
WEFT_API WEFT_CHECK_RET int weft_post_srq_recv(struct weft_srq *srq, const struct weft_recv_wr *wr,
					       const struct weft_recv_wr **bad_wr);

/* --------------------------------------------------------- asynchronous events */

enum weft_event_type {
	WEFT_EVENT_NONE = 0,
	WEFT_EVENT_CQ_ERR = 2,   /* cq: overrun */
	WEFT_EVENT_QP_FATAL = 3, /* qp; so the next four */
	WEFT_EVENT_QP_REQ_ERR = 4,
	WEFT_EVENT_QP_ACCESS_ERR = 5,
	WEFT_EVENT_COMM_EST = 6,
	WEFT_EVENT_QP_LAST_WQE = 7,
	WEFT_EVENT_SRQ_LIMIT = 8, /* srq */
	WEFT_EVENT_SRQ_ERR = 9,
	WEFT_EVENT_PORT_ACTIVE = 10,
	WEFT_EVENT_PORT_ERR = 11,
	WEFT_EVENT_DEVICE_FATAL = 12, /* weftd ended; the last event of a context */
	WEFT_EVENT_PEER_ERROR = 13,   /* qp: a peer refused a datagram of ours; peer_* */
	WEFT_EVENT_SQ_DRAINED = 14,   /* qp: in SQD, asked for with en_sqd_async_notify */
	WEFT_EVENT_GOAL_RUN = 15,     /* a run of a schedule is finished; libgoal takes it */
	WEFT_EVENT_CM = 16,           /* of the connection manager; librdmacm takes it */
};

struct weft_async_event {
	enum weft_event_type type;
	struct weft_qp *qp; /* the one that the type names is set, the others NULL */
	struct weft_cq *cq;
	struct weft_srq *srq;
	uint32_t peer_ssn;        /* PEER_ERROR: number of the message at fault */
	uint32_t peer_ip;         /* network byte order */
	uint8_t peer_layer_etype; /* layer and error type of the Terminate (RFC 5040 4.8) */
	uint8_t peer_code;
};

/*
 * Takes the next asynchronous event. Blocks unless async_fd has O_NONBLOCK. Each must be
 * acknowledged, or the object in it cannot be destroyed. -EAGAIN (O_NONBLOCK), -EINTR;
 * -EIO: the NIC is gone and WEFT_EVENT_DEVICE_FATAL was delivered.
 */
WEFT_API WEFT_CHECK_RET int weft_get_async_event(struct weft_context *context,
						 struct weft_async_event *event);
WEFT_API void weft_ack_async_event(const struct weft_async_event *event);

/* ----------------------------------------------------------------------- tools */

struct weft_stat {
	char name[40]; /* as ethtool -S would print it */
	uint64_t value;
};

/*
 * The counters of one shard of the NIC from number *cursor (0 first) on, at most max;
 * advances *cursor. Returns how many, 0: no more. -EINVAL: no such shard.
 */
WEFT_API WEFT_CHECK_RET int weft_stats(struct weft_context *context, uint32_t shard,
				       uint32_t *cursor, struct weft_stat *stats, uint32_t max);

enum weft_list_kind {
	WEFT_LIST_CLIENTS = 0,
	WEFT_LIST_QPS = 1,
	WEFT_LIST_MRS = 2,
	WEFT_LIST_CQS = 3,
	WEFT_LIST_NEIGHBOURS = 4,
	WEFT_LIST_PEERS = 5,
	WEFT_LIST_GROUPS = 6,
	WEFT_LIST_SHARES = 7, /* what users and processes have of a shard's tables */
	WEFT_LIST_USERS = 8,  /* what they have of the whole weftd; shard 0 */
};

/* What the fields mean for each kind: docs/host-interface.md "Lists". */
struct weft_list_item {
	uint32_t id;
	uint32_t client;
	uint32_t state;
	uint32_t type;
	uint64_t a, b;
	uint8_t mac[6];
	uint16_t forged; /* client: datagrams of rsockets that it dropped, see weft_cm.h */
	char name[24];
};

/*
 * Objects of all processes on one shard; cursor and return value as with weft_stats(). max is
 * at least WEFT_LIST_MIN, and up to as many fewer than max may come although there are more.
 */
#define WEFT_LIST_MIN 6
WEFT_API WEFT_CHECK_RET int weft_list(struct weft_context *context, enum weft_list_kind kind,
				      uint32_t shard, uint32_t *cursor,
				      struct weft_list_item *items, uint32_t max);

/*
 * Starts a capture: *fd becomes a pipe from which a pcapng stream of every frame of
 * the NIC can be read until it is closed. -EPERM: not root.
 */
WEFT_API WEFT_CHECK_RET int weft_capture(struct weft_context *context, int *fd);

/* Names, never NULL: "SUCCESS", "RETRY_EXC_ERR", ... Any thread. */
WEFT_API const char *weft_wc_status_str(enum weft_wc_status status);
WEFT_API const char *weft_wc_opcode_str(enum weft_wc_opcode opcode);
WEFT_API const char *weft_vendor_err_str(uint32_t vendor_err);
WEFT_API const char *weft_event_type_str(enum weft_event_type type);
WEFT_API const char *weft_qp_state_str(enum weft_qp_state state);
WEFT_API const char *weft_qp_type_str(enum weft_qp_type type);

#ifdef __cplusplus
}
#endif

#include "host_driver/weft_coalesce.h"

#endif /* WEFT_WEFT_H */
