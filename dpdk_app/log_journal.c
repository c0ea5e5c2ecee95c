/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records for systemd's journal: one datagram each, in the form of its native protocol (systemd's
 * page JOURNAL_NATIVE_PROTOCOL). Calls the kernel: sendto(2).
 *
 * Values are sent with their length, never as lines: a program's name may hold a line feed, which
 * would begin a field of the program's choice.
 */
#include "dpdk_app/log_journal.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int journal_fd = -1;
static const struct sockaddr_un journal_addr = {.sun_family = AF_UNIX,
						.sun_path = LOG_JOURNAL_SOCKET};

struct record {
	char bytes[4096];
	size_t used;
};

int log_journal_open(void)
{
	int probe, err = 0;

	if (journal_fd < 0)
		journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (journal_fd < 0)
		return -errno;
	/* Only another socket is connected: records are sent to the name, which a new journal has.
	 */
	probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (probe < 0 ||
	    connect(probe, (const struct sockaddr *)&journal_addr, sizeof(journal_addr)))
		err = -errno;
	if (probe >= 0)
		close(probe);
	return err;
}

/* Adds a field. A value that finds no room is left out: all of them are short but the text. */
static void add(struct record *record, const char *name, const char *value)
{
	size_t name_chars = strlen(name), chars = strlen(value);
	uint64_t length = htole64(chars);
	char *at = record->bytes + record->used;

	if (name_chars + 1 + sizeof(length) + chars + 1 > sizeof(record->bytes) - record->used)
		return;
	memcpy(at, name, name_chars);
	at += name_chars;
	*at++ = '\n';
	memcpy(at, &length, sizeof(length));
	at += sizeof(length);
	memcpy(at, value, chars);
	at[chars] = '\n';
	record->used = (size_t)(at + chars + 1 - record->bytes);
}

static void add_number(struct record *record, const char *name, long long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", value);
	add(record, name, text);
}

static void add_subject(struct record *record, const struct log_subject *subject)
{
	if (subject->nic)
		add(record, "WEFT_NIC", subject->nic);
	if (subject->pid) {
		add_number(record, "WEFT_PID", subject->pid);
		add_number(record, "WEFT_UID", subject->uid);
	}
	if (subject->program && *subject->program)
		add(record, "WEFT_PROGRAM", subject->program);
}

bool log_journal_send(char priority, struct log_place place, const struct log_subject *subject,
		      const char *text)
{
	struct record record = {.used = 0};
	ssize_t sent;

	add(&record, "MESSAGE", text);
	add(&record, "PRIORITY", (char[]){priority, '\0'});
	add(&record, "SYSLOG_IDENTIFIER", "weftd");
	add(&record, "CODE_FILE", place.file);
	add(&record, "CODE_FUNC", place.func);
	add_number(&record, "CODE_LINE", place.line);
	if (subject)
		add_subject(&record, subject);
	do {
		sent = sendto(journal_fd, record.bytes, record.used, MSG_NOSIGNAL | MSG_DONTWAIT,
			      (const struct sockaddr *)&journal_addr, sizeof(journal_addr));
	} while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)record.used;
}
