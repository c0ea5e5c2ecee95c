/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exporter: metrics over HTTP, by libmicrohttpd, until SIGINT or SIGTERM.
 *
 * One thread serves all connections, so weftd is asked by one scrape at a time. Calls
 * metrics_collect().
 */
#include "tools/weftctl/metrics.h"

#include <microhttpd.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONNECTIONS_MAX = 16,
	CONNECTION_SECONDS = 10,
};

static const char page[] =
    "<html><head><title>weft</title></head><body><a href=\"/metrics\">metrics</a></body></html>\n";

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int code,
			      const char *type, const char *text, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response =
	    MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, mode);
	enum MHD_Result result;

	if (!response) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free((void *)(uintptr_t)text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result serve(void *arg, struct MHD_Connection *connection, const char *url,
			     const char *method, const char *version, const char *data,
			     size_t *data_bytes, void **state)
{
	const char *plain = "text/plain; charset=utf-8";
	char *text;
	int rc;

	(void)version;
	(void)data;
	(void)state;
	if (*data_bytes || (strcmp(method, "GET") && strcmp(method, "HEAD")))
		return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, plain,
			      "only GET and HEAD are served\n", MHD_RESPMEM_PERSISTENT);
	if (!strcmp(url, "/"))
		return answer(connection, MHD_HTTP_OK, "text/html; charset=utf-8", page,
			      MHD_RESPMEM_PERSISTENT);
	if (strcmp(url, "/metrics"))
		return answer(connection, MHD_HTTP_NOT_FOUND, plain,
			      "no such page; the metrics are at /metrics\n",
			      MHD_RESPMEM_PERSISTENT);
	text = metrics_collect(arg, &rc);
	if (!text)
		return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, plain, "out of memory\n",
			      MHD_RESPMEM_PERSISTENT);
	return answer(connection, MHD_HTTP_OK,
		      "application/openmetrics-text; version=1.0.0; charset=utf-8", text,
		      MHD_RESPMEM_MUST_FREE);
}

/* "127.0.0.1:9947", "[::1]:9947" or ":9947" for every address. NULL: it is none of them. */
static struct addrinfo *parse(const char *text)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				       .ai_socktype = SOCK_STREAM};
	const char *colon = strrchr(text, ':');
	struct addrinfo *found = NULL;
	char host[64];
	size_t chars;

	if (!colon || (size_t)(colon - text) >= sizeof(host))
		return NULL;
	chars = (size_t)(colon - text);
	memcpy(host, text, chars);
	host[chars] = '\0';
	if (host[0] == '[' && host[chars - 1] == ']') {
		memmove(host, host + 1, chars - 2);
		host[chars - 2] = '\0';
	}
	return getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, &found) ? NULL : found;
}

int metrics_serve(const struct ctl *ctl)
{
	struct addrinfo *address = parse(ctl->listen);
	struct MHD_Daemon *daemon;
	unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO;
	sigset_t ends;
	int number;

	if (!address)
		return fail("--listen %s: give a numeric address and a port, as 127.0.0.1:9947",
			    ctl->listen);
	if (address->ai_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	/* The library's thread inherits the mask: both signals end the program here. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	daemon =
	    MHD_start_daemon(flags, 0, NULL, NULL, serve, (void *)(uintptr_t)ctl,
			     MHD_OPTION_SOCK_ADDR, address->ai_addr, MHD_OPTION_CONNECTION_LIMIT,
			     CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS,
			     MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_END);
	freeaddrinfo(address);
	if (!daemon)
		return fail("cannot listen at %s: the port is in use, or the address is not this "
			    "machine's",
			    ctl->listen);
	fprintf(stderr, "weftctl: metrics at http://%s/metrics\n", ctl->listen);
	while (sigwait(&ends, &number))
		;
	MHD_stop_daemon(daemon);
	return CTL_OK;
}
