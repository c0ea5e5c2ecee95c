/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of the firmware, named as ethtool -S would print them, each with the sentence that tools
 * and docs/counters.md show.
 *
 * X(name, help): struct fw_counters (nic_fw/base/counters.h) has a uint64_t of that name. Each
 * frame that is not used is counted in exactly one drop_* counter. For a datagram to a group, each
 * copy that a QP does not take is counted. lib/stat_rows.h finds the sentence of a name.
 */
#ifndef WEFT_HW_COUNTERS_H
#define WEFT_HW_COUNTERS_H

#define HW_COUNTERS(X)                                                                             \
	X(rx_frames, "Frames received")                                                            \
	X(rx_bytes, "Bytes of the frames received")                                                \
	X(rx_crc_checked, "Frames received whose CRC32C was computed and compared")                \
	X(rx_joined, "Packets that were taken as a run although they came one by one")             \
	X(tx_frames, "Frames sent")                                                                \
	X(tx_bytes, "Bytes of the frames sent")                                                    \
	X(tx_dropped,                                                                              \
	  "Frames lost because the port refused them within the room that it had reported")        \
	X(tx_busy, "Frames lost because memory of a process answered too slowly")                  \
	X(tx_backpressure, "Bursts of frames of which the port did not take all at once")          \
	X(doorbells, "Doorbells read")                                                             \
	X(doorbells_bad, "Doorbells ignored because their value was impossible")                   \
	X(wqes, "Work requests fetched")                                                           \
	X(wqes_bad, "Work requests refused because their fields were wrong")                       \
	X(wqes_share_refused,                                                                      \
	  "Times that work requests waited because a process or user held its whole share")        \
	X(cqes, "Completions written")                                                             \
	X(cqes_late, "Times that completions waited for a copy of unmapped memory")                \
	X(cq_overruns, "Completion queues that overflowed")                                        \
	X(events, "Events written to event queues")                                                \
	X(events_lost, "Events without room in their event queue")                                 \
	X(interrupts, "Interrupts raised")                                                         \
	X(commands, "Commands of processes carried out")                                           \
	X(commands_slot, "Those of them that came by slots of the BAR")                            \
	X(commands_bad, "Commands of processes refused")                                           \
	X(host_reads, "Copies from memory of processes")                                           \
	X(host_writes, "Copies to memory of processes")                                            \
	X(host_read_bytes, "Bytes copied from memory of processes")                                \
	X(host_write_bytes, "Bytes copied to memory of processes")                                 \
	X(mrs_mapped, "Regions registered in memory that weftd maps")                              \
	X(mrs_process_vm, "Regions registered in memory that weftd reaches by copies")             \
	X(recv_msgs_share_refused,                                                                 \
	  "Messages refused because a user held its share of messages being received")             \
	X(ud_reasms_share_refused,                                                                 \
	  "UD messages refused because a user held its share of reassemblies")                     \
	X(bad_stags, "Accesses by a peer with an STag that does not allow them")                   \
	X(bad_stags_refused, "Accesses refused unseen because a peer guessed too many STags")      \
	X(host_faults, "Accesses to memory that a process no longer has")                          \
	X(host_busy, "Accesses that wait because memory of a process answers slowly")              \
	X(arp_requests_rx, "ARP requests received")                                                \
	X(arp_replies_rx, "ARP replies received")                                                  \
	X(arp_tx, "ARP packets sent")                                                              \
	X(arp_conflicts, "ARP packets of another station with this NIC's address")                 \
	X(icmp_echo_rx, "ICMP echo requests received")                                             \
	X(icmp_unreachable_rx, "ICMP unreachable messages received")                               \
	X(igmp_queries_rx, "IGMP queries received")                                                \
	X(igmp_queries_v1_rx, "IGMP queries of version 1 received")                                \
	X(igmp_queries_v2_rx, "IGMP queries of version 2 received")                                \
	X(igmp_reports_rx, "IGMP reports of other stations received")                              \
	X(igmp_reports_tx, "IGMP reports sent")                                                    \
	X(igmp_records_tx, "Group records in the IGMP reports sent")                               \
	X(igmp_leaves_tx, "IGMP leave messages sent")                                              \
	X(mcast_tx_msgs, "Messages sent to multicast groups")                                      \
	X(mcast_rx_packets, "Packets of multicast groups received")                                \
	X(mcast_rx_copies, "Copies of multicast packets given to queue pairs")                     \
	X(mcast_rx_self_blocked, "Multicast packets withheld from the queue pair that sent them")  \
	X(ud_tx_msgs, "UD messages sent")                                                          \
	X(ud_rx_msgs, "UD messages received")                                                      \
	X(ud_rx_records, "RDMA Write-Record messages received")                                    \
	X(ud_rx_records_partial, "RDMA Write-Record messages of which only a part arrived")        \
	X(ud_reassembly_timeouts,                                                                  \
	  "UD messages given up because parts of them did not arrive in time")                     \
	X(ud_errors_tx, "Error reports sent for UD packets")                                       \
	X(ud_errors_rx, "Error reports received for UD packets")                                   \
	X(uc_tx_msgs, "UC messages sent")                                                          \
	X(uc_rx_msgs, "UC messages received")                                                      \
	X(uc_rx_msgs_lost, "UC messages lost in whole or in part")                                 \
	X(rd_tx_packets, "RD packets sent, without retransmissions")                               \
	X(rd_tx_bundles, "Frames sent that carry several RD packets with a message each")          \
	X(rd_tx_retransmits, "RD packets sent again")                                              \
	X(rd_tx_probes, "RD probes sent to peers that were silent")                                \
	X(rd_tx_voids, "Empty RD packets sent in place of payload that is no longer needed")       \
	X(rd_rx_packets, "RD packets received")                                                    \
	X(rd_rx_bundles, "Frames received that carry several RD packets with a message each")      \
	X(rd_rx_duplicates, "RD packets received more than once")                                  \
	X(rd_rx_out_of_order, "RD packets received before an earlier one")                         \
	X(rd_rx_refused, "RD packets whose receiver was not ready")                                \
	X(rd_acks_tx, "RD acknowledgements sent")                                                  \
	X(rd_acks_rx, "RD acknowledgements received")                                              \
	X(rd_acks_stale, "RD acknowledgements older than one received before")                     \
	X(rd_cwnd_cuts, "Reductions of an RD sending window")                                      \
	X(rd_grants_expired, "RD grants that their sender did not use in time")                    \
	X(rd_timeouts, "RD retransmission timeouts")                                               \
	X(rd_rnr_backoffs, "RD waits for a receiver that was not ready")                           \
	X(rd_sessions_opened, "RD sessions opened")                                                \
	X(rd_sessions_failed, "RD sessions that failed")                                           \
	X(rd_peer_restarts, "RD peers that began a session anew")                                  \
	X(rd_challenges_tx, "Cookies sent to peers that ask for an RD session")                    \
	X(rd_challenges_rx, "Cookies received for RD sessions asked for")                          \
	X(retry_exceeded, "Requests ended because the peer did not answer")                        \
	X(rd_flows_share_refused,                                                                  \
	  "RD messages that wait because a process or user held its share of flows")               \
	X(rd_sessions_share_refused,                                                               \
	  "RD sessions refused because a process or user held its share")                          \
	X(tcp_share_refused, "TCP connections refused because a process or user held its share")   \
	X(esp_share_refused, "ESP streams refused because a process or user held its share")       \
	X(terminates_tx, "Terminate messages sent for datagrams")                                  \
	X(terminates_held_back,                                                                    \
	  "Requests without a Terminate because their peer has not taken earlier ones")            \
	X(responses_held_back,                                                                     \
	  "Reads and atomics refused because their station held its share of contexts")            \
	X(terminates_rx, "Terminate messages received for datagrams")                              \
	X(rd_cancels_tx, "Messages cancelled at the peer")                                         \
	X(rd_cancels_rx, "Messages cancelled by the peer")                                         \
	X(atomics_executed, "Atomic operations carried out for peers")                             \
	X(atomics_contended,                                                                       \
	  "Atomic operations put off because a process kept changing their memory")                \
	X(reads_executed, "RDMA Reads carried out for peers")                                      \
	X(tag_matched_posted, "Tagged messages that met a posted receive on arrival")              \
	X(tag_matched_unexpected, "Tagged receives that met a message that had arrived")           \
	X(tag_unexpected, "Tagged messages that arrived before their receive")                     \
	X(tag_rendezvous, "Tagged messages fetched by rendezvous")                                 \
	X(tag_converted, "Eager tagged messages changed into a rendezvous")                        \
	X(tag_announced, "Receive buffers announced to senders")                                   \
	X(tag_announced_used, "Announced receive buffers that their sender wrote to")              \
	X(tag_announced_dropped, "Announced receive buffers that their sender did not use")        \
	X(tag_pool_full, "Times that an unexpected pool was full")                                 \
	X(tag_stale, "Tagged control messages for an operation that is over")                      \
	X(tag_malformed, "Tagged control messages with wrong fields")                              \
	X(tag_posteds_share_refused,                                                               \
	  "Tagged receives refused because a process or user held its share")                      \
	X(tag_arrivals_share_refused,                                                              \
	  "Tagged messages held back because a process or user held its share of arrivals")        \
	X(tag_sends_share_refused,                                                                 \
	  "Tagged sends that wait because a process or user held its share")                       \
	X(tag_peers_share_refused,                                                                 \
	  "Tagged peers refused because a process or user held its share")                         \
	X(tag_notices_held_back,                                                                   \
	  "Replies to tagged messages held back because their peer has not taken earlier ones")    \
	X(tag_peer_held_back,                                                                      \
	  "Tagged messages held back because their peer held its share of the pool")               \
	X(esp_streams_opened, "ESP streams opened")                                                \
	X(esp_tx_packets, "ESP packets sent, without retransmissions")                             \
	X(esp_tx_retransmits, "ESP packets sent again")                                            \
	X(esp_tx_acks, "ESP acknowledgements sent")                                                \
	X(esp_rx_packets, "ESP packets received")                                                  \
	X(esp_rx_duplicates, "ESP packets received more than once")                                \
	X(esp_rx_out_of_order, "ESP packets received before an earlier one")                       \
	X(esp_acks_stale, "ESP acknowledgements older than one received before")                   \
	X(esp_rrq_tx, "ESP requests for retransmission sent")                                      \
	X(esp_rrq_rx, "ESP requests for retransmission received")                                  \
	X(esp_timeouts, "ESP retransmission timeouts")                                             \
	X(esp_syn_early, "ESP SYNs that came before this end expected them")                       \
	X(esp_syn_foreign, "ESP SYNs for a stream that is in use")                                 \
	X(esp_rdmap_rnr_tx, "Notices sent over ESP that the receiver is not ready")                \
	X(esp_rdmap_rnr_rx, "Notices received over ESP that the receiver is not ready")            \
	X(tcp_active_opens, "TCP connections begun by this end")                                   \
	X(tcp_passive_opens, "TCP connections begun by the peer")                                  \
	X(tcp_established, "TCP connections established")                                          \
	X(tcp_failed, "TCP connections that ended otherwise than by an orderly close")             \
	X(tcp_given_up, "TCP connections ended because the peer did not answer")                   \
	X(tcp_table_full, "TCP connections refused because the table was full")                    \
	X(tcp_syns_rx, "TCP SYNs received by listeners")                                           \
	X(tcp_half_open_lost, "Half-open TCP connections whose last acknowledgement never came")   \
	X(tcp_cookies_tx, "TCP SYN cookies sent")                                                  \
	X(tcp_cookies_rx, "TCP connections established by a SYN cookie")                           \
	X(tcp_rx_segments, "TCP segments received")                                                \
	X(tcp_rx_out_of_order, "TCP segments received before an earlier one")                      \
	X(tcp_rx_duplicates, "TCP segments received more than once")                               \
	X(tcp_rx_dsacks, "TCP acknowledgements that report a duplicate")                           \
	X(tcp_rx_late_acks,                                                                        \
	  "TCP acknowledgements with an old time stamp that were used all the same")               \
	X(tcp_rx_resets, "TCP resets received")                                                    \
	X(tcp_early_full,                                                                          \
	  "TCP segments of which a part was not kept because too many gaps were open")             \
	X(tcp_tx_segments, "TCP segments sent, without retransmissions")                           \
	X(tcp_tx_retransmits, "TCP segments sent again")                                           \
	X(tcp_tx_acks, "TCP acknowledgements sent without data")                                   \
	X(tcp_tx_resets, "TCP resets sent")                                                        \
	X(tcp_challenge_acks, "TCP challenge acknowledgements sent")                               \
	X(tcp_recoveries, "TCP loss recoveries begun")                                             \
	X(tcp_undone, "TCP window reductions undone because nothing had been lost")                \
	X(tcp_timeouts, "TCP retransmission timeouts")                                             \
	X(tcp_spurious_timeouts, "TCP retransmission timeouts found to be premature")              \
	X(tcp_tail_probes, "TCP tail loss probes sent")                                            \
	X(tcp_window_probes, "TCP probes of a closed window")                                      \
	X(tcp_keepalives, "TCP keep-alive probes sent")                                            \
	X(tcp_ecn_cuts, "TCP window reductions because of congestion marks")                       \
	X(tcp_mtu_shrunk, "TCP connections that reduced their segment size to the path")           \
	X(tcp_mtu_grown, "TCP connections that raised their segment size to the path")             \
	X(tcp_icmp_ignored, "ICMP messages for TCP that were not believed")                        \
	X(mpa_tx_fpdus, "MPA FPDUs sent")                                                          \
	X(mpa_rx_fpdus, "MPA FPDUs received")                                                      \
	X(mpa_rx_early, "MPA FPDUs placed before an earlier one arrived")                          \
	X(mpa_no_memory, "Times that MPA had no memory for a message")                             \
	X(mpa_partials_reclaimed, "Partial FPDUs whose memory was taken back")                     \
	X(mpa_terminates_tx, "Terminate messages sent over TCP")                                   \
	X(mpa_terminates_rx, "Terminate messages received over TCP")                               \
	X(mpa_retry_exceeded, "Requests over TCP ended because the connection failed")             \
	X(cm_tx, "Connection manager messages sent")                                               \
	X(cm_rx, "Connection manager messages received")                                           \
	X(cm_retries, "Connection manager messages sent again")                                    \
	X(cm_requests, "Connection requests received")                                             \
	X(cm_established, "Connections established by the connection manager")                     \
	X(cm_rejected, "Connection requests that the peer refused")                                \
	X(cm_closed, "Connections closed")                                                         \
	X(cm_peers_lost, "Connections whose peer did not answer any more")                         \
	X(cm_duplicates, "Connection requests received more than once")                            \
	X(cm_unknown, "Connection manager messages for an endpoint that does not exist")           \
	X(cm_port_denied, "Ports refused because the process may not listen there")                \
	X(cm_port_refused, "Ports refused because they are in use")                                \
	X(cm_data_unread, "Connections closed with data that the process had not read")            \
	X(mpa_established, "MPA connections established")                                          \
	X(mpa_fallbacks, "MPA set-ups repeated in an older form")                                  \
	X(mpa_setup_malformed, "MPA set-up messages with wrong fields")                            \
	X(mpa_setup_timeouts, "MPA set-ups that did not end in time")                              \
	X(edp_echo_rx, "EDP echo requests received")                                               \
	X(edp_unreachable_tx, "EDP unreachable messages sent")                                     \
	X(edp_unreachable_rx, "EDP unreachable messages received")                                 \
	X(goal_runs_started, "GOAL runs started")                                                  \
	X(goal_user_ops, "Operations of users registered for GOAL runs")                           \
	X(goal_runs_done, "GOAL runs that ended with success")                                     \
	X(goal_runs_failed, "GOAL runs that failed")                                               \
	X(goal_share_refused, "GOAL objects refused because a process or user held its share")     \
	X(goal_ops, "GOAL operations carried out")                                                 \
	X(goal_msgs_tx, "GOAL messages sent")                                                      \
	X(goal_msgs_rx, "GOAL messages received")                                                  \
	X(goal_unexpected, "GOAL messages that arrived before their receive")                      \
	X(goal_slow, "Waits of GOAL runs for memory that answers slowly")                          \
	X(goal_pool_full, "Times that a GOAL pool was full")                                       \
	X(goal_pool_circles,                                                                       \
	  "GOAL runs ended because full pools waited for each other in a circle")                  \
	X(goal_pool_faults, "GOAL runs ended because their pool's memory was gone")                \
	X(goal_late, "GOAL messages for a run that is over")                                       \
	X(goal_malformed, "GOAL messages with wrong fields")                                       \
	X(goal_aborts_lost, "Ranks that could not be notified of the end of a communicator")       \
	X(goal_peers_lost, "GOAL peers that did not answer any more")                              \
	X(mgrp_tx_data, "Reliable group packets sent")                                             \
	X(mgrp_tx_repairs, "Reliable group packets sent again")                                    \
	X(mgrp_tx_statuses, "Status messages sent to a group's sender")                            \
	X(mgrp_tx_nacks, "Requests for repair sent to a group's sender")                           \
	X(mgrp_tx_probes, "Probes sent to members of a group")                                     \
	X(mgrp_rx_packets, "Reliable group packets received")                                      \
	X(mgrp_rx_data, "Reliable group data packets received")                                    \
	X(mgrp_rx_repairs, "Reliable group repairs received")                                      \
	X(mgrp_rx_duplicates, "Reliable group packets received more than once")                    \
	X(mgrp_rx_statuses, "Status messages received from members of a group")                    \
	X(mgrp_rx_nacks, "Requests for repair received from members of a group")                   \
	X(mgrp_rx_probes, "Probes received from a group's sender")                                 \
	X(mgrp_statuses_stale, "Status messages of a group that came too late")                    \
	X(drop_too_short, "Frames shorter than their headers")                                     \
	X(drop_not_our_mac, "Frames for another MAC address")                                      \
	X(drop_ethertype, "Frames of an EtherType that is not served")                             \
	X(drop_arp_malformed, "ARP packets with wrong fields")                                     \
	X(drop_ip_header, "IPv4 packets with a wrong header")                                      \
	X(drop_ip_checksum, "IPv4 packets with a wrong header checksum")                           \
	X(drop_ip_fragment, "IPv4 fragments")                                                      \
	X(drop_not_our_ip, "IPv4 packets for another address")                                     \
	X(drop_ip_protocol, "IPv4 packets of a protocol that is not served")                       \
	X(drop_igmp, "IGMP messages with wrong fields")                                            \
	X(drop_mcast_no_group, "Multicast packets of a group without members here")                \
	X(drop_mcast_reflected, "Multicast packets of this NIC that the network returned")         \
	X(drop_icmp, "ICMP messages that are not served")                                          \
	X(drop_udp_length, "UDP datagrams with a wrong length")                                    \
	X(drop_udp_checksum, "UDP datagrams with a wrong checksum")                                \
	X(drop_udp_port, "UDP datagrams to a port that is not served")                             \
	X(drop_dgram_short, "Datagrams shorter than their headers")                                \
	X(drop_dgram_version, "Datagrams of another version of the protocol")                      \
	X(drop_dgram_type, "Datagrams of an unknown type")                                         \
	X(drop_dgram_crc, "Datagrams with a wrong CRC32C")                                         \
	X(drop_no_qp, "Packets for a queue pair that does not exist")                              \
	X(drop_qp_type, "Packets for a queue pair of another type")                                \
	X(drop_qp_state, "Packets for a queue pair that cannot receive now")                       \
	X(drop_qkey, "UD packets with a wrong Q_Key")                                              \
	X(drop_xrc_srq, "XRC packets for a shared receive queue that is not of their domain")      \
	X(drop_ddp_malformed, "DDP segments with wrong fields")                                    \
	X(drop_ud_no_receive, "UD messages without a posted receive")                              \
	X(drop_ud_too_long, "UD messages longer than their receive")                               \
	X(drop_ud_reassembly_full, "UD packets without room for another reassembly")               \
	X(drop_ud_protection, "UD packets that may not access the memory they name")               \
	X(drop_ud_busy, "UD packets whose memory in a process answered too slowly")                \
	X(drop_uc_stray, "UC packets that are not from the connected peer")                        \
	X(drop_uc_order, "UC packets out of order")                                                \
	X(drop_uc_no_receive, "UC messages without a posted receive")                              \
	X(drop_uc_too_long, "UC messages longer than their receive")                               \
	X(drop_uc_protection, "UC packets that may not access the memory they name")               \
	X(drop_uc_busy, "UC packets whose memory in a process answered too slowly")                \
	X(drop_rd_no_session, "RD packets without a session")                                      \
	X(drop_rd_epoch, "RD packets of another session of their peer")                            \
	X(drop_rd_window, "RD packets outside the window")                                         \
	X(drop_rd_ungranted, "RD packets beyond what their sender was granted")                    \
	X(drop_rd_malformed, "RD packets with wrong fields")                                       \
	X(drop_rd_no_memory, "RD packets without memory to hold them")                             \
	X(drop_incarnation, "Packets for an earlier queue pair of the same number")                \
	X(drop_rd_neigh, "RD HELLOs that did not come from the neighbour's MAC address")           \
	X(drop_rd_share, "RD HELLOs of a neighbour that holds its share of sessions")              \
	X(drop_cm_malformed, "Connection manager messages with wrong fields")                      \
	X(drop_cm_early,                                                                           \
	  "Connection requests to a port whose server has bound it and does not listen now")       \
	X(drop_cm_backlog, "Connection requests to a listener whose backlog is full")              \
	X(drop_cm_neigh,                                                                           \
	  "Connection manager messages that did not come from the neighbour's MAC address")        \
	X(drop_tcp_malformed, "TCP segments with wrong fields")                                    \
	X(drop_tcp_checksum, "TCP segments with a wrong checksum")                                 \
	X(drop_tcp_no_flow, "TCP segments without a connection")                                   \
	X(drop_tcp_window, "TCP segments outside the window")                                      \
	X(drop_tcp_paws, "TCP segments with an old time stamp")                                    \
	X(drop_tcp_ack, "TCP segments that acknowledge what was not sent")                         \
	X(drop_tcp_backlog, "TCP SYNs to a listener whose backlog is full")                        \
	X(drop_esp_malformed, "ESP packets with wrong fields")                                     \
	X(drop_esp_crc, "ESP packets with a wrong CRC32C")                                         \
	X(drop_esp_no_stream, "ESP packets without a stream")                                      \
	X(drop_esp_incarnation, "ESP packets of an earlier stream between the same ends")          \
	X(drop_esp_no_memory, "ESP packets without memory to hold them")                           \
	X(drop_mpa_crc, "MPA FPDUs with a wrong CRC32C")                                           \
	X(drop_mpa_marker, "MPA FPDUs with a wrong marker or length")                              \
	X(drop_mgrp_no_member, "Reliable group packets without a member here")                     \
	X(drop_mgrp_epoch, "Reliable group packets of another epoch")                              \
	X(drop_mgrp_window, "Reliable group packets outside the window")                           \
	X(drop_mgrp_no_memory, "Reliable group packets without memory to hold them")               \
	X(drop_neigh_unresolved, "Frames whose neighbour did not answer ARP")

#endif /* WEFT_HW_COUNTERS_H */
