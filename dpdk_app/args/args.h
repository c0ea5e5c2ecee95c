/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration of one weftd, from its command line and configuration files.
 *
 * main.c parses it first. Calls only libc; opens nothing but --config files.
 */
#ifndef WEFT_APP_ARGS_H
#define WEFT_APP_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/coalesce_words.h"
#include "lib/fault_words.h"
#include "shared_defs/hw_share.h"

enum {
	CONF_MAX_NICS = 32, /* nic_index has 5 bits */
	CONF_MAX_CORES = 64,
	CONF_MAX_SHARDS = 8, /* per NIC: 3 bits */
	CONF_DEVICE_CHARS = 160,
	CONF_PATH_CHARS = 80, /* must fit a UNIX socket's address with "/<nic>" appended */
	CONF_NAME_CHARS = 12, /* base name; must fit fw_config.name with a number appended */
	CONF_ERROR_CHARS = 256,
	CONF_MAX_ESP_BURST = 63, /* limit of the firmware */
	CONF_MAX_COALESCE = 64,
	CONF_MAX_FAULTS = 64,
	CONF_NIC_CHARS = CONF_NAME_CHARS + 3, /* a NIC's name: a number of at most three digits */
	CONF_USER_CHARS = 33,                 /* limit of login(1) */
};

enum conf_wire {
	CONF_WIRE_SWITCH, /* the built-in switch */
	CONF_WIRE_NETDEV, /* an interface of the kernel: AF_XDP or AF_PACKET */
	CONF_WIRE_MEMIF,
	CONF_WIRE_PCI,
	CONF_WIRE_TAP,
	CONF_WIRE_NONE, /* the NIC of this number was removed while weftd ran */
};

/* Role of a CPU. */
enum conf_role {
	CONF_ROLE_IO,   /* polls ports, runs shards for verbs */
	CONF_ROLE_COLL, /* runs shards for collectives */
	CONF_ROLE_CTL,  /* runs the control threads */
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
	uint32_t memif_user; /* user allowed at the other end, besides root and weftd's own user */
	char memif_secret[25]; /* "": none */
	uint8_t ip_prefix;     /* bits */
	uint32_t ip;           /* network byte order */
	uint32_t gateway;      /* network byte order; 0: none */
	uint32_t mtu;          /* set while weftd runs; 0: conf.mtu */
	uint16_t vlan;         /* of a card; 0: none */
	bool no_tso;           /* a card is given single frames alone */
};

/* A file that a NIC's frames are captured into. */
struct conf_capture {
	char nic[CONF_NIC_CHARS];
	char file[CONF_DEVICE_CHARS];
	uint64_t limit_bytes; /* of the file */
};

enum conf_share {
	CONF_SHARE_AUTO, /* determined at run time */
	CONF_SHARE_YES,  /* clients run on our cores: yield at once */
	CONF_SHARE_NO,   /* dedicated cores: spin */
};

enum conf_netdev {
	CONF_NETDEV_AUTO,    /* AF_XDP if it works, otherwise AF_PACKET */
	CONF_NETDEV_XDP,     /* AF_XDP or fail */
	CONF_NETDEV_NATIVE,  /* AF_XDP with XDP in the driver, or fail */
	CONF_NETDEV_GENERIC, /* AF_XDP with generic XDP, or fail */
	CONF_NETDEV_PACKET,
};

struct conf {
	struct conf_nic nic[CONF_MAX_NICS];
	uint32_t num_nics;
	uint32_t num_switch_nics;
	uint32_t spare_nics;   /* that may be added while weftd runs */
	bool keep_port_rights; /* to open further interfaces */
	uint32_t subnet;       /* network byte order, of the switch's NICs */
	uint8_t subnet_prefix;
	uint32_t mtu;          /* bytes of the largest IPv4 packet; 0: the wire's */
	struct hw_fault fault; /* of each NIC of the switch */
	/* Faults of NICs; later entries replace earlier ones. */
	struct fault_line faults[CONF_MAX_FAULTS];
	uint32_t num_faults;
	struct conf_capture captures[CONF_MAX_NICS]; /* one of a NIC; in force: those that began */
	uint32_t num_captures;
	bool switch_crc; /* compute and check CRC32Cs also where frames stay in memory */
	struct conf_core core[CONF_MAX_CORES]; /* one per thread; at least one has role io */
	uint32_t num_cores;                    /* 0: automatic */
	enum conf_share share;
	enum conf_netdev netdev;
	uint64_t idle_ns;             /* idle time before sleeping; 0: automatic */
	struct hw_share_limits quota; /* 0: the default, user.h */
	bool no_cc;
	bool no_bundle;
	uint8_t esp_burst, esp_initial_burst; /* packets; 0: the firmware's defaults */
	uint16_t mpa;                         /* HW_MPA_*; 0: HW_MPA_DEFAULT */
	/* Initial interrupt moderation; later entries override earlier ones. */
	struct coalesce_line coalesce[CONF_MAX_COALESCE];
	uint32_t num_coalesce;
	bool list_ports;     /* print them and end */
	bool check;          /* look whether it would start, and end */
	bool json;           /* what check prints */
	bool no_unmapped;    /* reject registration of unmapped memory */
	bool stages;         /* count cycles per stage */
	bool port_echo;      /* the port answers EDP echoes to WIRE_EDP_PORT_ECHO */
	uint32_t log_level;  /* enum log_level; verbose: the highest */
	uint32_t log_format; /* enum log_format */
	bool verbose;
	bool no_seccomp;             /* system calls are not filtered */
	bool no_native_ops;          /* users' operations are interpreted */
	char user[CONF_USER_CHARS];  /* user to run as; "": weft if started by root and it exists */
	char log[CONF_DEVICE_CHARS]; /* log file; "": standard error */
	char run_dir[CONF_PATH_CHARS];
	char name[CONF_NAME_CHARS];
};

enum args_result {
	ARGS_RUN,   /* the configuration is complete */
	ARGS_DONE,  /* --help or --version was printed */
	ARGS_WRONG, /* error holds one line: what is wrong and how to fix it */
};

/* Fills *conf. error has room for CONF_ERROR_CHARS. Not thread-safe (getopt). */
enum args_result args_parse(int argc, char **argv, struct conf *conf, char *error)
    __attribute__((warn_unused_result));

/*
 * Applies one line of a configuration file, no --port or --ip, to a complete configuration. False:
 * error has the reason. Not thread-safe.
 */
bool args_line(const char *line, struct conf *conf, char *error)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_ARGS_H */
