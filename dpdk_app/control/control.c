/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread's loop. It sleeps until an event arrives; a timer runs only while a connection
 * is half open, and for the links of cards.
 *
 * Calls client.c, msg.c, link.c, card.c, memif.c, capture.c and control_signal.c.
 */
#include "dpdk_app/control/control.h"

#include <errno.h>
#include <rte_pause.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dpdk_app/control/capture.h"
#include "dpdk_app/client/client.h"
#include "dpdk_app/control/control_signal.h"
#include "dpdk_app/control/plug.h"
#include "dpdk_app/wire/card.h"
#include "dpdk_app/wire/link.h"
#include "dpdk_app/log.h"
#include "dpdk_app/wire/memif.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/client/populate.h"
#include "dpdk_app/watchdog.h"
#include "dpdk_app/wire/wire.h"
#include "dpdk_app/rings.h"

enum {
	CONTROL_EVENTS = 64,
	CONTROL_LINGER_NS = 10000,
	CONTROL_TICK_MS = 1000, /* interval while a connection has not sent its ATTACH */
};

struct control {
	struct app *app;
	int epoll_fd;
	int signal_fd;
	int link_fd; /* -1: no kernel interface is used */
	bool ending;
	struct control_source signal, wake, link;
	struct control_source listen[CONF_MAX_NICS];
	struct control_source memif[CONF_MAX_NICS];
};

void app_wake_control(struct app *app)
{
	const uint64_t one = 1;

	/* Pairs with control_woken(), which clears the flag before it checks everything. */
	if (atomic_exchange(&app->control_notified, true))
		return;
	if (write(app->control_fd, &one, sizeof(one)) < 0)
		return; /* saturated, so it is readable */
}

int control_init(struct app *app)
{
	int err = control_signal_init();

	if (err)
		return err;
	app->control_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return app->control_fd < 0 ? -errno : 0;
}

static int control_watch(struct control *control, int fd, struct control_source *source,
			 enum control_kind kind, void *object)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = source};

	*source = (struct control_source){kind, object};
	return epoll_ctl(control->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static struct control *control_of; /* while control_run() lasts */

int control_add_nic(struct nic *nic)
{
	struct control *control = control_of;
	int err = control_watch(control, nic->listen_fd, &control->listen[nic->index],
				CONTROL_LISTEN, nic);

	if (err || !nic->wire->ifindex)
		return err;
	if (control->link_fd >= 0) {
		link_request(control->link_fd, nic->app);
		return 0;
	}
	control->link_fd = link_open(nic->app);
	return control->link_fd < 0
		   ? 0
		   : control_watch(control, control->link_fd, &control->link, CONTROL_LINK, NULL);
}

static int control_open(struct control *control, struct app *app)
{
	int err;

	control->app = app;
	control_of = control;
	control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	control->signal_fd = control_signal_open();
	control->link_fd = link_open(app);
	if (control->epoll_fd < 0 || control->signal_fd < 0)
		return -errno;
	err = control_watch(control, control->signal_fd, &control->signal, CONTROL_SIGNAL, NULL);
	if (!err)
		err = control_watch(control, app->control_fd, &control->wake, CONTROL_WAKE, NULL);
	if (!err && control->link_fd >= 0)
		err = control_watch(control, control->link_fd, &control->link, CONTROL_LINK, NULL);
	for (uint32_t i = 0; !err && i < app->num_nics; i++)
		err = control_watch(control, app->nic[i].listen_fd, &control->listen[i],
				    CONTROL_LISTEN, &app->nic[i]);
	for (uint32_t i = 0; !err && i < app->num_nics; i++) {
		struct memif *memif = app->nic[i].wire->memif;

		if (memif)
			err = control_watch(control, memif_fd(memif), &control->memif[i],
					    CONTROL_MEMIF, memif);
	}
	return err;
}

static void control_close(struct control *control)
{
	close(control->epoll_fd);
	close(control->signal_fd);
	if (control->link_fd >= 0)
		close(control->link_fd);
}

/* Handles all messages that cores have returned since the last call. */
static void control_drain(struct app *app)
{
	struct msg *msg;

	while ((msg = rings_take(app->done)) != NULL) {
		atomic_fetch_sub(&app->awaited, 1);
		if (msg->answered)
			msg->answered(msg, msg->arg);
		else if (msg->client)
			client_msg_back(msg);
		else
			msg_free(msg);
	}
	populate_drain();
	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];
		const struct capture *capture = atomic_load(&nic->capture);

		for (uint32_t s = 0; s < nic->num_shards; s++)
			client_drain_unmap(&nic->shard[s]);
		if (capture && capture_finished(capture))
			capture_stop(nic);
		if (nic->wire && nic->wire->memif)
			memif_serve(nic->wire->memif);
	}
}

/* Handles a wake-up by a core or a helper thread. */
static void control_woken(struct app *app)
{
	uint64_t count;

	if (read(app->control_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		log_error("control eventfd: %s", strerror(errno));
	atomic_exchange(&app->control_notified, false);
	control_drain(app);
}

/*
 * A core answers most commands within one or two turns. Polling for that time costs less than
 * sleeping and waking, which needs two thread switches and a system call of the core.
 */
static void control_linger(struct app *app)
{
	uint64_t end_ns;

	if (!atomic_load(&app->awaited))
		return;
	atomic_store(&app->control_looks, true);
	end_ns = app_clock_ns() + CONTROL_LINGER_NS;
	while (!rings_waiting(app->done) && app_clock_ns() < end_ns)
		rte_pause();
	atomic_store(&app->control_looks, false);
	/*
	 * Sequentially consistent, like msg_done()'s fence: one of the two sees the other's store.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (rings_waiting(app->done))
		control_drain(app);
}

static void control_event(struct control *control, const struct epoll_event *ev)
{
	struct control_source *source = ev->data.ptr;

	switch (source->kind) {
	case CONTROL_SIGNAL:
		if (control_signal_take(control->signal_fd, control->app))
			control->ending = true;
		break;
	case CONTROL_WAKE:
		control_woken(control->app);
		link_report(control->app);
		break;
	case CONTROL_LINK:
		link_read(control->link_fd, control->app);
		link_report(control->app);
		break;
	case CONTROL_LISTEN:
		client_accept(source->object, control->epoll_fd);
		break;
	case CONTROL_MEMIF:
		memif_serve(source->object);
		break;
	case CONTROL_SOCKET:
		client_socket_event(source->object, ev->events);
		break;
	case CONTROL_PROCESS:
		client_doom(source->object);
		break;
	}
}

int control_run(struct app *app)
{
	struct control control = {0};
	int err = control_open(&control, app);
	struct watchdog dog;
	bool tick = false;

	watchdog_init(&dog, app, app_clock_ns());
	while (!err && !control.ending) {
		struct epoll_event ev[CONTROL_EVENTS];
		int wait_ms = watchdog_wait_ms(&dog, app_clock_ns());
		int card_ms = card_wait_ms(app, app_clock_ns());
		int n;

		if (card_ms >= 0 && (wait_ms < 0 || wait_ms > card_ms))
			wait_ms = card_ms;
		if (plug_wait_ms(app) >= 0 && (wait_ms < 0 || wait_ms > plug_wait_ms(app)))
			wait_ms = plug_wait_ms(app);
		if (tick && (wait_ms < 0 || wait_ms > CONTROL_TICK_MS))
			wait_ms = CONTROL_TICK_MS;
		n = epoll_wait(control.epoll_fd, ev, CONTROL_EVENTS, wait_ms);

		if (n < 0 && errno != EINTR)
			err = -errno;
		for (int i = 0; i < n; i++)
			control_event(&control, &ev[i]);
		control_linger(app);
		card_serve_all(app, app_clock_ns());
		tick = client_sweep(app_clock_ns());
		client_reap();
		plug_serve(app, app_clock_ns());
		watchdog_look(&dog, app, app_clock_ns());
	}
	if (err)
		log_error("event loop: %s", strerror(-err));
	control_close(&control);
	return err;
}

void control_stop_cores(struct app *app)
{
	for (uint32_t i = 0; i < app->num_nics; i++)
		capture_stop(&app->nic[i]);
	for (uint32_t i = 0; i < app->num_cores; i++) {
		struct core *core = app->core[i];
		struct msg *msg = msg_new(MSG_QUIT, NULL, NULL);

		if (msg)
			msg->core = core;
		/* A full ring drains while the core runs. */
		while (msg && msg_send(msg))
			usleep(100);
	}
}

void control_drop_messages(struct app *app)
{
	struct msg *msg;

	while ((msg = rings_take(app->done)) != NULL)
		msg_free(msg);
	for (uint32_t i = 0; i < app->num_cores; i++) {
		while ((msg = rings_take(app->core[i]->msgs)) != NULL)
			msg_free(msg);
	}
}
