/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coalescing of a Linux interface over netlink; see eth_coal.h. Calls libmnl.
 */
#include "tools/weft-measure/eth_coal.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/coalesce_words.h"

/* Netlink's number of each parameter of ours. */
static const uint16_t attr_of[HW_COALESCE_NUM_PARAMS] = {
    [HW_COALESCE_rx_usecs] = ETHTOOL_A_COALESCE_RX_USECS,
    [HW_COALESCE_rx_frames] = ETHTOOL_A_COALESCE_RX_MAX_FRAMES,
    [HW_COALESCE_tx_usecs] = ETHTOOL_A_COALESCE_TX_USECS,
    [HW_COALESCE_tx_frames] = ETHTOOL_A_COALESCE_TX_MAX_FRAMES,
    [HW_COALESCE_rx_usecs_irq] = ETHTOOL_A_COALESCE_RX_USECS_IRQ,
    [HW_COALESCE_rx_frames_irq] = ETHTOOL_A_COALESCE_RX_MAX_FRAMES_IRQ,
    [HW_COALESCE_tx_usecs_irq] = ETHTOOL_A_COALESCE_TX_USECS_IRQ,
    [HW_COALESCE_tx_frames_irq] = ETHTOOL_A_COALESCE_TX_MAX_FRAMES_IRQ,
};

/* An exchange with the kernel. */
struct talk {
	struct mnl_socket *socket;
	uint32_t seq;
	uint16_t family;
	struct eth_coal *coal; /* where an answer goes; NULL */
	char said[160];        /* by the kernel, about an error; "" */
	char buf[ETH_COAL_MSG_BYTES];
};

static int wrong(char *error, int rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int wrong(char *error, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, ETH_COAL_ERROR_CHARS, format, args);
	va_end(args);
	return rc;
}

static struct nlmsghdr *begin(void *buf, uint16_t type, uint32_t seq, uint8_t cmd)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(msg, sizeof(*genl));

	msg->nlmsg_type = type;
	msg->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	msg->nlmsg_seq = seq;
	genl->cmd = cmd;
	genl->version = 1;
	return msg;
}

struct nlmsghdr *eth_coal_build(void *buf, uint16_t family, uint32_t seq, const char *name,
				const struct eth_coal *set)
{
	struct nlmsghdr *msg =
	    begin(buf, family, seq, set ? ETHTOOL_MSG_COALESCE_SET : ETHTOOL_MSG_COALESCE_GET);
	struct nlattr *header = mnl_attr_nest_start(msg, ETHTOOL_A_COALESCE_HEADER);
	uint32_t i;

	mnl_attr_put_strz(msg, ETHTOOL_A_HEADER_DEV_NAME, name);
	mnl_attr_nest_end(msg, header);
	for (i = 0; set && i < HW_COALESCE_NUM_PARAMS; i++) {
		if (set->there >> i & 1)
			mnl_attr_put_u32(msg, attr_of[i], set->value[i]);
	}
	if (set && set->there & ETH_COAL_ADAPTIVE_RX)
		mnl_attr_put_u8(msg, ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, set->adaptive_rx);
	if (set && set->there & ETH_COAL_ADAPTIVE_TX)
		mnl_attr_put_u8(msg, ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, set->adaptive_tx);
	return msg;
}

static int parse_attr(const struct nlattr *attr, void *data)
{
	struct eth_coal *coal = data;
	uint16_t type = mnl_attr_get_type(attr);
	bool adaptive_rx = type == ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX;
	uint32_t i;

	if (adaptive_rx || type == ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX) {
		if (mnl_attr_validate(attr, MNL_TYPE_U8) < 0)
			return MNL_CB_ERROR;
		*(adaptive_rx ? &coal->adaptive_rx : &coal->adaptive_tx) = mnl_attr_get_u8(attr);
		coal->there |= adaptive_rx ? ETH_COAL_ADAPTIVE_RX : ETH_COAL_ADAPTIVE_TX;
	}
	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		if (type != attr_of[i])
			continue;
		if (mnl_attr_validate(attr, MNL_TYPE_U32) < 0)
			return MNL_CB_ERROR;
		coal->value[i] = mnl_attr_get_u32(attr);
		coal->there |= UINT32_C(1) << i;
	}
	return MNL_CB_OK;
}

int eth_coal_parse(const struct nlmsghdr *msg, struct eth_coal *coal)
{
	memset(coal, 0, sizeof(*coal));
	if (mnl_attr_parse(msg, sizeof(struct genlmsghdr), parse_attr, coal) < 0)
		return -EBADMSG;
	return 0;
}

/* ---- the exchange ---------------------------------------------------------------------------- */

static int family_attr(const struct nlattr *attr, void *data)
{
	struct talk *t = data;

	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
	    mnl_attr_validate(attr, MNL_TYPE_U16) >= 0)
		t->family = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static int on_message(const struct nlmsghdr *msg, void *data)
{
	struct talk *t = data;

	if (msg->nlmsg_type == GENL_ID_CTRL)
		return mnl_attr_parse(msg, sizeof(struct genlmsghdr), family_attr, t);
	if (t->coal && eth_coal_parse(msg, t->coal)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	return MNL_CB_OK;
}

static int said_attr(const struct nlattr *attr, void *data)
{
	struct talk *t = data;

	if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
	    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
		snprintf(t->said, sizeof(t->said), ": %s", mnl_attr_get_str(attr));
	return MNL_CB_OK;
}

/* An answer that says how it went, and maybe in words. */
static int on_error(const struct nlmsghdr *msg, void *data)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(msg);
	struct talk *t = data;

	if (mnl_nlmsg_get_payload_len(msg) < sizeof(*err)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	if (!err->error)
		return MNL_CB_STOP;
	if (msg->nlmsg_flags & NLM_F_ACK_TLVS && msg->nlmsg_flags & NLM_F_CAPPED)
		(void)mnl_attr_parse(msg, sizeof(*err), said_attr, t);
	errno = -err->error;
	return MNL_CB_ERROR;
}

static int exchange(struct talk *t, const struct nlmsghdr *msg)
{
	static mnl_cb_t control[NLMSG_ERROR + 1] = {[NLMSG_ERROR] = on_error};
	uint32_t port = mnl_socket_get_portid(t->socket), seq = msg->nlmsg_seq;
	ssize_t n;
	int rc = MNL_CB_OK;

	if (mnl_socket_sendto(t->socket, msg, msg->nlmsg_len) < 0)
		return -errno;
	while (rc > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(t->socket, t->buf, sizeof(t->buf));
		if (n < 0)
			return -errno;
		rc = mnl_cb_run2(t->buf, (size_t)n, seq, port, on_message, t, control,
				 sizeof(control) / sizeof(control[0]));
	}
	return rc < 0 ? -errno : 0;
}

static void hang_up(struct talk *t)
{
	if (t->socket)
		mnl_socket_close(t->socket);
	t->socket = NULL;
}

/* Opens a socket and asks for the family's number. */
static int call(struct talk *t)
{
	struct nlmsghdr *msg;
	int on = 1, rc;

	memset(t, 0, offsetof(struct talk, buf));
	t->socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!t->socket)
		return -errno;
	/* Where the kernel is too old for it errors have no words. */
	(void)mnl_socket_setsockopt(t->socket, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)mnl_socket_setsockopt(t->socket, NETLINK_CAP_ACK, &on, sizeof(on));
	rc = mnl_socket_bind(t->socket, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno : 0;
	if (!rc) {
		msg = begin(t->buf, GENL_ID_CTRL, ++t->seq, CTRL_CMD_GETFAMILY);
		mnl_attr_put_strz(msg, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
		rc = exchange(t, msg);
	}
	if (!rc && !t->family)
		rc = -ENOENT;
	if (rc)
		hang_up(t);
	return rc;
}

static int request(const char *name, const struct eth_coal *set, struct eth_coal *got, char *error)
{
	struct talk t;
	int rc = call(&t);

	if (rc)
		return wrong(
		    error, rc,
		    "the kernel lacks ethtool's netlink family (Linux 5.6 or later has it): %s",
		    strerror(-rc));
	t.coal = got;
	rc = exchange(&t, eth_coal_build(t.buf, t.family, ++t.seq, name, set));
	hang_up(&t);
	if (rc == -ENODEV)
		return wrong(error, rc, "there is no interface '%s' (ip link)", name);
	if (rc == -EOPNOTSUPP && !set)
		return wrong(error, rc,
			     "%s: its driver has no interrupt coalescing (ethtool -c %s)", name,
			     name);
	if (rc == -EPERM || rc == -EACCES)
		return wrong(error, rc, "%s: only root may set its coalescing", name);
	return rc ? wrong(error, rc, "%s: coalescing: %s%s", name, strerror(-rc), t.said) : 0;
}

int eth_coal_get(const char *name, struct eth_coal *coal, char *error)
{
	int rc;

	memset(coal, 0, sizeof(*coal));
	rc = request(name, NULL, coal, error);
	if (!rc && !(coal->there & ETH_COAL_PARAMS))
		rc =
		    wrong(error, -EOPNOTSUPP,
			  "%s: its driver has none of the parameters that can be tuned (ethtool -c "
			  "%s)",
			  name, name);
	return rc;
}

int eth_coal_set(const char *name, const struct eth_coal *coal, char *error)
{
	return request(name, coal, NULL, error);
}

/* One parameter alone; what it is afterwards into *got. */
static int try_value(const char *name, uint32_t param, uint32_t value, uint32_t *got, char *error)
{
	struct eth_coal one = {.there = UINT32_C(1) << param}, now;
	int rc;

	one.value[param] = value;
	rc = eth_coal_set(name, &one, error);
	if (!rc)
		rc = eth_coal_get(name, &now, error);
	if (!rc)
		*got = now.value[param];
	return rc;
}

int eth_coal_highest(const char *name, const struct eth_coal *coal,
		     uint32_t highest[HW_COALESCE_NUM_PARAMS], char *error)
{
	struct eth_coal back = *coal;
	uint32_t i, value, got, can = 0;
	int rc = 0;

	memset(highest, 0, sizeof(*highest) * HW_COALESCE_NUM_PARAMS);
	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		if (!(coal->there >> i & 1))
			continue;
		rc = -EINVAL;
		for (value = coalesce_highest(i); value && rc; value /= 2) {
			rc = try_value(name, i, value, &got, error);
			if (rc == -EPERM || rc == -EACCES || rc == -ENODEV)
				return rc;
		}
		if (!rc && got) {
			highest[i] = got < coalesce_highest(i) ? got : coalesce_highest(i);
			can |= UINT32_C(1) << i;
		}
	}
	/* Some report what they do not let be set. */
	back.there = can | (coal->there & ETH_COAL_ADAPTIVE);
	rc = can ? eth_coal_set(name, &back, error) : 0;
	if (rc)
		return rc;
	if (!can)
		return wrong(error, -EOPNOTSUPP,
			     "%s: its driver lets none of its coalescing be set", name);
	return (int)can;
}
