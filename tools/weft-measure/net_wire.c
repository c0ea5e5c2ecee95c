/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines between the ends of --netdev, and the interface of an end; see net_wire.h.
 */
#include "tools/weft-measure/net_wire.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "tools/weft-measure/target.h"

void net_line_next(struct net_line *line)
{
	line->chars = 0;
}

int net_line_read(int fd, struct net_line *line)
{
	char c;
	ssize_t n;

	/* Lines are few and short: one character at a time leaves what follows in the socket. */
	while ((n = recv(fd, &c, 1, MSG_DONTWAIT)) == 1) {
		if (c == '\n') {
			line->text[line->chars] = '\0';
			return 1;
		}
		if (line->chars + 1 >= sizeof(line->text) || !c)
			return -EPROTO;
		line->text[line->chars++] = c;
	}
	if (!n)
		return -EPIPE;
	return errno == EAGAIN || errno == EINTR ? 0 : errno == ECONNRESET ? -EPIPE : -errno;
}

int net_say(int fd, const char *format, ...)
{
	char text[NET_LINE_CHARS];
	size_t bytes, at = 0;
	va_list args;
	ssize_t n;

	va_start(args, format);
	vsnprintf(text, sizeof(text) - 1, format, args);
	va_end(args);
	bytes = strlen(text);
	text[bytes++] = '\n';
	while (at < bytes) {
		n = send(fd, text + at, bytes - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return errno == ECONNRESET ? -EPIPE : -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int net_if_open(struct net_if *nif, const char *name, char *error)
{
	int rc;

	memset(nif, 0, sizeof(*nif));
	if (strlen(name) >= sizeof(nif->name))
		return tune_error(error, -ENODEV, "there is no interface '%.20s...' (ip link)",
				  name);
	snprintf(nif->name, sizeof(nif->name), "%s", name);
	rc = eth_coal_get(name, &nif->initial, error);
	if (rc)
		return rc;
	rc = eth_coal_highest(name, &nif->initial, nif->highest, error);
	nif->can = rc < 0 ? 0 : (uint32_t)rc;
	return rc < 0 ? rc : 0;
}

/* Both limits of a class off would be no interrupt at all in ethtool's words. */
static void one_frame(struct eth_coal *coal, enum hw_coalesce_param usecs,
		      enum hw_coalesce_param frames)
{
	if (!coal->value[usecs] && !coal->value[frames])
		coal->value[frames] = 1;
}

int net_if_apply(struct net_if *nif, const struct tune_setting *setting, char *error)
{
	struct eth_coal coal = {.there = nif->can};
	uint32_t i;

	if (!nif->name[0])
		return 0;
	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
		coal.value[i] =
		    setting->param[i] < nif->highest[i] ? setting->param[i] : nif->highest[i];
	one_frame(&coal, HW_COALESCE_rx_usecs, HW_COALESCE_rx_frames);
	one_frame(&coal, HW_COALESCE_tx_usecs, HW_COALESCE_tx_frames);
	/* A driver that stayed adaptive would override the values of a fixed setting. */
	coal.there |= nif->initial.there & ETH_COAL_ADAPTIVE;
	coal.adaptive_rx = coal.adaptive_tx = setting->mode == TUNE_ADAPTIVE;
	nif->changed = true;
	return eth_coal_set(nif->name, &coal, error);
}

int net_if_restore(struct net_if *nif, char *error)
{
	struct eth_coal back = nif->initial;
	int rc;

	if (!nif->changed)
		return 0;
	back.there = nif->can | (back.there & ETH_COAL_ADAPTIVE);
	rc = eth_coal_set(nif->name, &back, error);
	nif->changed = rc != 0;
	return rc;
}
