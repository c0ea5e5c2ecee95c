/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client and server of a run meet; see pair.h.
 *
 *	client: {mode, qp, op, size, ..., addr}  ->
 *	                                         <-  server: {addr} or {error}
 *	client: {ready}                          ->
 *	                                         <-  server: {ready}
 *	                      data through the NICs
 *	client: {sent}                           ->
 *	                                         <-  server: its report
 */
#include "tools/weft-bench/pair.h"

#include <string.h>

#include "shared_defs/hw_cm.h"

/* Version of the exchange; a server refuses a client of another one. */
enum {
	PAIR_VERSION = 2
};

static json_t *hello(const struct opts *o, const struct ep *ep)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:o}", "weft_bench",
			 PAIR_VERSION, "mode", bench_mode_str(o->mode), "qp", bench_qp_str(o), "op",
			 bench_op_str(o->op), "mpa", (int)o->mpa, "size", (json_int_t)o->size,
			 "window", (json_int_t)o->window, "warmup", (json_int_t)o->warmup, "addr",
			 ep_addr_json(&ep->local));
}

/* Copies the client's options into o. */
static int take_hello(struct opts *o, const json_t *msg)
{
	const char *mode = json_string_value(json_object_get(msg, "mode"));
	const char *qp = json_string_value(json_object_get(msg, "qp"));
	const char *op = json_string_value(json_object_get(msg, "op"));
	uint64_t version, size, window, mpa;

	if (oob_number(msg, "weft_bench", 1000, &version))
		return -1;
	if (version != PAIR_VERSION)
		return fail("the client is of another version of weft-bench");
	if (!mode || bench_mode_parse(mode) != (int)o->mode)
		return fail("the client runs '%s', this server '%s'", mode ? mode : "?",
			    bench_mode_str(o->mode));
	if (!qp || !bench_qp_set(o, qp) || !op || bench_op_parse(op) < 0)
		return fail("the client's transport or operation is not known here");
	if (oob_number(msg, "size", 1u << 30, &size) ||
	    oob_number(msg, "window", BENCH_MAX_WINDOW, &window) ||
	    oob_number(msg, "mpa", HW_MPA_ALL, &mpa) ||
	    oob_number(msg, "warmup", 1000000, &o->warmup))
		return -1;
	if (!size || !window || size * window > 2ull << 30)
		return fail("the client's size or window cannot be served");
	o->op = (enum bench_op)bench_op_parse(op);
	o->mpa = (uint16_t)mpa;
	o->size = (uint32_t)size;
	o->window = (uint32_t)window;
	if (o->sge > o->size)
		o->sge = 1;
	return 0;
}

static int open_server(struct pair *p)
{
	struct ep_addr remote;
	json_t *msg;
	int rc;

	/* The client says later what it needs of the NIC; its existence is checked now. */
	if (end_probe(p->o->device) || oob_open(p->o, &p->oob) || oob_recv(&p->oob, &msg))
		return -1;
	rc = take_hello(p->o, msg);
	if (!rc)
		rc = ep_addr_parse(json_object_get(msg, "addr"), &remote);
	json_decref(msg);
	if (!rc)
		rc = ep_open(&p->a, p->o, p->o->device);
	/* Over TCP the client connects when it has the address. */
	if (!rc && !ep_is_tcp(p->o))
		rc = ep_answer(&p->a, &remote);
	if (rc) {
		(void)oob_send(&p->oob, json_pack("{s:s}", "error", "see its messages"));
		return -1;
	}
	rc = oob_send(&p->oob, json_pack("{s:o}", "addr", ep_addr_json(&p->a.local)));
	return !rc && ep_is_tcp(p->o) ? ep_answer(&p->a, &remote) : rc;
}

static int open_client(struct pair *p)
{
	struct ep_addr remote;
	json_t *msg;
	int rc;

	if (ep_open(&p->a, p->o, p->o->device) || oob_open(p->o, &p->oob) ||
	    oob_send(&p->oob, hello(p->o, &p->a)) || oob_recv(&p->oob, &msg))
		return -1;
	if (json_object_get(msg, "error"))
		rc = fail("the server refused: %s",
			  json_string_value(json_object_get(msg, "error")));
	else
		rc = ep_addr_parse(json_object_get(msg, "addr"), &remote);
	json_decref(msg);
	return rc || ep_connect(&p->a, &remote) || ep_established(&p->a) ? -1 : 0;
}

int pair_open(struct pair *p, struct opts *o)
{
	memset(p, 0, sizeof(*p));
	p->o = o;
	p->oob.fd = -1;
	if (!o->loop)
		return o->server ? open_server(p) : open_client(p);
	if (ep_open(&p->a, o, o->device) ||
	    ep_open(&p->b, o, o->device2 ? o->device2 : o->device) ||
	    ep_connect(&p->a, &p->b.local) || ep_answer(&p->b, &p->a.local) ||
	    ep_established(&p->a))
		return -1;
	return 0;
}

void pair_close(struct pair *p)
{
	ep_close(&p->a);
	ep_close(&p->b);
	oob_close(&p->oob);
}

int pair_sync(struct pair *p)
{
	json_t *msg;

	if (p->oob.fd < 0)
		return 0;
	if (oob_send(&p->oob, json_pack("{s:b}", "ready", 1)) || oob_recv(&p->oob, &msg))
		return -1;
	json_decref(msg);
	return 0;
}

int pair_finish(struct pair *p, uint64_t sent, json_t **account)
{
	if (oob_send(&p->oob, json_pack("{s:I}", "sent", (json_int_t)sent)))
		return -1;
	return oob_recv(&p->oob, account);
}

int pair_sent(struct pair *p, uint64_t *sent)
{
	json_t *msg;
	int rc;

	if (oob_recv(&p->oob, &msg))
		return -1;
	rc = oob_number(msg, "sent", INT64_MAX, sent);
	json_decref(msg);
	return rc;
}
