/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * STags: reasons to refuse an access, atomics, registration, memory that is not mapped.
 */
#include "lib/prng.h"
#include "tests/nic_fw/host/mem_fix.h"

static int reg(struct fw_ut *ut, uint32_t pd, uint64_t addr, uint64_t bytes, uint64_t iova,
	       uint32_t access, const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};

	cmd.u.reg_mr.pd = pd;
	cmd.u.reg_mr.addr = addr;
	cmd.u.reg_mr.bytes = bytes;
	cmd.u.reg_mr.iova = iova;
	cmd.u.reg_mr.access = access;
	cmd.u.reg_mr.flags = aux ? HW_REG_F_MAPPED : 0;
	CU_ASSERT_EQUAL(fw_cmd(ut->nic, 0, &cmd, aux, resp), FW_CMD_DONE);
	return resp->status;
}

static void bounds_are_exact(void)
{
	uint64_t base = (uintptr_t)words;
	struct fw_mem mem;
	struct fw_ut ut;
	uint32_t pd, stag;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	stag = host_reg(ut.nic, 0, pd, words, 100, ALL_REMOTE, true);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base, 100, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base + 99, 1, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base + 99, 2, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base - 1, 1, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base + 100, 1, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base, 101, 0), HW_VENDOR_ERR_BOUNDS);
	/* Sums that wrap around 2^64. */
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base + 50, UINT64_MAX - 10, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, UINT64_MAX, 2, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, 0, UINT64_MAX, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(mem_check(ut.nic, pd, 0, stag, base + 8, 8, 0, &mem), HW_VENDOR_ERR_NONE);
	CU_ASSERT_PTR_EQUAL(mem.ptr, &words[1]);
	CU_ASSERT_EQUAL(mem.addr, base + 8);
	fw_ut_end(&ut);
}

/* A region at the end of the address space: the TO after its last byte is 0. */
static void the_end_of_all_addresses_is_a_bound(void)
{
	struct fw_cmd_aux aux = {.mapping = words, .map_bytes = sizeof(words)};
	struct hw_cmd_resp resp;
	struct fw_ut ut;
	uint32_t pd, stag;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL(reg(&ut, pd, (uintptr_t)words, 8, UINT64_MAX - 7, 0, &aux, &resp), 0);
	stag = resp.u.mr.stag;
	CU_ASSERT_EQUAL(check(&ut, pd, stag, UINT64_MAX - 7, 8, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, UINT64_MAX, 1, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, UINT64_MAX, 2, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, UINT64_MAX, UINT64_MAX, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, 0, 1, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, 1, UINT64_MAX, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, UINT64_MAX - 8, 1, 0), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, UINT64_MAX - 8, 2, 0), HW_VENDOR_ERR_BOUNDS);
	fw_ut_end(&ut);
}

static void no_bytes_pass_with_any_stag(void)
{
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL(check(&ut, 77, 0xdeadbeef, 1, 0, ALL_REMOTE), HW_VENDOR_ERR_NONE);
	fw_ut_end(&ut);
}

static void keys_and_domains_must_match(void)
{
	uint64_t base = (uintptr_t)words;
	uint32_t pd, other, stag, client2, foreign;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client2), 0);
	pd = host_pd(ut.nic, 0);
	other = host_pd(ut.nic, 0);
	foreign = host_pd(ut.nic, client2);
	stag = host_reg(ut.nic, 0, pd, words, 100, ALL_REMOTE, true);
	CU_ASSERT_EQUAL(check(&ut, other, stag, base, 1, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(check(&ut, foreign, stag, base, 1, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(check(&ut, pd, stag ^ 1, base, 1, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(check(&ut, pd, stag + 256, base, 1, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(check(&ut, pd, 0, base, 1, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(check(&ut, pd, UINT32_MAX, base, 1, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(check(&ut, pd, stag | STAG_SINK_FLAG, base, 1, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, client2, HW_CMD_DEREG_MR, stag, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, stag ^ 1, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, stag, NULL), 0);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base, 1, 0), HW_VENDOR_ERR_LKEY);
	fw_ut_end(&ut);
}

static void an_old_key_is_dead_when_the_number_is_reused(void)
{
	uint64_t base = (uintptr_t)words;
	static uint32_t last[HW_MAX_MR];
	uint32_t pd, first, stag, i;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	first = host_reg(ut.nic, 0, pd, words, 8, 0, false);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, first, NULL), 0);
	/* A number that is used again has another key than before, and STag 0 is never given. */
	for (i = 0; i < 20000; i++) {
		stag = host_reg(ut.nic, 0, pd, words, 8, 0, false);
		CU_ASSERT_NOT_EQUAL_FATAL(stag, 0);
		CU_ASSERT_EQUAL_FATAL(stag & STAG_SINK_FLAG, 0);
		CU_ASSERT_NOT_EQUAL_FATAL(stag, last[stag_index(stag)]);
		last[stag_index(stag)] = stag;
		CU_ASSERT_EQUAL_FATAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, stag, NULL), 0);
		CU_ASSERT_EQUAL(check(&ut, pd, stag, base, 1, 0), HW_VENDOR_ERR_LKEY);
	}
	CU_ASSERT_TRUE(ut.nic->host.mr_ids.high <= MR_SPREAD);
	fw_ut_end(&ut);
}

static uint64_t random64(void *ctx)
{
	static uint64_t state = 1;

	(void)ctx;
	return prng_next(&state);
}

/* Number and key of a region cannot be derived from those of the one before (RFC 5042 6.2.1). */
static void stags_cannot_be_foreseen(void)
{
	enum {
		N = 1000
	};
	uint32_t pd, stag[N], i, steps = 0, ones[31] = {0}, b;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	ut.nic->port.random64 = random64;
	pd = host_pd(ut.nic, 0);
	for (i = 0; i < N; i++) {
		stag[i] = host_reg(ut.nic, 0, pd, words, 8, 0, false);
		for (b = 0; b < 31; b++)
			ones[b] += stag[i] >> b & 1;
		if (i && stag_index(stag[i]) - stag_index(stag[i - 1]) <= 2)
			steps++;
		if (i && (uint32_t)(stag_key(stag[i]) - stag_key(stag[i - 1])) <= 2)
			steps++;
	}
	CU_ASSERT_TRUE(steps < 20);
	/* Each bit of the key, and twelve of the number, is set as often as not. */
	for (b = 0; b < 31; b++)
		if (b < 20 || b >= 24)
			CU_ASSERT_TRUE(ones[b] > N / 2 - 100 && ones[b] < N / 2 + 100);
	for (i = 0; i < N; i++)
		CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, stag[i], NULL), 0);
	fw_ut_end(&ut);
}

static void rights_must_all_be_granted(void)
{
	uint64_t base = (uintptr_t)words;
	struct fw_ut ut;
	uint32_t pd, ro, rw;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	ro = host_reg(ut.nic, 0, pd, words, 8, HW_ACCESS_REMOTE_READ, true);
	rw = host_reg(ut.nic, 0, pd, words, 8, HW_ACCESS_LOCAL_WRITE, true);
	CU_ASSERT_EQUAL(check(&ut, pd, ro, base, 8, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, ro, base, 8, HW_ACCESS_REMOTE_READ), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, ro, base, 8, HW_ACCESS_LOCAL_WRITE), HW_VENDOR_ERR_ACCESS);
	CU_ASSERT_EQUAL(check(&ut, pd, rw, base, 8, HW_ACCESS_LOCAL_WRITE), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, rw, base, 8, HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE),
			HW_VENDOR_ERR_ACCESS);
	fw_ut_end(&ut);
}

static void registration_is_checked(void)
{
	uint64_t base = (uintptr_t)words;
	struct fw_cmd_aux aux = {.mapping = words, .map_bytes = 100, .offset = 40};
	struct hw_cmd_resp resp;
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	struct fw_ut ut;
	uint32_t pd;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL(reg(&ut, pd, base, 0, base, 0, NULL, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(reg(&ut, pd + 1, base, 8, base, 0, NULL, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(reg(&ut, UINT32_MAX, base, 8, base, 0, NULL, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(reg(&ut, pd, UINT64_MAX - 6, 8, base, 0, NULL, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(reg(&ut, pd, base, 8, UINT64_MAX - 6, 0, NULL, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(reg(&ut, pd, base, HW_MAX_MR_BYTES + 1, base, 0, NULL, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(reg(&ut, pd, base, 8, base, HW_ACCESS_REMOTE_WRITE, NULL, &resp),
			FW_EINVAL);
	CU_ASSERT_EQUAL(reg(&ut, pd, base, 8, base, HW_ACCESS_REMOTE_ATOMIC, NULL, &resp),
			FW_EINVAL);
	CU_ASSERT_EQUAL(reg(&ut, pd, base, 8, base, HW_ACCESS_ALL + 1, NULL, &resp), FW_EINVAL);
	/* The mapping must cover the region. */
	CU_ASSERT_EQUAL(reg(&ut, pd, base, 61, base, 0, &aux, &resp), FW_EFAULT);
	aux.offset = 101;
	CU_ASSERT_EQUAL(reg(&ut, pd, base, 1, base, 0, &aux, &resp), FW_EFAULT);
	cmd.u.reg_mr.pd = pd;
	cmd.u.reg_mr.bytes = 8;
	cmd.u.reg_mr.flags = HW_REG_F_MAPPED;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EFAULT);
	cmd.u.reg_mr.flags = 2;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.reg_mr.flags = 0;
	cmd.u.reg_mr.reserved = 1;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->host.mr_ids), 0);
	CU_ASSERT_EQUAL(ut.port.num_unmaps, 0);
	/* The very last bytes of the address space do not wrap. */
	CU_ASSERT_EQUAL(reg(&ut, pd, UINT64_MAX - 7, 8, UINT64_MAX - 7, 0, NULL, &resp), 0);
	CU_ASSERT_EQUAL(check(&ut, pd, resp.u.mr.stag, UINT64_MAX, 1, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, resp.u.mr.stag, UINT64_MAX, 2, 0), HW_VENDOR_ERR_BOUNDS);
	fw_ut_end(&ut);
}

static void mapping_offset_iova_and_unmap(void)
{
	struct fw_cmd_aux aux = {.mapping = words, .map_bytes = sizeof(words), .offset = 16};
	struct hw_cmd_resp resp;
	struct fw_mem mem;
	struct fw_ut ut;
	uint32_t pd;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL(reg(&ut, pd, 0x1000, 64, 0x777, 0, &aux, &resp), 0);
	CU_ASSERT_EQUAL(mem_check(ut.nic, pd, 0, resp.u.mr.stag, 0x777 + 8, 8, 0, &mem),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_PTR_EQUAL(mem.ptr, &words[3]);
	CU_ASSERT_EQUAL(mem.addr, 0x1008);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, resp.u.mr.stag, NULL), 0);
	CU_ASSERT_EQUAL(ut.port.num_unmaps, 1);
	CU_ASSERT_PTR_EQUAL(ut.port.unmapped[0], words);
	CU_ASSERT_EQUAL(reg(&ut, pd, 0x1000, 64, 0x777, HW_ACCESS_ZERO_BASED, &aux, &resp), 0);
	CU_ASSERT_EQUAL(check(&ut, pd, resp.u.mr.stag, 0, 64, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, resp.u.mr.stag, 0x777, 8, 0), HW_VENDOR_ERR_BOUNDS);
	/* Detach gives the mapping back as well. */
	fw_ut_detach(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.num_unmaps, 2);
	fw_ut_end(&ut);
}

static void unmapped_memory_goes_through_the_port(void)
{
	struct fw_mem mem;
	uint8_t got[16];
	struct fw_ut ut;
	uint32_t pd, stag;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	stag = host_reg(ut.nic, 0, pd, words, 100, ALL_REMOTE, false);
	CU_ASSERT_EQUAL(mem_check(ut.nic, pd, 0, stag, (uintptr_t)words, 16, 0, &mem),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_PTR_NULL(mem.ptr);
	words[0] = 11;
	words[1] = 22;
	CU_ASSERT_TRUE(mem_read(ut.nic, &mem, 0, got, 16));
	CU_ASSERT_EQUAL(memcmp(got, words, 16), 0);
	memset(got, 9, sizeof(got));
	CU_ASSERT_TRUE(mem_write(ut.nic, &mem, 8, got, 8));
	CU_ASSERT_EQUAL(words[0], 11);
	CU_ASSERT_EQUAL(words[1], 0x0909090909090909u);
	CU_ASSERT_EQUAL(ut.nic->counters.host_reads, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.host_writes, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.host_read_bytes, 16);
	CU_ASSERT_EQUAL(ut.nic->counters.host_write_bytes, 8);
	/*
	 * The source may be memory of a process: it never reaches the port, whose write is a system
	 * call.
	 */
	CU_ASSERT_PTR_EQUAL(ut.port.host_src, ut.nic->scratch);
	ut.port.host_fault = true;
	CU_ASSERT_FALSE(mem_read(ut.nic, &mem, 0, got, 16));
	CU_ASSERT_FALSE(mem_write(ut.nic, &mem, 0, got, 16));
	CU_ASSERT_EQUAL(ut.nic->counters.host_faults, 2);
	CU_ASSERT_FALSE(ut.nic->host.mem_busy);
	ut.port.host_fault = false;
	ut.port.host_busy = true;
	CU_ASSERT_FALSE(mem_write(ut.nic, &mem, 0, got, 16));
	CU_ASSERT_TRUE(ut.nic->host.mem_busy);
	CU_ASSERT_EQUAL(ut.nic->counters.host_faults, 2);
	CU_ASSERT_EQUAL(ut.nic->counters.host_busy, 1);
	/* Moving no bytes does not call the port. */
	CU_ASSERT_TRUE(mem_read(ut.nic, &mem, 0, got, 0));
	CU_ASSERT_TRUE(mem_write(ut.nic, &mem, 0, got, 0));
	fw_ut_end(&ut);
}

static void long_writes_in_pieces(void)
{
	enum {
		BYTES = 2 * FW_SCRATCH_BYTES + 100
	};
	static uint8_t from[BYTES], to[BYTES + 1];
	struct fw_mem mem;
	struct fw_ut ut;
	uint32_t pd, stag, i;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	stag = host_reg(ut.nic, 0, pd, to, sizeof(to), ALL_REMOTE, false);
	CU_ASSERT_EQUAL(mem_check(ut.nic, pd, 0, stag, (uintptr_t)to, BYTES, 0, &mem),
			HW_VENDOR_ERR_NONE);
	for (i = 0; i < BYTES; i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	CU_ASSERT_TRUE(mem_write(ut.nic, &mem, 0, from, BYTES));
	CU_ASSERT_EQUAL(ut.port.host_calls, 3);
	CU_ASSERT_EQUAL(memcmp(from, to, BYTES), 0);
	CU_ASSERT_EQUAL(to[BYTES], 0);
	fw_ut_end(&ut);
}

#define ADD(v)     ((struct fw_atomic){HW_ATOMIC_SUM, HW_ATOMIC_UINT64, 0, v})
#define SWAP(c, v) ((struct fw_atomic){HW_ATOMIC_CSWAP, HW_ATOMIC_UINT64, c, v})

static uint64_t atomic(struct fw_ut *ut, const struct fw_mem *mem, struct fw_atomic op)
{
	uint64_t original = 0;

	if (mem->ptr)
		CU_ASSERT_TRUE(mem_atomic(mem, &op, &original))
	else
		CU_ASSERT_EQUAL(mem_atomic_host(ut->nic, mem, &op, &original), 0);
	return original;
}

static void try_atomics(struct fw_ut *ut, const struct fw_mem *mem, void *at)
{
	uint64_t value = UINT64_MAX - 1;

	memcpy(at, &value, sizeof(value));
	CU_ASSERT_EQUAL(atomic(ut, mem, ADD(3)), UINT64_MAX - 1);
	memcpy(&value, at, sizeof(value));
	CU_ASSERT_EQUAL(value, 1);
	CU_ASSERT_EQUAL(atomic(ut, mem, SWAP(2, 99)), 1);
	memcpy(&value, at, sizeof(value));
	CU_ASSERT_EQUAL(value, 1);
	CU_ASSERT_EQUAL(atomic(ut, mem, SWAP(1, 99)), 1);
	memcpy(&value, at, sizeof(value));
	CU_ASSERT_EQUAL(value, 99);
}

static uint32_t late_asked;

static uint64_t count_late(void *ctx, uint32_t client, uint64_t since)
{
	(void)ctx;
	(void)client;
	(void)since;
	late_asked++;
	return 0;
}

/* The port is asked for accesses that are not over only when one may not be. */
static bool asks_for_late(struct fw_ut *ut)
{
	uint64_t (*const was)(void *, uint32_t, uint64_t) = ut->nic->port.host_late;

	late_asked = 0;
	ut->nic->port.host_late = count_late;
	CU_ASSERT_EQUAL(mem_late(ut->nic, 0, 0), 0);
	ut->nic->port.host_late = was;
	return late_asked;
}

static void atomics_mapped_unaligned_and_unmapped(void)
{
	struct fw_cmd_aux aux = {.mapping = words, .map_bytes = 64, .offset = 3};
	const struct fw_atomic op = ADD(1);
	struct hw_cmd_resp resp;
	struct fw_mem mem;
	struct fw_ut ut;
	uint64_t original;
	uint32_t pd, stag;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	stag = host_reg(ut.nic, 0, pd, words, 64, ALL_REMOTE, true);
	CU_ASSERT_EQUAL(mem_check(ut.nic, pd, 0, stag, (uintptr_t)&words[2], 8, 0, &mem),
			HW_VENDOR_ERR_NONE);
	try_atomics(&ut, &mem, &words[2]);
	/* TO 0 is aligned, the byte after it is not. */
	CU_ASSERT_EQUAL(reg(&ut, pd, 0x1003, 32, 0, ALL_REMOTE, &aux, &resp), 0);
	CU_ASSERT_EQUAL(mem_check(ut.nic, pd, 0, resp.u.mr.stag, 0, 8, 0, &mem),
			HW_VENDOR_ERR_NONE);
	try_atomics(&ut, &mem, (uint8_t *)words + 3);
	stag = host_reg(ut.nic, 0, pd, words, 64, ALL_REMOTE, false);
	CU_ASSERT_EQUAL(mem_check(ut.nic, pd, 0, stag, (uintptr_t)words, 8, 0, &mem),
			HW_VENDOR_ERR_NONE);
	try_atomics(&ut, &mem, words);
	CU_ASSERT_FALSE(asks_for_late(&ut));
	ut.port.host_fault = true;
	CU_ASSERT_EQUAL(mem_atomic_host(ut.nic, &mem, &op, &original), -FW_EFAULT);
	CU_ASSERT_EQUAL(words[0], 99);
	CU_ASSERT_EQUAL(ut.nic->counters.host_faults, 1);
	CU_ASSERT_FALSE(asks_for_late(&ut));
	ut.port.host_fault = false;
	ut.port.host_late = true;
	CU_ASSERT_EQUAL(mem_atomic_host(ut.nic, &mem, &op, &original), -FW_EINPROGRESS);
	CU_ASSERT_TRUE(asks_for_late(&ut));
	CU_ASSERT_FALSE(asks_for_late(&ut));
	CU_ASSERT_EQUAL(mem_atomic_host_over(ut.nic, 0, &original), -FW_EBUSY);
	CU_ASSERT_EQUAL(words[0], 99);
	CU_ASSERT_EQUAL(ut.nic->counters.host_busy, 2);
	ut.port.host_late = false;
	CU_ASSERT_EQUAL(mem_atomic_host_over(ut.nic, 0, &original), 0);
	CU_ASSERT_TRUE(original == 99 && words[0] == 100);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/mem", UT(bounds_are_exact), UT(the_end_of_all_addresses_is_a_bound),
	UT(no_bytes_pass_with_any_stag), UT(keys_and_domains_must_match),
	UT(an_old_key_is_dead_when_the_number_is_reused), UT(stags_cannot_be_foreseen),
	UT(rights_must_all_be_granted), UT(registration_is_checked),
	UT(mapping_offset_iova_and_unmap), UT(unmapped_memory_goes_through_the_port),
	UT(long_writes_in_pieces), UT(atomics_mapped_unaligned_and_unmapped))
