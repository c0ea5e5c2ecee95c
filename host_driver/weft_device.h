/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft: devices, their limits and ports. A part of weft.h, whose conventions apply.
 *
 * docs/host-interface.md describes the interface between library and NIC.
 */
#ifndef WEFT_WEFT_DEVICE_H
#define WEFT_WEFT_DEVICE_H

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
 * weft_stats, weft_list, weft_capture and weft_change work. errno ETIMEDOUT: weftd did not answer,
 * after 2 s if it is stopped, otherwise after 10 s.
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

#ifdef __cplusplus
}
#endif

#endif /* WEFT_WEFT_DEVICE_H */
