/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process that loads firmware images (helper.h).
 *
 * It takes a file from weftd's control thread and writes the image into the shared memory. It takes
 * only a file with a name, owned by root or by weftd's user, which no other user can write: a weftd
 * that was taken over cannot have code of its own loaded, unless it can write such files.
 *
 * Calls firmware_elf.c and the kernel: recvmsg(2), pread(2).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpdk_app/firmware.h"
#include "dpdk_app/firmware_elf.h"
#include "dpdk_app/helper.h"
#include "dpdk_app/log.h"
#include "dpdk_app/sandbox.h"

#if defined(__x86_64__)
/* The processor's features, which __builtin_cpu_supports() reads: in each program, by libgcc. */
extern char __cpu_model[];
#endif

/* This process was forked from weftd: program and libraries are at the same addresses. */
static void *find_symbol(const char *name)
{
#if defined(__x86_64__)
	if (!strcmp(name, "__cpu_model"))
		return __cpu_model;
#endif
	return dlsym(RTLD_DEFAULT, name);
}

static const char *check_file(const struct stat *st, uid_t own)
{
	if (!S_ISREG(st->st_mode) || !st->st_nlink)
		return "it is no file";
	if (st->st_uid != 0 && st->st_uid != own)
		return "it belongs to a user who is neither root nor weftd's";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "others than its owner can write it: chmod go-w";
	if (!st->st_size || st->st_size > FIRMWARE_FILE_MAX)
		return "it is empty, or too large";
	return NULL;
}

/* Reads the whole file: its content may not change while it is used. */
static const char *read_file(int fd, uint8_t *file, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		ssize_t n = pread(fd, file + at, bytes - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return "it cannot be read";
		at += (size_t)n;
	}
	return NULL;
}

static const char *load(int fd, uint32_t place, uint8_t *memory, const uint8_t *code,
			uint64_t *entry)
{
	size_t offset = (size_t)place * FIRMWARE_PLACE_BYTES;
	struct firmware_elf elf = {.image = memory + offset,
				   .image_bytes = FIRMWARE_PLACE_BYTES,
				   .base = (uintptr_t)code + offset,
				   .symbol = find_symbol};
	const char *why;
	struct stat st;
	void *file;

	if (fd < 0 || place >= FIRMWARE_PLACES || fstat(fd, &st))
		return "it is no file";
	why = check_file(&st, getuid());
	if (why)
		return why;
	elf.file_bytes = (size_t)st.st_size;
	file =
	    mmap(NULL, elf.file_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file == MAP_FAILED)
		return "there is no memory for it";
	elf.file = file;
	why = read_file(fd, file, elf.file_bytes);
	if (!why)
		why = firmware_elf_load(&elf, entry);
	munmap(file, elf.file_bytes);
	return why;
}

/* Receives a place and a file. Returns false at the end. */
static bool receive(int fd, uint32_t *place, int *file)
{
	struct iovec iov = {.iov_base = place, .iov_len = sizeof(*place)};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(*file))];
	} control = {0};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *head;
	ssize_t n;

	do {
		n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*place))
		return false;
	head = CMSG_FIRSTHDR(&message);
	*file = -1;
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(*file)))
		memcpy(file, CMSG_DATA(head), sizeof(*file));
	return true;
}

static void serve(int fd, uint8_t *memory, const uint8_t *code)
{
	static struct firmware_answer answer;
	const char *why;
	uint32_t place;
	int file;

	while (receive(fd, &place, &file)) {
		memset(&answer, 0, sizeof(answer));
		why = load(file, place, memory, code, &answer.entry);
		if (why)
			strncpy(answer.why, why, sizeof(answer.why) - 1);
		if (file >= 0)
			close(file);
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			return;
	}
}

void firmware_start(bool filter)
{
	static const struct helper loader = {"weftd-loader", FIRMWARE_MEMORY_BYTES, sandbox_loader,
					     serve};
	const uint8_t *code;
	int fd = helper_start(&loader, filter, &code);

	if (fd >= 0)
		firmware_init(fd, code);
	else
		log_verbose("firmware cannot be upgraded: %s", strerror(errno));
}
