/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --port NETDEV, memif:PATH, pci:ADDR or tap:NAME. See args_port.h.
 *
 * Calls args_memif.c, args_value.c and pci_card.c.
 */
#include "dpdk_app/args/args_port.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dpdk_app/args/args_memif.h"
#include "dpdk_app/args/args_value.h"
#include "dpdk_app/wire/pci_card.h"

__attribute__((format(printf, 2, 3))) static bool port_wrong(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(error, CONF_ERROR_CHARS, format, list);
	va_end(list);
	return false;
}

/* Determines the kind from the text before the colon. */
static bool port_kind(struct conf_nic *nic, const char **device, char *error)
{
	static const struct {
		const char *prefix;
		enum conf_wire wire;
	} kinds[] = {
	    {"memif:", CONF_WIRE_MEMIF},
	    {"pci:", CONF_WIRE_PCI},
	    {"tap:", CONF_WIRE_TAP},
	};

	nic->wire = CONF_WIRE_NETDEV;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t chars = strlen(kinds[i].prefix);

		if (strncmp(*device, kinds[i].prefix, chars))
			continue;
		nic->wire = kinds[i].wire;
		*device += chars;
		return true;
	}
	/* A full PCI address contains colons; an interface name does not. */
	if (strchr(*device, ':'))
		return port_wrong(
		    error,
		    "--port %s: unknown kind; use NETDEV, memif:PATH[,server], pci:ADDR "
		    "or tap:NAME",
		    *device);
	return true;
}

enum {
	PORT_VLAN_MAX = 4094,
	PORT_WORD_CHARS = 16,
};

/* Parses a word of a card; none may come twice. */
static bool port_card_word(const char *word, struct conf_nic *nic)
{
	static const char vlan_is[] = "vlan=";
	uint64_t vlan;

	if (!strcmp(word, "tso=off") && !nic->no_tso) {
		nic->no_tso = true;
		return true;
	}
	if (nic->vlan || strncmp(word, vlan_is, sizeof(vlan_is) - 1) != 0 ||
	    !value_u64(word + sizeof(vlan_is) - 1, 1, PORT_VLAN_MAX, &vlan))
		return false;
	nic->vlan = (uint16_t)vlan;
	return true;
}

/* Parses what follows the address of a card: words, each behind a comma. */
static bool port_card_words(const char *words, struct conf_nic *nic)
{
	char word[PORT_WORD_CHARS];

	while (*words) {
		size_t chars = strcspn(++words, ",");

		snprintf(word, sizeof(word), "%.*s", (int)chars, words);
		if (chars >= sizeof(word) || !port_card_word(word, nic))
			return false;
		words += chars;
	}
	return true;
}

/* Stores the address of a card as DPDK writes it. */
static bool port_card(const struct conf *conf, const char *text, struct conf_nic *nic,
		      const char *device, char *error)
{
	char address[PCI_CARD_ADDRESS_CHARS], given[PCI_CARD_ADDRESS_CHARS];
	size_t chars = strcspn(device, ",");

	snprintf(given, sizeof(given), "%.*s", (int)chars, device);
	if (chars >= sizeof(given) || !pci_card_address(given, address))
		return port_wrong(
		    error,
		    "--port %s: no address of a card, such as pci:0000:3b:00.1; weftd "
		    "--list-ports shows those there are",
		    text);
	if (!port_card_words(device + chars, nic))
		return port_wrong(error,
				  "--port %s: behind its address a card takes vlan=N, 1 to %d, "
				  "and tso=off",
				  text, PORT_VLAN_MAX);
	for (uint32_t i = 0; i < conf->num_nics; i++) {
		if (conf->nic[i].wire == CONF_WIRE_PCI && !strcmp(conf->nic[i].device, address))
			return port_wrong(error, "--port %s: that card has a NIC already", text);
	}
	memcpy(nic->device, address, sizeof(address));
	return true;
}

bool port_parse(const struct conf *conf, const char *text, struct conf_nic *nic, char *error)
{
	const char *device = text;
	size_t chars;

	memset(nic, 0, sizeof(*nic));
	if (!port_kind(nic, &device, error))
		return false;
	if (nic->wire == CONF_WIRE_PCI)
		return port_card(conf, text, nic, device, error);
	chars = strlen(device);
	if (nic->wire == CONF_WIRE_MEMIF) {
		const char *bad = memif_port_parse(device, nic, &chars);

		if (bad)
			return port_wrong(error, "--port %s: %s", text, bad);
	}
	/* DPDK would parse a comma as the start of another device argument. */
	if (!chars || chars >= sizeof(nic->device) || memchr(device, ',', chars))
		return port_wrong(error,
				  "--port %s: no device named; use NETDEV, memif:PATH[,server], "
				  "pci:ADDR or tap:NAME",
				  text);
	if ((nic->wire == CONF_WIRE_NETDEV || nic->wire == CONF_WIRE_TAP) && chars > 15)
		return port_wrong(
		    error, "--port %s: names of interfaces have at most 15 characters", text);
	memcpy(nic->device, device, chars);
	return true;
}
