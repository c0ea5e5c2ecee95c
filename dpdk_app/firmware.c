/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftd's side of firmware images: requests to the loader, and checks of what it has loaded.
 *
 * Control thread. Calls the kernel: sendmsg(2), poll(2).
 */
#include "dpdk_app/firmware.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/log.h"

static int firmware_fd = -1;
static const uint8_t *firmware_code;
static const struct fw_image *firmware_image = &weft_firmware;

void firmware_init(int fd, const uint8_t *code)
{
	firmware_fd = fd;
	firmware_code = code;
}

const struct fw_image *firmware_current(void)
{
	return firmware_image;
}

void firmware_set_current(const struct fw_image *image)
{
	firmware_image = image;
}

/* Returns the place that the firmware that runs does not occupy. */
static uint32_t free_place(void)
{
	uintptr_t at = (uintptr_t)firmware_image - (uintptr_t)firmware_code;

	return at < FIRMWARE_PLACE_BYTES ? 1 : 0;
}

static bool send_file(uint32_t place, int file)
{
	struct iovec iov = {.iov_base = &place, .iov_len = sizeof(place)};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(file))];
	} control = {0};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(file));
	memcpy(CMSG_DATA(head), &file, sizeof(file));
	return sendmsg(firmware_fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(place);
}

/* The loader is gone, or out of step with its answers. */
static const char *give_up(void)
{
	log_error("the process that loads firmware has ended or does not answer: until weftd "
		  "starts again it cannot be upgraded");
	close(firmware_fd);
	firmware_fd = -1;
	return "the process that loads it has ended";
}

static const struct fw_image *check(const struct firmware_answer *answer, uint32_t place,
				    const char **why)
{
	const uint8_t *code = firmware_code + (size_t)place * FIRMWARE_PLACE_BYTES;
	const struct fw_image *image;

	*why = "it is no firmware image";
	if (answer->entry % _Alignof(struct fw_image) ||
	    answer->entry > FIRMWARE_PLACE_BYTES - sizeof(*image))
		return NULL;
	image = (const struct fw_image *)(const void *)(code + answer->entry);
	if (image->magic != FW_IMAGE_MAGIC || image->version[FW_IMAGE_VERSION_CHARS - 1])
		return NULL;
	/* For processors whose instruction caches do not follow stores by themselves. */
	__builtin___clear_cache((char *)(uintptr_t)code,
				(char *)(uintptr_t)(code + FIRMWARE_PLACE_BYTES));
	*why = "its state has another layout: weftd must be started again";
	return fw_image_fits(image, &weft_firmware) ? image : NULL;
}

const struct fw_image *firmware_load(int file, const char **why)
{
	struct pollfd wait = {.fd = firmware_fd, .events = POLLIN};
	static struct firmware_answer answer;
	uint32_t place = free_place();

	*why = "this weftd has no process that loads it";
	if (firmware_fd < 0)
		return NULL;
	if (!send_file(place, file) || poll(&wait, 1, FIRMWARE_TIMEOUT_MS) != 1 ||
	    recv(firmware_fd, &answer, sizeof(answer), MSG_DONTWAIT) != sizeof(answer)) {
		*why = give_up();
		return NULL;
	}
	answer.why[FIRMWARE_WHY_CHARS - 1] = '\0';
	*why = answer.why;
	return *answer.why ? NULL : check(&answer, place, why);
}
