/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP ports at an address that NIC and kernel share: taken, refused, reserved from the kernel's
 * processes, released; the address becomes the kernel's, and its own again.
 *
 * Runs dpdk_app/wire/tcp_ports.c against the kernel, at an address of the loopback interface that
 * no other program uses.
 */
#include "dpdk_app/wire/tcp_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/ut.h"

static volatile uint8_t map[65536];
static struct tcp_ports *ports;
static uint32_t ip;

static void begin(void)
{
	/* 127/8 is the kernel's as a whole; several of these tests may run at once. */
	ip = htonl(0x7f000000u | ((uint32_t)getpid() & 0xffffff));
	memset((void *)(uintptr_t)map, 0, sizeof(map));
	ports = tcp_ports_new(map);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ports);
}

/* A program of the kernel with a port there; port 0: any. Returns its descriptor, or -errno. */
static int program(uint16_t *port, bool listens)
{
	struct sockaddr_in addr = {
	    .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = ip};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	socklen_t bytes = sizeof(addr);
	const int one = 1;

	CU_ASSERT_FATAL(fd >= 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) || (listens && listen(fd, 1))) {
		err = errno;
		close(fd);
		return -err;
	}
	CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&addr, &bytes), 0);
	*port = ntohs(addr.sin_port);
	return fd;
}

static void expect_all(uint64_t want_taken, uint64_t want_reserved, uint64_t want_lost)
{
	struct tcp_ports_counts counts;

	tcp_ports_count(ports, &counts);
	CU_ASSERT_EQUAL(counts.taken, want_taken);
	CU_ASSERT_EQUAL(counts.reserved, want_reserved);
	CU_ASSERT_EQUAL(counts.lost, want_lost);
}

static void expect_counts(uint64_t want_taken, uint64_t want_reserved)
{
	expect_all(want_taken, want_reserved, 0);
}

static void alone(void)
{
	uint16_t port = 0;
	int fd;

	begin();
	fd = program(&port, true);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, port), 0);
	CU_ASSERT_EQUAL(map[port], 1);
	expect_counts(1, 0);
	tcp_ports_give(ports, port);
	CU_ASSERT_EQUAL(map[port], 0);
	expect_counts(0, 0);
	close(fd);
	tcp_ports_free(ports);
}

static void either_or(void)
{
	uint16_t port = 0;
	int fd;

	begin();
	CU_ASSERT_EQUAL(tcp_ports_share(ports, ip), 0);
	fd = program(&port, true);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, port), -EADDRINUSE);
	CU_ASSERT_EQUAL(map[port], 0);
	expect_counts(0, 0);
	close(fd);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, port), 0);
	expect_counts(1, 1);
	CU_ASSERT_EQUAL(program(&port, true), -EADDRINUSE);
	tcp_ports_give(ports, port);
	expect_counts(0, 0);
	fd = program(&port, true);
	CU_ASSERT(fd >= 0);
	close(fd);
	tcp_ports_free(ports);
}

static void the_first_and_the_last(void)
{
	/* An ordinary user, who runs `make test-unit` too, may not bind ports under 1024. */
	const uint16_t edge[] = {geteuid() == 0 ? 1 : 1024, 65535};

	begin();
	CU_ASSERT_EQUAL(tcp_ports_share(ports, ip), 0);
	for (uint32_t i = 0; i < 2; i++) {
		uint16_t port = edge[i];

		CU_ASSERT_EQUAL(tcp_ports_take(ports, port), 0);
		CU_ASSERT_EQUAL(map[port], 1);
	}
	CU_ASSERT_EQUAL(map[2] + map[65534], 0);
	/* The remaining ports are released at the end. */
	tcp_ports_free(ports);
}

static void the_address_changes(void)
{
	uint16_t free_port = 0, used = 0;
	int fd;

	begin();
	fd = program(&free_port, true);
	close(fd);
	fd = program(&used, true);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, free_port), 0);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, used), 0);
	expect_counts(2, 0);
	/* The program keeps its port: the NIC does not take it over. */
	CU_ASSERT_EQUAL(tcp_ports_share(ports, ip), 1);
	expect_all(2, 1, 1);
	CU_ASSERT(map[free_port] == 1 && map[used] == 0);
	CU_ASSERT_EQUAL(program(&free_port, true), -EADDRINUSE);
	CU_ASSERT_EQUAL(tcp_ports_share(ports, ip), 1);
	expect_all(2, 1, 1);
	CU_ASSERT_EQUAL(tcp_ports_share(ports, 0), 0);
	expect_counts(2, 0);
	CU_ASSERT(map[free_port] == 1 && map[used] == 1);
	CU_ASSERT_EQUAL(tcp_ports_share(ports, ip), 1);
	tcp_ports_give(ports, used);
	expect_counts(1, 1);
	CU_ASSERT_EQUAL(tcp_ports_share(ports, 0), 0);
	close(fd);
	fd = program(&free_port, true);
	CU_ASSERT(fd >= 0);
	close(fd);
	tcp_ports_give(ports, free_port);
	expect_counts(0, 0);
	tcp_ports_free(ports);
}

static struct rlimit limit_before;

static void few_descriptors(rlim_t n)
{
	struct rlimit few;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &limit_before), 0);
	few = limit_before;
	few.rlim_cur = n;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &few), 0);
}

/* Descriptors are shared: beyond its share the NIC gets no more ports. */
static void descriptors(void)
{
	struct tcp_ports_counts counts;
	uint16_t port = 0;

	few_descriptors(64);
	begin();
	CU_ASSERT_EQUAL(tcp_ports_share(ports, ip), 0);
	for (port = 20000; port < 20100 && !tcp_ports_take(ports, port); port++)
		;
	tcp_ports_count(ports, &counts);
	CU_ASSERT(counts.taken > 16 && counts.taken <= 32 && counts.taken == port - 20000u);
	CU_ASSERT_EQUAL(counts.reserved, counts.taken);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, port), -EMFILE);
	CU_ASSERT_EQUAL(map[port], 0);
	tcp_ports_count(ports, &counts);
	CU_ASSERT_EQUAL(counts.refused, 2);
	tcp_ports_give(ports, 20000);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, port), 0);
	tcp_ports_free(ports);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit_before), 0);
}

/* With no descriptor left, a program of the kernel keeps its port, and a free one stays free. */
static void no_descriptor(void)
{
	uint16_t port = 0, free_port = 0;
	int fd;

	begin();
	close(program(&free_port, false));
	fd = program(&port, true);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, 20000), 0);
	few_descriptors(3);
	CU_ASSERT_EQUAL(tcp_ports_share(ports, ip), 1);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, port), -EMFILE);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, free_port), -EMFILE);
	CU_ASSERT_EQUAL(map[port] + map[free_port] + map[20000], 0);
	expect_all(1, 0, 1);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit_before), 0);
	CU_ASSERT_EQUAL(tcp_ports_take(ports, port), -EADDRINUSE);
	CU_ASSERT_EQUAL(tcp_ports_share(ports, ip), 0);
	expect_counts(1, 1);
	close(fd);
	tcp_ports_free(ports);
}

UT_MAIN("dpdk_app/tcp_ports", UT(descriptors), UT(no_descriptor), UT(alone), UT(either_or),
	UT(the_first_and_the_last), UT(the_address_changes))
