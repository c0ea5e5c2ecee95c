/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reassembles datagrams longer than one message of the NIC.
 *
 * Parts of a datagram carry its number and arrive in order. A lost part loses the datagram. The
 * list is short; a new datagram evicts the oldest incomplete one. Called under the lock of the
 * socket.
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/rs_dgram.h"

bool rs_parts_valid(const struct rs_wire_dgram *h, uint32_t message_bytes)
{
	uint32_t part = be16_get(h->part_bytes);

	return message_bytes >= sizeof(*h) && be32_get(h->magic) == RS_WIRE_DGRAM_MAGIC &&
	       part == message_bytes - sizeof(*h) &&
	       (uint32_t)be16_get(h->offset) + part <= be16_get(h->bytes) &&
	       be16_get(h->bytes) <= RS_DGRAM_BYTES_MAX;
}

static bool same(const struct rs_packet *p, const struct rs_wire_dgram *h,
		 const struct sockaddr_in *src)
{
	return p->id == be32_get(h->id) && p->bytes == be16_get(h->bytes) &&
	       p->src.sin_port == src->sin_port && p->src.sin_addr.s_addr == src->sin_addr.s_addr;
}

/* Starts a datagram at the head of the list; evicts the last one when there are too many. */
static struct rs_packet *begin(struct rs_packet **list, const struct rs_wire_dgram *h,
			       const struct sockaddr_in *src)
{
	uint32_t bytes = be16_get(h->bytes);
	struct rs_packet *p = calloc(1, sizeof(*p) + bytes), **at;
	int n = 0;

	if (!p)
		return NULL;
	p->data = (uint8_t *)(p + 1);
	p->src = *src;
	p->id = be32_get(h->id);
	p->bytes = bytes;
	p->next = *list;
	*list = p;
	for (at = list; *at && n < RS_PARTS_MAX; at = &(*at)->next)
		n++;
	free(*at);
	*at = NULL;
	return p;
}

struct rs_packet *rs_parts_add(struct rs_packet **list, const struct rs_wire_dgram *h,
			       const struct sockaddr_in *src, const uint8_t *data)
{
	uint32_t offset = be16_get(h->offset), part = be16_get(h->part_bytes);
	struct rs_packet *p, **at;

	for (at = list; *at && !same(*at, h, src); at = &(*at)->next)
		;
	p = *at;
	if (!p && offset == 0) {
		p = begin(list, h, src);
		at = list;
	}
	/* Parts arrive in order, so a gap means that a part was lost. */
	if (!p || p->have != offset)
		return NULL;
	memcpy(p->data + offset, data, part);
	p->have += part;
	if (p->have < p->bytes)
		return NULL;
	*at = p->next;
	p->next = NULL;
	return p;
}

void rs_parts_free(struct rs_packet **list)
{
	struct rs_packet *next;

	for (struct rs_packet *p = *list; p; p = next) {
		next = p->next;
		free(p);
	}
	*list = NULL;
}
