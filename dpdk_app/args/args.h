/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration of one weftd, from its command line and configuration file.
 *
 * Called by main.c before anything else; calls libc only, opens nothing but --config files.
 */
#ifndef WEFT_APP_ARGS_H
#define WEFT_APP_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpdk_app/wire/impair.h"
#include "shared_defs/coalesce_words.h"
#include "shared_defs/hw_share.h"

enum {
	CONF_MAX_NICS = 32, /* nic_index has 5 bits */
	CONF_MAX_CORES = 64,
	CONF_MAX_SHARDS = 8, /* of one NIC: 3 bits */
	CONF_DEVICE_CHARS = 160,
	CONF_PATH_CHARS = 80, /* with "/<nic>" it must fit a UNIX socket's address */
	CONF_NAME_CHARS = 12, /* base name; with a number it must fit fw_config.name */
	CONF_ERROR_CHARS = 256,
	CONF_MAX_ESP_BURST = 63, /* what the firmware takes */
	CONF_MAX_COALESCE = 64,
	CONF_USER_CHARS = 33, /* what login(1) takes */
};

enum conf_wire {
	CONF_WIRE_SWITCH, /* the built-in switch */
	CONF_WIRE_NETDEV, /* an interface of the kernel: AF_XDP or AF_PACKET */
	CONF_WIRE_MEMIF,
	CONF_WIRE_PCI,
	CONF_WIRE_TAP,
};

/* What a CPU is for. */
enum conf_role {
	CONF_ROLE_IO,   /* polls ports, runs the shards of verbs */
	CONF_ROLE_COLL, /* runs the shards of collectives */
	CONF_ROLE_CTL,  /* has the control threads */
	CONF_ROLES
};

struct conf_core {
	int cpu;
	enum conf_role role;
};

struct conf_nic {
	enum conf_wire wire;
	char device[CONF_DEVICE_CHARS]; /* interface, socket path, PCI address, tap name */
	bool memif_server;
	bool memif_user_given;
	uint32_t memif_user;   /* may be at the other end, beside root and weftd's own user */
	char memif_secret[25]; /* "": none */
	uint8_t ip_prefix;     /* bits */
	uint32_t ip;           /* network byte order */
	uint32_t gateway;      /* network byte order; 0: none */
};

enum conf_share {
	CONF_SHARE_AUTO, /* found out while running */
	CONF_SHARE_YES,  /* clients run on our cores: yield at once */
	CONF_SHARE_NO,   /* cores of our own: spin */
};

enum conf_netdev {
	CONF_NETDEV_AUTO,    /* AF_XDP where it works, else AF_PACKET */
	CONF_NETDEV_XDP,     /* AF_XDP or fail */
	CONF_NETDEV_NATIVE,  /* the same, XDP in the driver */
	CONF_NETDEV_GENERIC, /* the same, XDP behind it */
	CONF_NETDEV_PACKET,
};

struct conf {
	struct conf_nic nic[CONF_MAX_NICS];
	uint32_t num_nics;
	uint32_t num_switch_nics;
	uint32_t subnet; /* network byte order, of the switch's NICs */
	uint8_t subnet_prefix;
	uint32_t mtu; /* bytes of the largest IPv4 packet; 0: as the wire has it */
	struct impair_conf impair;
	struct conf_core core[CONF_MAX_CORES]; /* no two alike; one is io */
	uint32_t num_cores;                    /* 0: choose */
	enum conf_share share;
	enum conf_netdev netdev;
	uint64_t idle_ns;             /* idle for so long: sleep; 0: choose */
	struct hw_share_limits quota; /* 0: the default, user.h */
	bool no_cc;
	uint8_t esp_burst, esp_initial_burst; /* packets; 0: the firmware's defaults */
	uint16_t mpa;                         /* HW_MPA_*; 0: HW_MPA_DEFAULT */
	/* Interrupt moderation from the start on, later ones over earlier ones. */
	struct coalesce_line coalesce[CONF_MAX_COALESCE];
	uint32_t num_coalesce;
	bool no_unmapped; /* memory that is not mapped cannot be registered */
	bool stages;      /* count cycles per stage */
	bool port_echo;   /* answer EDP echoes to WIRE_EDP_PORT_ECHO in the port */
	bool verbose;
	bool no_seccomp;             /* system calls are not filtered */
	char user[CONF_USER_CHARS];  /* to run as; "": weft where root started us and it exists */
	char log[CONF_DEVICE_CHARS]; /* file that messages go to; "": standard error */
	char run_dir[CONF_PATH_CHARS];
	char name[CONF_NAME_CHARS];
};

enum args_result {
	ARGS_RUN,   /* the configuration is complete */
	ARGS_DONE,  /* --help or --version was printed */
	ARGS_WRONG, /* error holds one line: what is wrong and how to mend it */
};

/*
 * Fills *conf. error has room for CONF_ERROR_CHARS. Not thread-safe (getopt).
 */
enum args_result args_parse(int argc, char **argv, struct conf *conf, char *error)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_ARGS_H */
