/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of the provider: events, completions, counters, and what waits for them.
 */
#ifndef WEFT_WF_QUEUE_H
#define WEFT_WF_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

struct weft_comp_channel;
struct weft_cq;
struct weft_wc;
struct wf_domain;
struct wf_fabric;

/* ------------------------------------------------------------------------- wf_eq.c */

struct wf_eq;

int wf_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
	       void *context);
/* Adds an event; err not 0: an error event. 0 or a negative errno. */
int wf_eq_add(struct wf_eq *eq, uint32_t event, fid_t fid, void *context, uint64_t data, int err);
void wf_eq_ref(struct wf_eq *eq, int change);
struct wf_eq *wf_eq_of(struct fid *fid);
bool wf_eq_ready(struct wf_eq *eq);
struct wf_fabric *wf_eq_fabric(struct wf_eq *eq);

/* ------------------------------------------------------------------------- wf_cq.c */

/* A completion that waits for fi_cq_read(). */
struct wf_entry {
	struct fi_cq_tagged_entry e;
	fi_addr_t source;
	size_t olen;
	int err; /* 0: a success; FI_* */
	int prov_errno;
};

struct wf_cq {
	struct fid_cq fid; /* unused in a queue that serves counters alone */
	struct wf_domain *domain;
	struct weft_comp_channel *channel;
	struct weft_cq *cq;
	pthread_mutex_t lock; /* polling, the entries, the size */
	atomic_int room;      /* completions that may still be asked for */
	uint32_t entries;     /* of the NIC's queue */
	enum fi_cq_format format;
	enum fi_wait_obj wait_obj;
	struct wf_entry *queue; /* a ring */
	size_t queue_size, queue_head;
	atomic_size_t queue_count;
	atomic_int refs;
	bool counts_only;     /* no application reads it */
	bool gone;            /* the NIC is */
	atomic_bool sleeps;   /* a thread has slept for it; collectives raise events from then on */
	atomic_bool signaled; /* fi_cq_signal() was called */
	int signal_fd;        /* eventfd: signaled, or wf_cq_push() */
	int fd; /* epoll of signal_fd, the channel, events of groups; -1: no wait object */
	struct fid_wait *wait_set;
};

int wf_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
	       void *context);
/* Makes the NIC's queue and the lock of a zeroed object. 0 or a negative errno. */
int wf_cq_init(struct wf_cq *cq, struct wf_domain *domain, uint32_t entries);
void wf_cq_fini(struct wf_cq *cq);
/* Takes completions from the NIC into the queue of entries, and counts them. */
void wf_cq_take(struct wf_cq *cq);
/* Likewise, and looks at collectives. */
void wf_cq_progress(struct wf_cq *cq);
/*
 * Reserves a place for a completion; false: none is free, and the queue cannot grow. Every
 * completion that the NIC delivers gives one back.
 */
bool wf_cq_reserve(struct wf_cq *cq);
void wf_cq_unreserve(struct wf_cq *cq);
/* Makes the queue as large as it can be, for completions without a reservation. */
void wf_cq_grow_max(struct wf_cq *cq);
enum {
	WF_LOOK = 1,    /* wait for fd, but read again after WF_LOOK_MS */
	WF_LOOK_MS = 1, /* interval at which joins go on */
};
/* Arms events. 0: nothing is there, wait for fd; WF_LOOK; -FI_EAGAIN: read first. */
int wf_cq_arm(struct wf_cq *cq);
/* Wakes threads that wait for the queue. */
void wf_cq_wake(const struct wf_cq *cq);
/* Adds an entry that does not come from the NIC's queue. */
void wf_cq_push(struct wf_cq *cq, const struct wf_entry *entry);
/* True if fi_cq_read() would return something. */
bool wf_cq_ready(struct wf_cq *cq);
/* The FI_* error of a failed completion. */
int wf_cq_errno(const struct weft_wc *wc);

/* ----------------------------------------------------------------------- wf_cntr.c */

struct wf_cntr_cq {
	struct wf_cq *cq;
	size_t refs; /* endpoints that complete there */
};

struct wf_cntr {
	struct fid_cntr fid;
	struct wf_domain *domain;
	_Atomic uint64_t value, errors;
	atomic_int refs;
	enum fi_wait_obj wait_obj;
	pthread_mutex_t lock;
	struct wf_cntr_cq *cqs; /* whose completions count here */
	size_t num_cqs;
	uint64_t polled; /* sum of value and errors that fi_poll() has reported */
	uint64_t armed;  /* the same of fi_trywait() */
	int signal_fd;   /* eventfd of fi_cntr_add() and _set(), and of collectives */
	/* Epoll of the queues' channels, signal_fd, events of groups; -1: no wait object. */
	int fd;
	struct fid_wait *wait_set;
};

int wf_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		 void *context);
/* Makes completions of a queue drive the counter, until as many calls of _remove_cq. */
int wf_cntr_add_cq(struct wf_cntr *cntr, struct wf_cq *cq);
void wf_cntr_remove_cq(struct wf_cntr *cntr, struct wf_cq *cq);
static inline void wf_cntr_count(struct wf_cntr *cntr, bool ok)
{
	if (cntr)
		atomic_fetch_add_explicit(ok ? &cntr->value : &cntr->errors, 1,
					  memory_order_release);
}
void wf_cntr_progress(struct wf_cntr *cntr);
/* Sum of the value and the errors: changes with each event. */
uint64_t wf_cntr_sum(const struct wf_cntr *cntr);
/* As wf_cq_arm(). */
int wf_cntr_arm(struct wf_cntr *cntr);
/* Wakes threads that wait for the counter. 0 or a negative errno. */
int wf_cntr_wake(struct wf_cntr *cntr);

/* ----------------------------------------------------------------------- wf_wait.c */

int wf_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **waitset);
int wf_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **pollset);
int wf_trywait(struct fid_fabric *fabric, struct fid **fids, int count);
/* Adds an object with a descriptor to a wait set, or takes it out. */
int wf_wait_add(struct fid_wait *waitset, struct fid *fid, int fd);
void wf_wait_remove(struct fid_wait *waitset, struct fid *fid, int fd);

#endif /* WEFT_WF_QUEUE_H */
