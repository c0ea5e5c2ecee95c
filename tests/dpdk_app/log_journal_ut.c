/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests log_journal.c and log.c above it: the bytes of a record, values that would forge fields,
 * and a journal that is not there or full. The test plays sendto(2) and connect(2).
 */
#include "dpdk_app/log_journal.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/dpdk_app/log_fix.h"

ssize_t __wrap_sendto(int fd, const void *bytes, size_t num, int flags, const struct sockaddr *addr,
		      socklen_t addr_bytes);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t addr_bytes);

static char sent[8192];
static size_t sent_bytes;
static uint32_t num_sent;
static int send_error, connect_error;

ssize_t __wrap_sendto(int fd, const void *bytes, size_t num, int flags, const struct sockaddr *addr,
		      socklen_t addr_bytes)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)addr;

	CU_ASSERT(fd >= 0 && addr_bytes == sizeof(*un) && num <= sizeof(sent));
	CU_ASSERT_STRING_EQUAL(un->sun_path, "/run/systemd/journal/socket");
	CU_ASSERT(flags & MSG_DONTWAIT);
	CU_ASSERT(flags & MSG_NOSIGNAL);
	num_sent++;
	if (send_error) {
		errno = send_error;
		return -1;
	}
	memcpy(sent, bytes, num);
	sent_bytes = num;
	return (ssize_t)num;
}

int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t addr_bytes)
{
	(void)fd;
	(void)addr;
	(void)addr_bytes;
	errno = connect_error;
	return connect_error ? -1 : 0;
}

/* Value of a field of the last record, as the journal reads it; "": there is none. */
static const char *field(const char *name)
{
	static char value[4096];

	for (const char *at = sent; at < sent + sent_bytes;) {
		size_t name_chars = (size_t)((const char *)memchr(at, '\n', 4096) - at);
		uint64_t bytes;

		memcpy(&bytes, at + name_chars + 1, sizeof(bytes));
		bytes = le64toh(bytes);
		CU_ASSERT_FATAL(bytes < sizeof(value));
		memcpy(value, at + name_chars + 1 + sizeof(bytes), bytes);
		value[bytes] = '\0';
		if (name_chars == strlen(name) && !memcmp(at, name, name_chars))
			return value;
		at += name_chars + 1 + sizeof(bytes) + bytes;
		CU_ASSERT_FATAL(*at++ == '\n');
	}
	return "";
}

/* Calls call(); returns what it wrote to standard error. */
static const char *stderr_of(void (*call)(void))
{
	static struct log_fix fix;

	log_fix_begin(&fix);
	call();
	return log_fix_end(&fix);
}

static void link_goes_down(void)
{
	log_nic_error("weft3", "link %s", "down");
}

static void fields(void)
{
	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_JOURNAL), 0);
	CU_ASSERT_STRING_EQUAL(stderr_of(link_goes_down), "");
	CU_ASSERT_STRING_EQUAL(field("MESSAGE"), "weft3: link down");
	CU_ASSERT_STRING_EQUAL(field("PRIORITY"), "3");
	CU_ASSERT_STRING_EQUAL(field("SYSLOG_IDENTIFIER"), "weftd");
	CU_ASSERT_STRING_EQUAL(field("WEFT_NIC"), "weft3");
	CU_ASSERT_STRING_EQUAL(field("WEFT_PID"), "");
	CU_ASSERT_STRING_EQUAL(field("CODE_FUNC"), "link_goes_down");
	CU_ASSERT_PTR_NOT_NULL(strstr(field("CODE_FILE"), "log_journal_ut.c"));
	CU_ASSERT(atoi(field("CODE_LINE")) > 0);
	log_info("no NIC");
	CU_ASSERT_STRING_EQUAL(field("MESSAGE"), "no NIC");
	CU_ASSERT_STRING_EQUAL(field("PRIORITY"), "6");
	CU_ASSERT_STRING_EQUAL(field("WEFT_NIC"), "");
}

/* First bytes of a record: name, line feed, length in 64 bits little endian, value, line feed. */
static void bytes(void)
{
	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_JOURNAL), 0);
	log_info("hi");
	CU_ASSERT_EQUAL(memcmp(sent, "MESSAGE\n\2\0\0\0\0\0\0\0hi\nPRIORITY\n\1", 29), 0);
}

/* A program chooses its name: a line feed in it begins no field. */
static void forged_name(void)
{
	struct log_subject subject = {
	    .nic = "weft0", .program = "x\nPRIORITY=0", .pid = 7, .uid = 1000};

	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_JOURNAL), 0);
	log_at(LOG_LEVEL_ERROR, LOG_HERE, &subject, "over quota");
	CU_ASSERT_STRING_EQUAL(field("WEFT_PROGRAM"), "x\nPRIORITY=0");
	CU_ASSERT_STRING_EQUAL(field("PRIORITY"), "3");
	CU_ASSERT_STRING_EQUAL(field("WEFT_PID"), "7");
	CU_ASSERT_STRING_EQUAL(field("WEFT_UID"), "1000");
}

static void long_text(void)
{
	static char text[5000];

	memset(text, 'a', sizeof(text) - 1);
	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_JOURNAL), 0);
	log_info("%s", text);
	CU_ASSERT_EQUAL(strlen(field("MESSAGE")), 999);
	CU_ASSERT_STRING_EQUAL(field("SYSLOG_IDENTIFIER"), "weftd");
}

/* The journal restarts, or is full: nothing waits, and the message is a line instead. */
static void no_answer(void)
{
	const int errors[] = {EAGAIN, ECONNREFUSED, ENOENT};

	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_JOURNAL), 0);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		send_error = errors[i];
		CU_ASSERT_STRING_EQUAL(stderr_of(link_goes_down), "weftd: weft3: link down\n");
		send_error = 0;
		sent_bytes = 0;
		CU_ASSERT_STRING_EQUAL(stderr_of(link_goes_down), "");
		CU_ASSERT_STRING_EQUAL(field("WEFT_NIC"), "weft3");
	}
}

static void set_journal(void)
{
	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_JOURNAL), -ENOENT);
}

/* Without a journal --log-format journal is refused; by default lines are written. */
static void no_journal(void)
{
	uint32_t before = num_sent;

	connect_error = ENOENT;
	CU_ASSERT_PTR_NOT_NULL(strstr(stderr_of(set_journal), "is there a systemd-journald?"));
	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_AUTO), 0);
	CU_ASSERT_STRING_EQUAL(stderr_of(link_goes_down), "weftd: weft3: link down\n");
	CU_ASSERT_EQUAL(num_sent, before);
	connect_error = 0;
	/* Standard error of this test is not the journal's: auto writes lines beside a journal. */
	unsetenv("JOURNAL_STREAM");
	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_AUTO), 0);
	CU_ASSERT_STRING_EQUAL(stderr_of(link_goes_down), "weftd: weft3: link down\n");
	CU_ASSERT_EQUAL(num_sent, before);
}

UT_MAIN("dpdk_app/log_journal", UT(fields), UT(bytes), UT(forged_name), UT(long_text),
	UT(no_answer), UT(no_journal))
