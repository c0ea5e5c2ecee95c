/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event channels: one descriptor for the NICs' event queues and for events made by the library.
 *
 * A channel has a completion channel of libweft on each NIC whose identifiers it serves. Their
 * descriptors and the channel's own eventfd are members of an epoll set. Programs poll the
 * descriptor of that set and set O_NONBLOCK on it. Calls weft_event.c.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host_driver/rdmacm/cm.h"

static int watch(const struct cm_channel *channel, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(channel->pub.fd, EPOLL_CTL_ADD, fd, &event);
}

CM_API struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct cm_channel *channel = calloc(1, sizeof(*channel));
	int err;

	if (!channel) {
		errno = ENOMEM;
		return NULL;
	}
	channel->last = &channel->first;
	channel->local_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	channel->pub.fd = epoll_create1(EPOLL_CLOEXEC);
	if (channel->local_fd >= 0 && channel->pub.fd >= 0 &&
	    watch(channel, channel->local_fd) == 0) {
		pthread_mutex_init(&channel->lock, NULL);
		return &channel->pub;
	}
	err = errno;
	if (channel->local_fd >= 0)
		close(channel->local_fd);
	if (channel->pub.fd >= 0)
		close(channel->pub.fd);
	free(channel);
	errno = err;
	return NULL;
}

void cm_source_unwatch(const struct cm_channel *channel, const struct cm_source *source)
{
	(void)epoll_ctl(channel->pub.fd, EPOLL_CTL_DEL, source->comp->fd, NULL);
}

/* The completion channel is busy while identifiers remain; it is then freed at process exit. */
static void source_free(struct cm_source *source)
{
	if (weft_destroy_comp_channel(source->comp) == 0)
		free(source);
}

/* Remaining identifiers keep their endpoints: the program must destroy them first. */
CM_API void rdma_destroy_event_channel(struct rdma_event_channel *pub)
{
	struct cm_channel *channel = cm_channel_of(pub);
	struct cm_source *source;
	struct cm_event *event;

	while ((source = channel->sources) != NULL) {
		channel->sources = source->next;
		cm_source_unwatch(channel, source);
		source_free(source);
	}
	while ((event = channel->first) != NULL) {
		channel->first = event->next;
		free(event);
	}
	close(channel->local_fd);
	close(channel->pub.fd);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
}

/* Caller holds channel->lock. */
static struct cm_source *source_new(struct cm_channel *channel, struct cm_device *dev)
{
	struct cm_source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	source->dev = dev;
	source->comp = weft_create_comp_channel(dev->weft, 0);
	if (!source->comp) {
		free(source);
		return NULL;
	}
	if (watch(channel, source->comp->fd) < 0) {
		source_free(source);
		return NULL;
	}
	source->next = channel->sources;
	channel->sources = source;
	return source;
}

struct cm_source *cm_source_get(struct cm_channel *channel, struct cm_device *dev)
{
	struct cm_source *source;

	pthread_mutex_lock(&channel->lock);
	source = channel->sources;
	while (source && source->dev != dev)
		source = source->next;
	if (!source)
		source = source_new(channel, dev);
	pthread_mutex_unlock(&channel->lock);
	return source;
}

/* Caller holds channel->lock. */
static void append(struct cm_channel *channel, struct cm_event *event)
{
	const uint64_t one = 1;
	int cancel = weft_cancel_off();
	ssize_t n;

	event->next = NULL;
	*channel->last = event;
	channel->last = &event->next;
	channel->local_told = true;
	do {
		n = write(channel->local_fd, &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
	weft_cancel_restore(cancel);
}

void cm_channel_put(struct cm_channel *channel, struct cm_event *event)
{
	pthread_mutex_lock(&channel->lock);
	append(channel, event);
	pthread_mutex_unlock(&channel->lock);
}

void cm_channel_forget(struct cm_channel *channel, struct cm_id *id, struct cm_channel *to)
{
	struct cm_event *moved = NULL, **tail = &moved, **at, *event;

	pthread_mutex_lock(&channel->lock);
	at = &channel->first;
	while ((event = *at) != NULL) {
		if (event->owner != id) {
			at = &event->next;
			continue;
		}
		*at = event->next;
		event->next = NULL;
		*tail = event;
		tail = &event->next;
	}
	channel->last = at;
	pthread_mutex_unlock(&channel->lock);
	while ((event = moved) != NULL) {
		moved = event->next;
		if (to)
			cm_channel_put(to, event);
		else
			free(event);
	}
}
