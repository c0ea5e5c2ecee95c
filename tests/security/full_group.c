/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of a process whose cgroup is at its limit, filled by the NIC.
 *
 * full_group SOCKET MIB: registers so much memory that is not mapped and was never touched, says
 * "attacking", and makes the NIC write to each page in turn; then says "filled". Each page that
 * weftd's copies make counts in the cgroup of this process, which is smaller.
 */
#include <sys/mman.h>

#include "tests/int/hostile.h"

enum {
	PAGE = 4096,
	OUTSTANDING = 8,
};

static uint32_t reg(struct victim *v, uint8_t *mem, uint64_t bytes)
{
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	struct hw_cmd_resp resp;

	cmd.u.reg_mr =
	    (struct hw_cmd_reg_mr){.addr = (uintptr_t)mem,
				   .iova = (uintptr_t)mem,
				   .bytes = bytes,
				   .pd = v->pd,
				   .access = HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE};
	must(v, &cmd, &resp);
	return resp.u.mr.stag;
}

int main(int argc, char **argv)
{
	uint64_t bytes, pages, posted = 0, done = 0;
	struct victim v, sink;
	uint32_t stag;
	uint8_t *mem;

	if (argc != 3) {
		fprintf(stderr, "full_group: say SOCKET MIB\n");
		return 2;
	}
	socket_path = argv[1];
	bytes = strtoull(argv[2], NULL, 10) << 20;
	pages = bytes / PAGE;
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	furnish(&v, 1);
	stag = reg(&v, mem, bytes);
	/* Not by stdio, which allocates. */
	if (write(STDOUT_FILENO, "attacking\n", 10) != 10)
		return 1;
	sink = v;
	sink.stag = stag;
	while (done < pages) {
		done = completions(&v, (uint32_t)done, true);
		if (posted == pages || posted - done == OUTSTANDING) {
			usleep(50);
			continue;
		}
		sink.mem = mem + posted++ * PAGE;
		post(&sink, HW_WQE_WRITE, (uintptr_t)v.mem, 64, v.stag);
	}
	printf("filled\n");
	return 0;
}
