/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of one instance, named as ethtool -S would print them.
 *
 * X(name): struct fw_counters has a uint64_t of that name; fw_stat() prints the name. A
 * frame that is not used is counted in exactly one drop_* counter; of a datagram to a group each
 * copy that a QP does not take is.
 */
#ifndef WEFT_FW_COUNTERS_H
#define WEFT_FW_COUNTERS_H

#include <stdint.h>

#define FW_COUNTERS(X)                                                                             \
	X(rx_frames)                                                                               \
	X(rx_bytes)                                                                                \
	X(tx_frames)                                                                               \
	X(tx_bytes)                                                                                \
	X(tx_dropped)                                                                              \
	X(tx_backpressure)                                                                         \
	X(doorbells)                                                                               \
	X(doorbells_bad)                                                                           \
	X(wqes)                                                                                    \
	X(wqes_bad)                                                                                \
	X(cqes)                                                                                    \
	X(cq_overruns)                                                                             \
	X(events)                                                                                  \
	X(events_lost)                                                                             \
	X(interrupts)                                                                              \
	X(commands)                                                                                \
	X(commands_bad)                                                                            \
	X(host_reads)                                                                              \
	X(host_writes)                                                                             \
	X(host_faults)                                                                             \
	X(arp_requests_rx)                                                                         \
	X(arp_replies_rx)                                                                          \
	X(arp_tx)                                                                                  \
	X(icmp_echo_rx)                                                                            \
	X(igmp_queries_rx)                                                                         \
	X(igmp_queries_v1_rx)                                                                      \
	X(igmp_queries_v2_rx)                                                                      \
	X(igmp_reports_rx)                                                                         \
	X(igmp_reports_tx)                                                                         \
	X(igmp_records_tx)                                                                         \
	X(igmp_leaves_tx)                                                                          \
	X(mcast_tx_msgs)                                                                           \
	X(mcast_rx_packets)                                                                        \
	X(mcast_rx_copies)                                                                         \
	X(mcast_rx_self_blocked)                                                                   \
	X(ud_tx_msgs)                                                                              \
	X(ud_rx_msgs)                                                                              \
	X(ud_rx_records)                                                                           \
	X(ud_rx_records_partial)                                                                   \
	X(ud_reassembly_timeouts)                                                                  \
	X(ud_errors_tx)                                                                            \
	X(ud_errors_rx)                                                                            \
	X(uc_tx_msgs)                                                                              \
	X(uc_rx_msgs)                                                                              \
	X(uc_rx_msgs_lost)                                                                         \
	X(rd_tx_packets)                                                                           \
	X(rd_tx_retransmits)                                                                       \
	X(rd_tx_probes)                                                                            \
	X(rd_tx_voids)                                                                             \
	X(rd_rx_packets)                                                                           \
	X(rd_rx_duplicates)                                                                        \
	X(rd_rx_out_of_order)                                                                      \
	X(rd_rx_refused)                                                                           \
	X(rd_acks_tx)                                                                              \
	X(rd_acks_rx)                                                                              \
	X(rd_acks_stale)                                                                           \
	X(rd_cwnd_cuts)                                                                            \
	X(rd_timeouts)                                                                             \
	X(rd_rnr_backoffs)                                                                         \
	X(rd_sessions_opened)                                                                      \
	X(rd_sessions_failed)                                                                      \
	X(rd_peer_restarts)                                                                        \
	X(rd_retry_exceeded)                                                                       \
	X(rd_terminates_tx)                                                                        \
	X(rd_terminates_rx)                                                                        \
	X(rd_cancels_tx)                                                                           \
	X(rd_cancels_rx)                                                                           \
	X(atomics_executed)                                                                        \
	X(reads_executed)                                                                          \
	X(esp_streams_opened)                                                                      \
	X(esp_tx_packets)                                                                          \
	X(esp_tx_retransmits)                                                                      \
	X(esp_tx_acks)                                                                             \
	X(esp_rx_packets)                                                                          \
	X(esp_rx_duplicates)                                                                       \
	X(esp_rx_out_of_order)                                                                     \
	X(esp_acks_stale)                                                                          \
	X(esp_rrq_tx)                                                                              \
	X(esp_rrq_rx)                                                                              \
	X(esp_timeouts)                                                                            \
	X(esp_syn_early)                                                                           \
	X(esp_syn_foreign)                                                                         \
	X(esp_rdmap_rnr_tx)                                                                        \
	X(esp_rdmap_rnr_rx)                                                                        \
	X(cm_tx)                                                                                   \
	X(cm_rx)                                                                                   \
	X(cm_retries)                                                                              \
	X(cm_requests)                                                                             \
	X(cm_established)                                                                          \
	X(cm_rejected)                                                                             \
	X(cm_closed)                                                                               \
	X(cm_peers_lost)                                                                           \
	X(cm_duplicates)                                                                           \
	X(cm_unknown)                                                                              \
	X(edp_echo_rx)                                                                             \
	X(edp_unreachable_tx)                                                                      \
	X(edp_unreachable_rx)                                                                      \
	X(goal_runs_started)                                                                       \
	X(goal_runs_done)                                                                          \
	X(goal_runs_failed)                                                                        \
	X(goal_share_refused)                                                                      \
	X(goal_ops)                                                                                \
	X(goal_msgs_tx)                                                                            \
	X(goal_msgs_rx)                                                                            \
	X(goal_unexpected)                                                                         \
	X(goal_pool_full)                                                                          \
	X(goal_pool_faults)                                                                        \
	X(goal_late)                                                                               \
	X(goal_malformed)                                                                          \
	X(goal_aborts_lost)                                                                        \
	X(goal_peers_lost)                                                                         \
	X(mgrp_tx_data)                                                                            \
	X(mgrp_tx_repairs)                                                                         \
	X(mgrp_tx_statuses)                                                                        \
	X(mgrp_tx_nacks)                                                                           \
	X(mgrp_tx_probes)                                                                          \
	X(mgrp_rx_packets)                                                                         \
	X(mgrp_rx_data)                                                                            \
	X(mgrp_rx_repairs)                                                                         \
	X(mgrp_rx_duplicates)                                                                      \
	X(mgrp_rx_statuses)                                                                        \
	X(mgrp_rx_nacks)                                                                           \
	X(mgrp_rx_probes)                                                                          \
	X(mgrp_statuses_stale)                                                                     \
	X(drop_too_short)                                                                          \
	X(drop_not_our_mac)                                                                        \
	X(drop_ethertype)                                                                          \
	X(drop_arp_malformed)                                                                      \
	X(drop_ip_header)                                                                          \
	X(drop_ip_checksum)                                                                        \
	X(drop_ip_fragment)                                                                        \
	X(drop_not_our_ip)                                                                         \
	X(drop_ip_protocol)                                                                        \
	X(drop_igmp)                                                                               \
	X(drop_mcast_no_group)                                                                     \
	X(drop_mcast_reflected)                                                                    \
	X(drop_icmp)                                                                               \
	X(drop_udp_length)                                                                         \
	X(drop_udp_checksum)                                                                       \
	X(drop_udp_port)                                                                           \
	X(drop_dgram_short)                                                                        \
	X(drop_dgram_version)                                                                      \
	X(drop_dgram_type)                                                                         \
	X(drop_dgram_crc)                                                                          \
	X(drop_no_qp)                                                                              \
	X(drop_qp_type)                                                                            \
	X(drop_qp_state)                                                                           \
	X(drop_qkey)                                                                               \
	X(drop_ddp_malformed)                                                                      \
	X(drop_ud_no_receive)                                                                      \
	X(drop_ud_too_long)                                                                        \
	X(drop_ud_reassembly_full)                                                                 \
	X(drop_ud_protection)                                                                      \
	X(drop_uc_stray)                                                                           \
	X(drop_uc_order)                                                                           \
	X(drop_uc_no_receive)                                                                      \
	X(drop_uc_too_long)                                                                        \
	X(drop_uc_protection)                                                                      \
	X(drop_rd_no_session)                                                                      \
	X(drop_rd_epoch)                                                                           \
	X(drop_rd_window)                                                                          \
	X(drop_rd_malformed)                                                                       \
	X(drop_rd_no_memory)                                                                       \
	X(drop_rd_incarnation)                                                                     \
	X(drop_cm_malformed)                                                                       \
	X(drop_cm_backlog)                                                                         \
	X(drop_esp_malformed)                                                                      \
	X(drop_esp_crc)                                                                            \
	X(drop_esp_no_stream)                                                                      \
	X(drop_esp_incarnation)                                                                    \
	X(drop_esp_no_memory)                                                                      \
	X(drop_mgrp_no_member)                                                                     \
	X(drop_mgrp_epoch)                                                                         \
	X(drop_mgrp_window)                                                                        \
	X(drop_mgrp_no_memory)                                                                     \
	X(drop_neigh_unresolved)

struct fw_counters {
#define X(name) uint64_t name;
	FW_COUNTERS(X)
#undef X
};

#endif /* WEFT_FW_COUNTERS_H */
