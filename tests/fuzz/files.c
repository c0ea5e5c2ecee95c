/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: files of schedules. LogGOPSim's text and binary form (goal_text.c, goal_bin.c), and
 * compiled schedules that a program saved (libgoal_sched.c); and object files with programs of
 * users' operations (goal_elf.c).
 *
 * The first byte of an input chooses the format, the second the fields to correct. An accepted file
 * is written as text and read again, and must be the same; a refused one must give a message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_driver/goal/file/goal_elf.h"
#include "host_driver/goal/file/goal_text.h"
/* Its reader is static. */
#include "host_driver/goal/libgoal_sched.c"
#include "tests/fuzz/fuzz.h"

enum {
	OBJECT = 'E', /* first byte of inputs that are object files */
};

static int file_fd = -1;
static char file_path[40];

static char *written(const struct goal_set *set, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	fuzz_check(out && !goal_text_write(set, out) && !fclose(out) && text, "cannot be written");
	return text;
}

static void read_again(const struct goal_set *set)
{
	struct goal_error err;
	struct goal_set other;
	size_t bytes = 0, other_bytes = 0;
	char *text = written(set, &bytes), *other_text;

	if (goal_text_read(text, bytes, "again", &other, &err)) {
		fprintf(stderr, "%s\n", err.text);
		fuzz_check(0, "what was written cannot be read");
	}
	other_text = written(&other, &other_bytes);
	fuzz_check(bytes == other_bytes && !memcmp(text, other_text, bytes),
		   "what was written is read as something else");
	free(text);
	free(other_text);
	goal_set_free(&other);
}

static void check_set(const struct goal_set *set)
{
	uint32_t r, i;
	int wait;

	fuzz_check(set->num_ranks && set->rank_first[set->num_ranks] == set->num_ops, "operations");
	for (r = 0; r < set->num_ranks; r++)
		for (i = set->rank_first[r]; i < set->rank_first[r + 1]; i++)
			fuzz_check(set->ops[i].kind <= GOAL_OP_CALC, "an operation of no kind");
	for (wait = 0; wait < GOAL_NUM_WAITS; wait++)
		for (i = 0; i < set->edges[wait].first[set->num_ops]; i++)
			fuzz_check(set->edges[wait].target[i] < set->num_ops, "an edge to nowhere");
}

static void schedule(const char *data, size_t bytes, int binary)
{
	struct goal_error err = {"x"};
	struct goal_set set;
	int rc = binary ? goal_bin_read(data, bytes, "x", &set, &err)
			: goal_text_read(data, bytes, "x", &set, &err);

	fuzz_check(memchr(err.text, 0, sizeof(err.text)) != NULL, "a message without end");
	if (rc) {
		fuzz_check(rc == -EINVAL || rc == -ENOMEM, "refused for no reason");
		fuzz_check(err.text[0] && strcmp(err.text, "x"), "refused without a word");
		return;
	}
	check_set(&set);
	read_again(&set);
	goal_set_free(&set);
}

/* right: bit 0 corrects its CRC, bit 1 magic and version, bit 2 its length. */
static void compiled(uint8_t *data, size_t bytes, uint8_t right)
{
	struct goal_header h;
	struct goal_code code = {0};
	const char *why = NULL;
	int rc;

	if (bytes >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		if (right & 2) {
			h.magic = GOAL_FORMAT_MAGIC;
			h.version = GOAL_FORMAT_VERSION;
		}
		if (right & 4)
			h.total_bytes = bytes;
		memcpy(data, &h, sizeof(h));
		h.crc32c = goal_code_crc(data, bytes);
		if (right & 1)
			memcpy(data, &h, sizeof(h));
	}
	fuzz_check(!ftruncate(file_fd, 0) && pwrite(file_fd, data, bytes, 0) == (ssize_t)bytes,
		   "no file");
	rc = read_code(file_path, &code, &why);
	fuzz_check(!rc == !why, "refused without a word");
	if (!rc) {
		memcpy(&h, code.bytes, sizeof(h));
		fuzz_check(h.total_bytes == code.num_bytes &&
			       h.slots_offset + h.num_slots * sizeof(struct goal_slot) <=
				   code.num_bytes,
			   "a file that is not whole was taken");
	}
	free(code.bytes);
}

/* A program of section `op`, whole, or a reason. */
static void object(const uint8_t *data, size_t bytes)
{
	static struct goal_elf elf;
	const char *why = goal_elf_find(data, bytes, "op", &elf);

	fuzz_check(why ? why[0] != 0 : elf.num_insns && elf.num_insns <= GOAL_OP_MAX_INSNS,
		   "a program without instructions, or refused without a word");
}

void fuzz_files_begin(void)
{
	file_fd = memfd_create("fuzz-file", 0);
	fuzz_check(file_fd >= 0, "no memory");
	snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file_fd);
}

void fuzz_files(const uint8_t *data, size_t bytes)
{
	uint8_t *copy;

	if (bytes < 2)
		return;
	/* Aligned, and of its exact size. */
	copy = malloc(bytes - 2 ? bytes - 2 : 1);
	fuzz_check(copy != NULL, "no memory");
	memcpy(copy, data + 2, bytes - 2);
	if (data[0] == OBJECT)
		object(copy, bytes - 2);
	else if (data[0] % 3 == 2)
		compiled(copy, bytes - 2, data[1]);
	else
		schedule((const char *)copy, bytes - 2, data[0] % 3);
	free(copy);
}
