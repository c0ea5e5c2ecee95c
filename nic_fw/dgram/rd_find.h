/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The session of a packet or a message, inline: packets of a burst, and the requests of a queue,
 * often go the same way. fw_nic.h includes it behind the instance.
 */
#ifndef WEFT_FW_RD_FIND_H
#define WEFT_FW_RD_FIND_H

/* Returns the session to a shard of a peer, NULL: there is none. */
static inline struct rd_session *rd_session_find(struct fw_nic *nic, uint32_t peer_ip,
						 uint8_t peer_shard)
{
	struct rd_session *s = nic->rd.session_found;

	if (s && s->peer_ip == peer_ip && s->peer_shard == peer_shard)
		return s;
	return rd_session_look_up(nic, peer_ip, peer_shard);
}

/*
 * Lets idle sessions rest, after others were woken. Runs between the stages of a turn, when no
 * function holds a pointer to one.
 */
static inline void rd_rest_run(struct fw_nic *nic)
{
	if (__builtin_expect(nic->rd.rest_looks, 0))
		rd_rest_look(nic);
}

#endif /* WEFT_FW_RD_FIND_H */
