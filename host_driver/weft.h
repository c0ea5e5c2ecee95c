/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft: the public interface of the weft NIC. An application includes only this header, which
 * includes weft_coalesce.h.
 *
 * The interface follows verbs: device, protection domain, memory region, completion queue, queue
 * pair, work request, completion. A context is one attachment of the process to one NIC
 * (weft_open_device). All objects belong to a context and are destroyed with it.
 *
 * Conventions:
 * - Functions that return int return 0 (or a count) on success and a negative errno on failure.
 *   Functions that return a pointer return NULL and set errno. Every call may also return -EIO (the
 *   NIC is gone: weftd ended, or this is a child of fork and the context belongs to the parent) and
 *   -ENOMEM.
 * - Lengths are in bytes. The last part of a name is the unit of a time. IPv4 addresses are in
 *   network byte order (as in struct in_addr); QPNs and all other numbers are in host order.
 *   Immediate data is transferred as 32 bits in memory order: use htonl() between different
 *   machines.
 * - Thread safety: every call may be made from any thread at any time, but no thread may use an
 *   object during or after its destruction. Posting locks one send or receive queue, polling locks
 *   one completion queue; the data path has no global lock. No call is async-signal-safe. A thread
 *   may be cancelled (pthread_cancel(3)) while it waits in weft_get_cq_event() or
 *   weft_get_async_event(); no event is lost.
 * - fork: the parent is not affected. In the child, registered memory is a private copy, and calls
 *   on contexts opened before the fork return -EIO. The child may close them and open new ones.
 * - A call blocks only if its description says so. A blocked call returns when the NIC goes away.
 *
 * Environment: WEFT_RUN_DIR (directory of the NICs' sockets, default /run/weft), WEFT_DEVICE
 * (device opened by weft_open_device(NULL)), WEFT_SHARD (shard for programs that name none),
 * WEFT_YIELD (auto, never, or the number of empty polls after which weft_poll_cq yields the
 * processor), WEFT_MEM (auto; process_vm: registration never moves memory onto shared pages),
 * WEFT_MR_CACHE (policy of registration caches).
 *
 * docs/host-interface.md describes the interface between library and NIC.
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
#define WEFT_VERSION_MINOR 2
#define WEFT_VERSION_PATCH 0
#ifndef WEFT_VERSION
#define WEFT_VERSION "0.2.0"
#endif

#ifdef __GNUC__
#define WEFT_API       __attribute__((visibility("default")))
#define WEFT_CHECK_RET __attribute__((warn_unused_result))
#else
#define WEFT_API
#define WEFT_CHECK_RET
#endif

/* Returns the version of the loaded library, WEFT_VERSION of its build. Never fails. */
WEFT_API const char *weft_version(void);

/* ------------------------------------------------------------------ devices */

struct weft_device {
	char name[32];  /* "weft0" */
	char path[108]; /* of its control socket */
};

/*
 * Finds the reachable NICs: sockets in the run directory on which a weftd listens, sorted by name.
 * *list is allocated; free it with weft_free_device_list(). Returns the number of NICs. When there
 * are none (including a missing directory), returns 0 with *list NULL.
 */
WEFT_API WEFT_CHECK_RET int weft_get_device_list(struct weft_device **list);
WEFT_API void weft_free_device_list(struct weft_device *list);

/* One attachment to a NIC. */
struct weft_context {
	char name[32];
	/*
	 * Becomes readable when an asynchronous event is pending or the NIC is gone. Use it only
	 * with poll, epoll and fcntl(O_NONBLOCK); never read it. -1 if the channel has no
	 * descriptors.
	 */
	int async_fd;
	void *user; /* the application's */
};

/*
 * Attaches to a NIC, given its name ("weft0") or the path of its socket. NULL selects the NIC that
 * WEFT_DEVICE names, or else the first of weft_get_device_list(). The shard is the one that
 * WEFT_SHARD names, or any. Blocks until weftd answers. errno: ENODEV no such NIC, ECONNREFUSED no
 * weftd listens, EACCES not in the NIC's group, EUSERS too many processes, EPROTO version mismatch,
 * ETIMEDOUT weftd is stopped (reported after 2 s).
 */
WEFT_API struct weft_context *weft_open_device(const char *name);

/* The interface that a program uses, as weftctl clients shows it. */
enum weft_use {
	WEFT_USE_LIBWEFT = 0,
	WEFT_USE_VERBS = 1,
	WEFT_USE_SOCKETS = 2,
	WEFT_USE_LIBFABRIC = 3,
	WEFT_USE_GOAL = 4,
};

/* Options for opening a context. */
struct weft_open_attr {
	bool collectives;  /* use the NIC's shard for collectives, if it has one */
	int shard;         /* required shard; -1: WEFT_SHARD's or any. errno ENXIO: no such shard */
	enum weft_use use; /* for layers above libweft */
};

/* Opens a device as weft_open_device() does, with options. attr NULL: default options. */
WEFT_API struct weft_context *weft_open_device_attr(const char *name,
						    const struct weft_open_attr *attr);

/*
 * Opens a context for tools, without doorbells and queues: only weft_query_*, weft_set_coalesce,
 * weft_stats, weft_list and weft_capture work. errno ETIMEDOUT: weftd did not answer, after 2 s if
 * it is stopped, otherwise after 10 s.
 */
WEFT_API struct weft_context *weft_open_tool(const char *name);

/*
 * Detaches. Destroys all objects left in the context, including memory regions; their pointers
 * become invalid. Always succeeds.
 */
WEFT_API void weft_close_device(struct weft_context *context);

struct weft_device_attr {
	char name[16];
	uint64_t node_guid; /* EUI-64 of the MAC, network byte order */
	uint32_t max_qp, max_cq, max_srq, max_mr, max_pd, max_ah, max_mw;
	uint32_t max_wr;  /* per queue */
	uint32_t max_cqe; /* per completion queue */
	uint32_t max_sge;
	uint32_t max_inline_bytes;
	uint32_t max_rd_atomic;     /* outstanding reads and atomics per QP */
	uint32_t max_ud_bytes;      /* longest UD message without WEFT_QP_F_UD_LONG */
	uint32_t max_ud_long_bytes; /* longest UD message with WEFT_QP_F_UD_LONG */
	uint32_t num_vectors;
	uint32_t max_peers;
	uint32_t shard; /* the shard that serves this context */
	uint32_t num_shards;
	uint32_t max_mcast_grp;
	uint32_t max_mcast_qp_attach;       /* QPs per group */
	uint32_t max_total_mcast_qp_attach; /* QPs in all groups */
	uint32_t num_coll_shards; /* shards reserved for collectives: the last ones of num_shards */
	uint64_t max_msg_bytes;   /* RD, RC, UC */
	uint64_t max_mr_bytes;
};

/*
 * Returns the limits of the device, as reported at attach; -EIO once the NIC is gone. Does not
 * block.
 */
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

/* Returns the current state of the port. Blocks for one round trip to the NIC. */
WEFT_API WEFT_CHECK_RET int weft_query_port(struct weft_context *context,
					    struct weft_port_attr *attr);

/* --------------------------------------------------- protection domains, memory */

struct weft_pd {
	struct weft_context *context;
	uint32_t handle;
	void *user;
};

/* Allocates a protection domain. Objects of different domains cannot be used together. */
WEFT_API struct weft_pd *weft_alloc_pd(struct weft_context *context);
/*
 * Frees a protection domain. -EBUSY while a memory region, queue pair or other object of it exists.
 */
WEFT_API WEFT_CHECK_RET int weft_dealloc_pd(struct weft_pd *pd);

/* Access rights: the bits of enum ibv_access_flags. Local read is always granted. */
enum weft_access {
	WEFT_ACCESS_LOCAL_WRITE = 1 << 0,
	WEFT_ACCESS_REMOTE_WRITE = 1 << 1,
	WEFT_ACCESS_REMOTE_READ = 1 << 2,
	WEFT_ACCESS_REMOTE_ATOMIC = 1 << 3,
	WEFT_ACCESS_MW_BIND = 1 << 4,
	WEFT_ACCESS_ZERO_BASED = 1 << 5, /* remote addresses start at 0 */
};

struct weft_mr {
	struct weft_context *context;
	struct weft_pd *pd;
	void *addr;
	size_t bytes;
	uint32_t lkey; /* lkey, rkey and STag are the same number */
	uint32_t rkey;
	bool mapped; /* by the NIC; otherwise each access is a system call of weftd */
	void *user;
};

/*
 * Registers memory of any kind: malloc, mmap, stack, static data, files; read-only memory if access
 * requests no write. Private anonymous memory, including the brk heap but not stacks, is moved onto
 * shared pages where the kernel allows it (WEFT_MEM). Its address and content stay the same, and
 * other threads may write to it meanwhile. mr->mapped is then true and transfers are a memcpy, as
 * for memory of weft_alloc(). All other memory works too, at about 1 us per access. The memory must
 * stay mapped until weft_dereg_mr(); requests that access unmapped memory fail. errno: EINVAL bytes
 * is 0, the address range wraps, remote write or atomic without local write, or an unknown access
 * bit; EFAULT the memory is not mapped or not writable as requested; EDQUOT quota exceeded. For
 * memory that the NIC cannot map: EPERM the process may not open its own /proc/self/mem
 * (PR_SET_DUMPABLE 0), EOPNOTSUPP weftd runs with --unmapped off.
 */
WEFT_API struct weft_mr *weft_reg_mr(struct weft_pd *pd, void *addr, size_t bytes, int access);

/* As weft_reg_mr(). iova is the address of the first byte in work requests and for peers. */
WEFT_API struct weft_mr *weft_reg_mr_iova(struct weft_pd *pd, void *addr, size_t bytes,
					  uint64_t iova, int access);

/*
 * Ends a registration. Blocks until no frame refers to the memory. -EBUSY while a memory window is
 * bound to it; -EINVAL: the region belongs to a cache.
 */
WEFT_API WEFT_CHECK_RET int weft_dereg_mr(struct weft_mr *mr);

/*
 * Changes the access rights of a region, and its protection domain unless pd is NULL. Keys and
 * addresses stay. On failure nothing changes. Returns 0; -EBUSY: a memory window is bound to it;
 * -EINVAL: as for weft_reg_mr(), or WEFT_ACCESS_ZERO_BASED differs, or the region belongs to a
 * cache; -EFAULT: not writable as requested.
 */
WEFT_API WEFT_CHECK_RET int weft_modify_mr(struct weft_mr *mr, struct weft_pd *pd, int access);

/*
 * Allocates memory that the NIC maps and that registration need not move: at least bytes long,
 * page-aligned, zero-filled. Free it with weft_free() and the same length, after deregistration.
 * Every context of the process can use it. If the NIC provides no memory, the result is ordinary
 * memory. Equals weft_alloc_attr() with shared_min_bytes 1.
 */
WEFT_API void *weft_alloc(struct weft_context *context, size_t bytes);
WEFT_API void weft_free(void *addr, size_t bytes);

/* A field of 0 selects its default. */
struct weft_alloc_attr {
	size_t alignment;        /* a power of two up to 4 MiB; default: a page */
	size_t shared_min_bytes; /* smaller requests get plain memory; default 4 KiB */
	/*
	 * Requests from this size on get a mapping and a descriptor of their own; smaller ones
	 * share extents. Default and maximum: 256 KiB.
	 */
	size_t own_min_bytes;
	bool must_be_shared; /* mapped by the NIC whatever its size, or errno ENOMEM */
};

/*
 * Allocates zero-filled memory with the given attributes (NULL: defaults). Small requests get plain
 * memory, as do all if the NIC provides none. Free it with weft_free(). errno EINVAL: bytes is 0,
 * or an invalid alignment.
 */
WEFT_API void *weft_alloc_attr(struct weft_context *context, size_t bytes,
			       const struct weft_alloc_attr *attr);

/* ------------------------------------------------------------- registration cache */

/*
 * Registration costs system calls and a round trip to weftd, so layers that register their users'
 * buffers for one transfer keep the regions for the next one. A cache does this and ensures that no
 * region outlives its memory. Memory that is unmapped, mapped over, moved by mremap() or discarded
 * by madvise(MADV_DONTNEED), also by free(), is withdrawn from the NIC before the call returns. A
 * peer that then uses its rkey gets REM_ACCESS_ERR.
 *
 * The cache uses userfaultfd(2) and a thread of the library. The thread that unmaps waits for it
 * (some tens of microseconds; longer while weftd is stopped). Regions of memory that cannot be
 * watched (file mappings, MAP_SHARED | MAP_ANONYMOUS before Linux 5.19, no userfaultfd, under
 * valgrind) end when they are released: weft_mr_cache_stats.unwatched.
 */
struct weft_mr_cache {
	struct weft_pd *pd;
	void *user;
};

enum weft_mr_cache_policy {
	/* Regions are kept until max_entries is reached or the NIC has no room for a new one. */
	WEFT_MR_CACHE_LAZY = 0,
	WEFT_MR_CACHE_LRU = 1, /* in addition, regions are limited to max_bytes */
	/* Regions are shared by concurrent users; the last release ends them. */
	WEFT_MR_CACHE_IMMEDIATE = 2,
	WEFT_MR_CACHE_OFF = 3, /* every call registers */
};

/* The environment variable WEFT_MR_CACHE (lazy, lru, immediate, off) overrides policy. */
struct weft_mr_cache_attr {
	enum weft_mr_cache_policy policy;
	int access; /* granted in each registration, in addition to the rights of the call */
	uint32_t max_entries; /* 0: 1024. The least recently released region is evicted first */
	/* WEFT_MR_CACHE_LRU: limit of idle and used regions together; 0: none. */
	uint64_t max_bytes;
	/*
	 * Registers exactly the requested bytes. Otherwise whole pages are registered, so that
	 * neighbouring buffers hit the same region; a peer with the rkey can then access other data
	 * in the first and the last page.
	 */
	bool exact;
};

struct weft_mr_cache_stats {
	uint64_t hits;
	uint64_t misses;        /* registrations */
	uint64_t evictions;     /* idle regions that were evicted */
	uint64_t invalidations; /* regions withdrawn because their memory was unmapped */
	uint64_t unwatched;     /* registrations that could not be kept */
	uint64_t entries;       /* existing regions */
	uint64_t in_use;        /* regions in use */
	uint64_t bytes;         /* size of the existing regions */
};

/*
 * Creates a cache. attr NULL: all fields 0. errno EINVAL: unknown policy, more than 1 Mi entries.
 */
WEFT_API struct weft_mr_cache *weft_create_mr_cache(struct weft_pd *pd,
						    const struct weft_mr_cache_attr *attr);
/* Destroys a cache and its idle regions. -EBUSY: regions are in use. */
WEFT_API WEFT_CHECK_RET int weft_destroy_mr_cache(struct weft_mr_cache *cache);

/*
 * Returns a region that covers the memory with at least these rights, at its own addresses. It may
 * be larger and grant more; concurrent calls may return the same region. The memory must stay
 * mapped until the region is released; otherwise the region is withdrawn and requests that use it
 * fail. errno as for weft_reg_mr(); EINVAL also with WEFT_ACCESS_MW_BIND and _ZERO_BASED.
 */
WEFT_API struct weft_mr *weft_reg_mr_cached(struct weft_mr_cache *cache, void *addr, size_t bytes,
					    int access);
/*
 * Returns true if the region was withdrawn because its memory was unmapped; it can only be
 * released. Always false for a region that is not watched.
 */
WEFT_API bool weft_mr_is_withdrawn(const struct weft_mr *mr);
/* Ends one use of a region from weft_reg_mr_cached(). No effect on other regions. */
WEFT_API void weft_release_mr(struct weft_mr *mr);

/* Deregisters all idle regions. */
WEFT_API WEFT_CHECK_RET int weft_flush_mr_cache(struct weft_mr_cache *cache);
WEFT_API WEFT_CHECK_RET int weft_query_mr_cache(struct weft_mr_cache *cache,
						struct weft_mr_cache_stats *stats);

struct weft_mw {
	struct weft_context *context;
	struct weft_pd *pd;
	uint32_t rkey;
	uint32_t type; /* 1 or 2 */
};

/* Allocates a memory window; bind it with WEFT_WR_BIND_MW. */
WEFT_API struct weft_mw *weft_alloc_mw(struct weft_pd *pd, uint32_t type);
WEFT_API WEFT_CHECK_RET int weft_dealloc_mw(struct weft_mw *mw);

/* ------------------------------------------------------------- completion queues */

/*
 * A completion channel: an event queue of the NIC with its own interrupt, on which completion
 * events arrive.
 */
struct weft_comp_channel {
	struct weft_context *context;
	/*
	 * Becomes readable when a completion event is pending or the NIC is gone. Use it only with
	 * poll, epoll and fcntl(O_NONBLOCK); never read it. It may be readable without an event:
	 * set O_NONBLOCK if weft_get_cq_event() must not block.
	 */
	int fd;
	void *user;
};

/*
 * Creates a channel. vector selects the interrupt moderation, below weft_device_attr.num_vectors.
 */
WEFT_API struct weft_comp_channel *weft_create_comp_channel(struct weft_context *context,
							    uint32_t vector);
/* Destroys a channel. -EBUSY while a CQ uses it. */
WEFT_API WEFT_CHECK_RET int weft_destroy_comp_channel(struct weft_comp_channel *channel);

struct weft_cq {
	struct weft_context *context;
	struct weft_comp_channel *channel; /* NULL: polled only */
	uint32_t handle;
	uint32_t entries; /* at least the requested number */
	void *user;
};

/* Creates a completion queue for at least entries completions. channel may be NULL. */
WEFT_API struct weft_cq *weft_create_cq(struct weft_context *context, uint32_t entries,
					struct weft_comp_channel *channel, void *user);
/*
 * Changes the size. Pending completions are kept. -EINVAL: too large; -EBUSY: too small for the
 * pending completions.
 */
WEFT_API WEFT_CHECK_RET int weft_resize_cq(struct weft_cq *cq, uint32_t entries);
/*
 * Sets interrupt moderation: an event is raised after count completions or period_us microseconds
 * after the first one, whichever is sooner. 0, 0: the settings of the channel's vector apply
 * (weft_coalesce.h), by default no delay. Solicited completions and errors are never delayed.
 */
WEFT_API WEFT_CHECK_RET int weft_modify_cq(struct weft_cq *cq, uint16_t count, uint32_t period_us);
/*
 * Destroys a CQ. -EBUSY while a QP uses it. Blocks until every event that weft_get_cq_event() or
 * weft_get_async_event() returned for it is acknowledged.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_cq(struct weft_cq *cq);

/* The values of enum ibv_wc_status. */
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

/* The values of enum ibv_wc_opcode. Valid if status is WEFT_WC_SUCCESS. */
enum weft_wc_opcode {
	WEFT_WC_SEND = 0,
	WEFT_WC_WRITE = 1, /* also WEFT_WR_WRITE_RECORD */
	WEFT_WC_READ = 2,
	WEFT_WC_CMP_SWAP = 3,
	WEFT_WC_FETCH_ADD = 4,
	WEFT_WC_BIND_MW = 5,
	WEFT_WC_LOCAL_INV = 6,
	WEFT_WC_RECV = 128,
	WEFT_WC_RECV_WRITE_IMM = 129,
	WEFT_WC_RECV_WRITE_RECORD = 192, /* a peer's Write-Record; consumes no receive */
	/* Tagged endpoints (weft_tag.h); these three are also valid if the status is an error. */
	WEFT_WC_TSEND = 193,
	WEFT_WC_TRECV = 194,
	WEFT_WC_TPEEK = 195,
};

/* weft_wc.flags */
enum weft_wc_flags {
	WEFT_WC_F_GRH = 0x01, /* 40 bytes of GRH precede the data and are counted in bytes */
	WEFT_WC_F_IMM = 0x02, /* imm is valid */
	WEFT_WC_F_INV = 0x04, /* inv_stag is valid: the peer invalidated this STag */
	WEFT_WC_F_SOLICITED = 0x08,
	WEFT_WC_F_PARTIAL = 0x10, /* Write-Record: pieces are missing, see record_map */
	WEFT_WC_WITH_DATA = 0x02, /* TRECV, TPEEK: data is valid */
	WEFT_WC_RELEASED = 0x40,  /* TRECV: the multi-receive buffer serves no more messages */
};

struct weft_wc {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* the NIC's clock at the time of completion */
	enum weft_wc_status status;
	enum weft_wc_opcode opcode;
	uint32_t vendor_err; /* enum weft_vendor_err */
	uint32_t bytes;      /* bytes received or read */
	uint32_t qpn;
	uint32_t src_qpn; /* UD, RD receives */
	uint32_t src_ip;  /* network byte order; UD, RD receives */
	uint32_t flags;   /* enum weft_wc_flags */
	uint32_t imm;
	uint32_t inv_stag;
	/*
	 * The unions hold fields of tagged endpoints. Write-Record: location of the message. Bit i
	 * of record_map means that the piece that starts at i * record_piece_bytes is valid (the
	 * last piece may be shorter).
	 */
	union {
		uint32_t record_stag;
		uint32_t offset; /* TRECV of a multi-receive buffer: where the message begins */
		uint32_t claim;  /* TPEEK with WEFT_TAG_CLAIM */
	};
	union {
		uint32_t record_piece_bytes;
		uint32_t msg_bytes; /* TRECV, TPEEK: length of the whole message */
	};
	union {
		uint64_t record_to;
		uint64_t tag; /* TRECV, TPEEK */
	};
	union {
		uint64_t record_map;
		uint64_t data; /* TRECV, TPEEK with WEFT_WC_WITH_DATA */
	};
};

/* Reason of a failed request, in more detail than the status. */
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
	WEFT_VENDOR_ERR_NO_MESSAGE = 17, /* weft_tag_peek() found none */
	WEFT_VENDOR_ERR_CANCELED = 18,   /* weft_tag_cancel() withdrew the receive */
	WEFT_VENDOR_ERR_NIC_GONE = 255,  /* generated by the library: weftd ended */
};

/*
 * Takes up to max completions, oldest first. Returns their number (0: none). Makes no system call,
 * except for sched_yield after a number of empty polls (WEFT_YIELD) and a check every 10 ms that
 * weftd is alive. If it is not, outstanding requests of the CQ's QPs complete with
 * WEFT_WC_WR_FLUSH_ERR, after the completions of the NIC. Receives of shared receive queues do not
 * complete; if nothing else is left, returns -EIO.
 */
WEFT_API WEFT_CHECK_RET int weft_poll_cq(struct weft_cq *cq, int max, struct weft_wc *wc);

/*
 * Requests one event on the CQ's channel for the next completion that has not been polled yet
 * (solicited_only: the next solicited completion or error). The event is raised at once if there
 * already is one, so none is lost between the last poll and this call. -EINVAL: the CQ has no
 * channel.
 */
WEFT_API WEFT_CHECK_RET int weft_req_notify_cq(struct weft_cq *cq, bool solicited_only);

/*
 * Waits for the next completion event and returns its CQ and that CQ's user pointer (either
 * argument may be NULL). Blocks unless channel->fd has O_NONBLOCK. Each event must be acknowledged.
 * -EAGAIN: no event (O_NONBLOCK); -EINTR: a signal; -EIO: the NIC is gone and every armed CQ has
 * had its event.
 */
WEFT_API WEFT_CHECK_RET int weft_get_cq_event(struct weft_comp_channel *channel,
					      struct weft_cq **cq, void **user);
/*
 * Acknowledges count events of weft_get_cq_event(). One call may acknowledge several events; a
 * count beyond the number of unacknowledged events is truncated.
 */
WEFT_API void weft_ack_cq_events(struct weft_cq *cq, uint32_t count);

/* ------------------------------------------------------------------ XRC domains */

/*
 * Extended reliable connections (IBA annex A14). An XRC_SEND QP sends to an XRC_RECV QP of the
 * peer. Each request names an SRQ there, which provides the receive, the protection domain and the
 * completion queue. QP and SRQ belong to one domain. Processes share a domain by opening the same
 * file; they must be in the same shard of the NIC. A NIC with several shards assigns them in turn;
 * WEFT_SHARD (see weft_open_device()) or weft_open_attr.shard selects one.
 */
struct weft_xrcd {
	struct weft_context *context;
	uint32_t handle;
	void *user;
};

/*
 * Opens the domain of a file (fd -1: a new private domain). oflags as for open(2): without O_CREAT,
 * EAGAIN if the file has no domain; with O_EXCL, EINVAL if it already has one. errno EXDEV: the
 * file's domain is in another shard; ENOSPC: the process has reached the device's limit of open
 * domains.
 */
WEFT_API struct weft_xrcd *weft_open_xrcd(struct weft_context *context, int fd, int oflags);
/*
 * Closes a domain. -EBUSY while an SRQ or QP of this handle exists. The domain persists while other
 * processes have it open.
 */
WEFT_API WEFT_CHECK_RET int weft_close_xrcd(struct weft_xrcd *xrcd);

/* ------------------------------------------------------- shared receive queues */

struct weft_srq {
	struct weft_context *context;
	struct weft_pd *pd;
	uint32_t handle;
	void *user;
	struct weft_xrcd *xrcd; /* XRC; otherwise NULL */
	struct weft_cq *cq;     /* XRC: CQ of its receives; otherwise NULL */
	uint32_t srqn;          /* XRC: number by which peers' requests name it; otherwise 0 */
};

struct weft_srq_attr {
	uint32_t max_wr;
	uint32_t max_sge;
	/* WEFT_EVENT_SRQ_LIMIT is raised once when fewer receives are posted; 0: off. */
	uint32_t limit;
};

enum weft_srq_attr_mask {
	WEFT_SRQ_MAX_WR = 1, /* not supported: -EOPNOTSUPP */
	WEFT_SRQ_LIMIT = 2,
};

/* Creates an SRQ. attr->limit is ignored; max_wr and max_sge are set to the actual values. */
WEFT_API struct weft_srq *weft_create_srq(struct weft_pd *pd, struct weft_srq_attr *attr);
/*
 * Creates an XRC SRQ; all objects must be of one context. Its completions go to cq; their qpn is
 * that of the XRC_RECV QP.
 */
WEFT_API struct weft_srq *weft_create_xrc_srq(struct weft_pd *pd, struct weft_xrcd *xrcd,
					      struct weft_cq *cq, struct weft_srq_attr *attr);
WEFT_API WEFT_CHECK_RET int weft_modify_srq(struct weft_srq *srq, const struct weft_srq_attr *attr,
					    int mask);
WEFT_API WEFT_CHECK_RET int weft_query_srq(struct weft_srq *srq, struct weft_srq_attr *attr);
/*
 * Destroys an SRQ. -EBUSY while a QP uses it. Blocks until its asynchronous events are
 * acknowledged.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_srq(struct weft_srq *srq);

/* ------------------------------------------------------------- address handles */

/* Address vector. All zero: the destination QPN alone identifies the peer (NICs of one weftd). */
struct weft_av {
	uint32_t dst_ip; /* network byte order */
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t by_ip; /* 1: dst_ip is valid */
};

/* Returns the address vector of a NIC with this IPv4 address (network byte order). */
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
 * Returns the address vector of an IPv4 group (network byte order), for Sends of UD QPs to QPN
 * WEFT_MCAST_QPN. hop_limit is the time to live of the packets: 1 stays on the link.
 */
static inline struct weft_av weft_av_mcast(uint32_t group_ip)
{
	struct weft_av av = weft_av_ip(group_ip);

	av.hop_limit = 1;
	return av;
}

/* Returns the address vector of a peer identified by its QPN alone. */
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

/*
 * Creates an address handle for UD and RD requests. errno EINVAL: not a unicast or group address.
 */
WEFT_API struct weft_ah *weft_create_ah(struct weft_pd *pd, const struct weft_av *av);
/*
 * Destroys an address handle. Call it only after the requests that use the handle have completed.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_ah(struct weft_ah *ah);

/* --------------------------------------------------------------- queue pairs */

/* The values of enum ibv_qp_type, except for RD, which is specific to weft. */
enum weft_qp_type {
	WEFT_QPT_RC = 2,
	WEFT_QPT_UC = 3,
	WEFT_QPT_UD = 4,
	WEFT_QPT_XRC_SEND = 9,
	WEFT_QPT_XRC_RECV = 10,
	WEFT_QPT_RD = 16,
};

/* The values of enum ibv_qp_state. */
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
	WEFT_QP_F_SQ_SIG_ALL = 0x01, /* every send request generates a completion */
	WEFT_QP_F_UD_LONG = 0x02,    /* UD messages up to 64 KiB; no GRH before the data */
	/* UD: the QP does not receive its own messages to a group to which it is attached */
	WEFT_QP_F_BLOCK_SELF_MCAST_LB = 0x04,
	/* UD: no WEFT_EVENT_PEER_ERROR; for layers whose users do not handle that event */
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
	struct weft_xrcd *xrcd; /* XRC_RECV; such a QP has no CQ, no PD and no queues (cap is 0) */
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
 * Creates a queue pair in state RESET. attr->cap is set to the actual values, which are at least
 * those requested. errno: EINVAL a value beyond the device's limits, or an object of another
 * context; EOPNOTSUPP unsupported type. pd is NULL for XRC_RECV.
 */
WEFT_API struct weft_qp *weft_create_qp(struct weft_pd *pd, struct weft_qp_init_attr *attr);
/*
 * Opens an XRC_RECV QP of the same domain, created by any process. The handle can be modified and
 * queried. The QP ends when every creation and open has been destroyed. Each handle has its own
 * events. errno EINVAL: no such QP in the domain.
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
	WEFT_QP_TRANSPORT = 1 << 28, /* specific to weft: RC, in INIT or on the transition to RTR */
};

/*
 * Transport of an RC QP; both ends must use the same one. ESP: streams over raw Ethernet, to peers
 * on the same link (modify to RTR: -EHOSTUNREACH for others). TCP: the connection of an endpoint
 * (weft_cm.h), which the QP gets in RTS; the peer's QPN is 0.
 */
enum weft_qp_transport {
	WEFT_QP_TRANSPORT_RD = 0,
	WEFT_QP_TRANSPORT_ESP = 1,
	WEFT_QP_TRANSPORT_TCP = 2,
};

struct weft_qp_attr {
	enum weft_qp_state state;
	enum weft_qp_state cur_state;
	uint32_t access; /* enum weft_access: rights of peers */
	uint32_t qkey;
	uint32_t path_mtu_bytes;
	uint32_t dst_qpn;
	uint32_t sq_psn;
	uint32_t rq_psn;
	struct weft_av av;
	uint8_t timeout; /* 4.096 us * 2^timeout; 0: infinite */
	uint8_t retry_cnt;
	uint8_t rnr_retry; /* 7: infinite */
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;
	uint8_t port; /* always 1 */
	uint16_t pkey_index;
	enum weft_qp_transport transport;
};

/*
 * Changes state and attributes, as specified for verbs (IBA 11.2.5.2). -EINVAL: not legal in this
 * state or for this type. The transition to RESET drops posted requests without completions.
 */
WEFT_API WEFT_CHECK_RET int weft_modify_qp(struct weft_qp *qp, const struct weft_qp_attr *attr,
					   int mask);
/* Returns the attributes set and the current state. cap may be NULL. */
WEFT_API WEFT_CHECK_RET int weft_query_qp(struct weft_qp *qp, struct weft_qp_attr *attr,
					  struct weft_qp_cap *cap);

/*
 * UD and RD: moves the QP from RESET to RTS with default values. access: rights of peers for RDMA
 * (enum weft_access; 0 for Sends only). Receives may be posted before or after. An RD request fails
 * after 12.9 s without a response (docs/operating.md, "How long requests hold out").
 */
WEFT_API WEFT_CHECK_RET int weft_activate_qp(struct weft_qp *qp, uint32_t qkey, uint32_t access);

/*
 * Destroys a QP. Pending requests are dropped without completions, and its unpolled completions are
 * removed from the CQs. Blocks until no frame refers to its memory and its asynchronous events are
 * acknowledged.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_qp(struct weft_qp *qp);

/* Destination QPN of multicast messages. */
#define WEFT_MCAST_QPN 0xffffffu

/* Stores the GID of an IPv4 group (network byte order): the IPv4-mapped address. */
static inline void weft_mcast_gid(uint32_t group_ip, uint8_t gid[16])
{
	const uint8_t *octet = (const uint8_t *)&group_ip;
	int i;

	for (i = 0; i < 16; i++)
		gid[i] = i < 10 ? 0 : i < 12 ? 0xff : octet[i - 12];
}

/*
 * Attaches a UD QP to a group. Each datagram to the group with the QP's Q_Key consumes a receive of
 * the QP, including datagrams that the NIC itself sends (see WEFT_QP_F_BLOCK_SELF_MCAST_LB). The
 * NIC joins the group by IGMP with the first QP and leaves it with the last. The call is valid in
 * any state; a repeated call has no effect. The attachment ends with weft_detach_mcast() or with
 * the QP. Blocks for one round trip. -EINVAL: not a UD QP, or not the GID of an IPv4 group;
 * -ENOSPC: a limit of the device (max_mcast_*); -EDQUOT: the quota of the process or its user is
 * exhausted.
 */
WEFT_API WEFT_CHECK_RET int weft_attach_mcast(struct weft_qp *qp, const uint8_t gid[16]);
/* Detaches a QP from a group. -EINVAL: the QP is not attached to it. */
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
	WEFT_WR_FETCH_ADD = 6, /* not UD, UC: 8 bytes, 8-aligned; the SGE receives the old value */
	WEFT_WR_CMP_SWAP = 7,  /* as FETCH_ADD */
	WEFT_WR_LOCAL_INV = 8,
	WEFT_WR_BIND_MW = 9,
	WEFT_WR_WRITE_RECORD = 10, /* UD only */
};

/* weft_send_wr.flags */
enum weft_send_flags {
	WEFT_SEND_SIGNALED = 0x01,  /* generates a completion; failures always do */
	WEFT_SEND_SOLICITED = 0x02, /* the peer's completion is solicited */
	WEFT_SEND_FENCE = 0x04,     /* starts after earlier reads and atomics have completed */
	WEFT_SEND_INLINE = 0x08,    /* data is copied at posting; lkeys are ignored */
};

struct weft_send_wr {
	const struct weft_send_wr *next;
	uint64_t wr_id;
	const struct weft_sge *sg_list;
	uint32_t num_sge;
	enum weft_wr_opcode opcode;
	uint32_t flags;       /* enum weft_send_flags */
	uint32_t imm;         /* *_IMM */
	uint32_t inv_stag;    /* SEND_INV: the peer's STag; LOCAL_INV: a local one */
	uint32_t rkey;        /* WRITE*, READ, atomics: the peer's; BIND_MW: the window's */
	uint64_t remote_addr; /* WRITE*, READ, atomics */
	uint64_t compare_add; /* CMP_SWAP: value to compare; FETCH_ADD: value to add */
	uint64_t swap;        /* CMP_SWAP: value to store */
	uint32_t mw_access;   /* BIND_MW: enum weft_access; sg_list[0] gives range and region */
	struct weft_ah *ah;   /* UD, RD */
	uint32_t dst_qpn;     /* UD, RD */
	uint32_t qkey; /* UD, RD; high bit set: the QP's own Q_Key is used. XRC: the peer's srqn */
};

struct weft_recv_wr {
	const struct weft_recv_wr *next;
	uint64_t wr_id;
	const struct weft_sge *sg_list;
	uint32_t num_sge;
};

/*
 * Posts a list of send requests in order, with one doorbell. On failure the requests before *bad_wr
 * (which may be NULL) were posted. Without WEFT_SEND_INLINE the NIC owns the memory until
 * completion. -ENOMEM: the send queue is full, poll its CQ; -EINVAL: opcode not supported by the QP
 * type, too many SGEs or inline bytes, no address handle, or QP state RESET, INIT or RTR. Errors
 * that only the NIC can detect (keys, bounds, rights) are reported in the completion's status.
 */
WEFT_API WEFT_CHECK_RET int weft_post_send(struct weft_qp *qp, const struct weft_send_wr *wr,
					   const struct weft_send_wr **bad_wr);

/*
 * Posts receive buffers. UD without WEFT_QP_F_UD_LONG: 40 bytes of GRH precede the data. -ENOMEM:
 * queue full; -EINVAL: too many SGEs, state RESET, or the QP has an SRQ.
 */
WEFT_API WEFT_CHECK_RET int weft_post_recv(struct weft_qp *qp, const struct weft_recv_wr *wr,
					   const struct weft_recv_wr **bad_wr);
WEFT_API WEFT_CHECK_RET int weft_post_srq_recv(struct weft_srq *srq, const struct weft_recv_wr *wr,
					       const struct weft_recv_wr **bad_wr);

/* --------------------------------------------------------- asynchronous events */

enum weft_event_type {
	WEFT_EVENT_NONE = 0,
	WEFT_EVENT_CQ_ERR = 2,   /* cq: overrun */
	WEFT_EVENT_QP_FATAL = 3, /* qp is set, also in the next four */
	WEFT_EVENT_QP_REQ_ERR = 4,
	WEFT_EVENT_QP_ACCESS_ERR = 5,
	WEFT_EVENT_COMM_EST = 6,
	WEFT_EVENT_QP_LAST_WQE = 7,
	WEFT_EVENT_SRQ_LIMIT = 8, /* srq */
	WEFT_EVENT_SRQ_ERR = 9,
	WEFT_EVENT_PORT_ACTIVE = 10,
	WEFT_EVENT_PORT_ERR = 11,
	WEFT_EVENT_DEVICE_FATAL = 12, /* weftd ended; the last event of a context */
	WEFT_EVENT_PEER_ERROR = 13,   /* qp: a peer refused a datagram that it sent; see peer_* */
	WEFT_EVENT_SQ_DRAINED = 14,   /* qp: drained in SQD; requested with en_sqd_async_notify */
	WEFT_EVENT_GOAL_RUN = 15,     /* a run of a schedule has finished; handled by libgoal */
	WEFT_EVENT_CM = 16,           /* event of the connection manager; handled by librdmacm */
	WEFT_EVENT_TAG_POOL_LOW = 17, /* qp: weft_tag_attr.pool_low_bytes */
};

struct weft_async_event {
	enum weft_event_type type;
	struct weft_qp *qp; /* the object that the type names; the others are NULL */
	struct weft_cq *cq;
	struct weft_srq *srq;
	uint32_t peer_ssn; /* PEER_ERROR: number of the refused message */
	uint32_t peer_ip;  /* network byte order */
	/* Layer and error type of the Terminate message (RFC 5040, 4.8). */
	uint8_t peer_layer_etype;
	uint8_t peer_code;
};

/*
 * Takes the next asynchronous event. Blocks unless async_fd has O_NONBLOCK. Each event must be
 * acknowledged; until then the object in it cannot be destroyed. -EAGAIN (O_NONBLOCK), -EINTR;
 * -EIO: the NIC is gone and WEFT_EVENT_DEVICE_FATAL was delivered.
 */
WEFT_API WEFT_CHECK_RET int weft_get_async_event(struct weft_context *context,
						 struct weft_async_event *event);
WEFT_API void weft_ack_async_event(const struct weft_async_event *event);

/* ----------------------------------------------------------------------- tools */

struct weft_stat {
	char name[40]; /* name as in ethtool -S */
	uint64_t value;
};

/*
 * Returns the counters of one shard from number *cursor (initially 0) on, at most max, and advances
 * *cursor. The result is their number; 0: end of list. -EINVAL: no such shard.
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
	WEFT_LIST_SHARES = 7, /* shares of users and processes in a shard's tables */
	WEFT_LIST_USERS = 8,  /* their shares in the whole weftd; shard 0 */
};

/* docs/host-interface.md, "Lists", describes the fields for each kind. */
struct weft_list_item {
	uint32_t id;
	uint32_t client;
	uint32_t state;
	uint32_t type;
	uint64_t a, b;
	uint8_t mac[6];
	uint16_t forged; /* client: rsocket datagrams it dropped as forged, see weft_cm.h */
	char name[24];
};

/*
 * Lists the objects of all processes on one shard; cursor and result as for weft_stats(). max must
 * be at least WEFT_LIST_MIN. A call may return fewer than max items (by less than WEFT_LIST_MIN)
 * before the end.
 */
#define WEFT_LIST_MIN 6
WEFT_API WEFT_CHECK_RET int weft_list(struct weft_context *context, enum weft_list_kind kind,
				      uint32_t shard, uint32_t *cursor,
				      struct weft_list_item *items, uint32_t max);

/*
 * Starts a capture. *fd becomes a pipe that delivers a pcapng stream of every frame of the NIC
 * until it is closed. -EPERM: not root.
 */
WEFT_API WEFT_CHECK_RET int weft_capture(struct weft_context *context, int *fd);

/* Return a name, never NULL: "SUCCESS", "RETRY_EXC_ERR", etc. May be called from any thread. */
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
