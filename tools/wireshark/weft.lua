-- SPDX-License-Identifier: BSD-3-Clause
--
-- Wireshark dissector of weft's datagram-iWARP (docs/wire-format.md).
--
--	tshark -X lua_script:weft.lua -r FILE		or copy it to Wireshark's plugin folder
--
-- UDP ports 47810 to 47817. Decodes the common header, RD's session header, acknowledgements (the
-- PSNs behind each bitmap), bundles of messages, HELLO and PROBE, the connection manager's messages
-- (docs/connection-manager.md), checks the CRC32C, and hands the DDP segment on to
-- Wireshark's own dissector of DDP and RDMAP, "iwarp_ddp_rdmap".
--
-- Fields can be used in filters: weft.type == 1 && weft.rd.psn == 7, weft.crc.status == "bad".

local weft = Proto("weft", "weft datagram-iWARP")

local PORT_FIRST, PORTS = 47810, 8
local VERSION = 2
local DGRAM_BYTES, RD_BYTES, ACK_BYTES, HELLO_BYTES, CRC_BYTES = 28, 24, 56, 32, 4
local CANCEL_BYTES, CM_BYTES, PART_BYTES = 16, 48, 16
local WINDOW = 128 -- PSNs that may be on the way

local UD, RD, RD_ACK, RD_HELLO, RD_PROBE, CM, UC, RD_BUNDLE = 0, 1, 2, 3, 4, 5, 6, 7
local types = {
	[UD] = "UD",
	[RD] = "RD data",
	[RD_ACK] = "RD acknowledgement",
	[RD_HELLO] = "RD hello",
	[RD_PROBE] = "RD probe",
	[CM] = "CM",
	[UC] = "UC",
	[RD_BUNDLE] = "RD bundle",
}

local f = weft.fields
f.version = ProtoField.uint8("weft.version", "Version", base.DEC, nil, 0xf0)
f.type = ProtoField.uint8("weft.type", "Type", base.DEC, types, 0x0f)
f.flags = ProtoField.uint8("weft.flags", "Flags", base.HEX)
f.flag_imm = ProtoField.bool("weft.flags.imm", "Immediate data", 8, nil, 0x01)
f.flag_solicited = ProtoField.bool("weft.flags.solicited", "Solicited event", 8, nil, 0x02)
f.flag_response = ProtoField.bool("weft.flags.response", "Flow of responses", 8, nil, 0x04)
f.flag_record = ProtoField.bool("weft.flags.record", "Write-Record", 8, nil, 0x08)
f.flag_ack = ProtoField.bool("weft.flags.ack", "Acknowledgement valid", 8, nil, 0x10)
f.flag_ece = ProtoField.bool("weft.flags.ece", "Congestion experienced", 8, nil, 0x20)
f.flag_retransmit = ProtoField.bool("weft.flags.retransmit", "Retransmission", 8, nil, 0x40)
f.flag_more = ProtoField.bool("weft.flags.more", "More to send", 8, nil, 0x80)
f.incarnation = ProtoField.uint16("weft.incarnation", "Incarnation", base.HEX)
f.dst_qpn = ProtoField.uint32("weft.dst_qpn", "Destination QPN", base.HEX)
f.src_qpn = ProtoField.uint32("weft.src_qpn", "Source QPN", base.HEX)
f.qkey = ProtoField.uint32("weft.qkey", "Q_Key", base.HEX)
-- RD carries RC and XRC as well, without a field that tells them apart.
f.qkey_or_srq = ProtoField.uint32("weft.qkey", "Q_Key (RD), 0 (RC), or SRQ number (XRC)", base.HEX)
f.uc_offset = ProtoField.uint32("weft.uc.offset", "Offset in the message", base.DEC)
f.imm = ProtoField.uint32("weft.imm", "Immediate data", base.HEX)
f.msg_bytes = ProtoField.uint32("weft.msg_bytes", "Message length", base.DEC)
f.ssn = ProtoField.uint32("weft.ssn", "Message number (SSN)", base.DEC)

f.epoch = ProtoField.uint32("weft.rd.epoch", "Epoch", base.HEX)
f.psn = ProtoField.uint32("weft.rd.psn", "PSN", base.DEC)
f.ack = ProtoField.uint32("weft.rd.ack", "Acknowledged before PSN", base.DEC)
f.timestamp = ProtoField.uint32("weft.rd.timestamp", "Timestamp (ns)", base.DEC)
f.echo = ProtoField.uint32("weft.rd.timestamp_echo", "Timestamp echo (ns)", base.DEC)
f.distance = ProtoField.uint16("weft.rd.flow_distance", "Distance to previous of flow", base.DEC)
f.used = ProtoField.uint8("weft.rd.used", "Credits used", base.DEC)
f.limit = ProtoField.uint8("weft.rd.limit", "Credits granted", base.DEC)

local cm_types = {
	"REQ", "MRA", "REP", "RTU", "REJ", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "ALIVE", "ALIVE_REP",
}
local cm_spaces = { [0x0002] = "IPoIB", [0x0106] = "TCP", [0x0111] = "UDP", [0x013f] = "IB" }
local cm_reasons = {
	[3] = "no resources", [4] = "timeout", [6] = "no such endpoint", [8] = "nobody listens",
	[28] = "the process says no", [35] = "vendor option", [0x8001] = "another shard listens",
}
f.cm_type = ProtoField.uint8("weft.cm.type", "Message", base.DEC, cm_types)
f.cm_flags = ProtoField.uint8("weft.cm.flags", "Flags", base.HEX)
f.cm_srq = ProtoField.bool("weft.cm.flags.srq", "Shared receive queue", 8, nil, 0x01)
f.cm_flow_control = ProtoField.bool("weft.cm.flags.flow_control", "Flow control", 8, nil, 0x02)
f.cm_private_bytes = ProtoField.uint8("weft.cm.private_bytes", "Bytes of private data", base.DEC)
f.cm_qp_type = ProtoField.uint8("weft.cm.qp_type", "Type of QP", base.DEC)
f.cm_reason = ProtoField.uint16("weft.cm.reason", "Reason", base.DEC, cm_reasons)
f.cm_arg = ProtoField.uint16("weft.cm.shard", "Shard to ask", base.DEC)
f.cm_src_id = ProtoField.uint64("weft.cm.src_id", "Sender's endpoint", base.HEX)
f.cm_dst_id = ProtoField.uint64("weft.cm.dst_id", "Receiver's endpoint", base.HEX)
f.cm_space = ProtoField.uint16("weft.cm.space", "Port space", base.HEX, cm_spaces)
f.cm_src_port = ProtoField.uint16("weft.cm.src_port", "Source port", base.DEC)
f.cm_dst_port = ProtoField.uint16("weft.cm.dst_port", "Destination port", base.DEC)
f.cm_mtu = ProtoField.uint16("weft.cm.mtu", "MTU", base.DEC)
f.cm_qpn = ProtoField.uint32("weft.cm.qpn", "QPN", base.HEX)
f.cm_psn = ProtoField.uint32("weft.cm.psn", "First PSN", base.HEX)
f.cm_qkey = ProtoField.uint32("weft.cm.qkey", "Q_Key", base.HEX)
f.cm_resources = ProtoField.uint8("weft.cm.responder_resources", "Responder resources", base.DEC)
f.cm_depth = ProtoField.uint8("weft.cm.initiator_depth", "Initiator depth", base.DEC)
f.cm_retries = ProtoField.uint8("weft.cm.retry_count", "Retries", base.DEC)
f.cm_rnr = ProtoField.uint8("weft.cm.rnr_retry_count", "RNR retries", base.DEC)
f.cm_private = ProtoField.bytes("weft.cm.private_data", "Private data")

f.received = ProtoField.uint64("weft.ack.received", "Received bitmap", base.HEX)
f.refused = ProtoField.uint64("weft.ack.refused", "Refused bitmap", base.HEX)
f.received_psn = ProtoField.uint32("weft.ack.received_psn", "Received PSN", base.DEC)
f.refused_psn = ProtoField.uint32("weft.ack.refused_psn", "Refused PSN", base.DEC)
f.rnr = ProtoField.uint32("weft.ack.rnr_timer_ns", "RNR timer (ns)", base.DEC)
f.ack_reserved = ProtoField.uint32("weft.ack.reserved", "Reserved", base.HEX)

f.bundle_messages = ProtoField.uint32("weft.bundle.messages", "Messages", base.DEC)
f.part_psn = ProtoField.uint32("weft.part.psn", "PSN", base.DEC)
f.part_bytes = ProtoField.uint16("weft.part.bytes", "Bytes of the segment", base.DEC)
f.part_flags = ProtoField.uint8("weft.part.flags", "Flags", base.HEX)
f.part_reserved = ProtoField.uint8("weft.part.reserved", "Reserved", base.HEX)
f.part_imm = ProtoField.uint32("weft.part.imm", "Immediate data", base.HEX)
f.part_msg_bytes = ProtoField.uint32("weft.part.msg_bytes", "Bytes of the message", base.DEC)
f.part_ssn = ProtoField.uint32("weft.part.ssn", "Message", base.DEC)
f.cancel_dst_qpn = ProtoField.uint32("weft.cancel.dst_qpn", "Receiving QP", base.HEX)
f.cancel_src_qpn = ProtoField.uint32("weft.cancel.src_qpn", "Sending QP", base.HEX)
f.cancel_first = ProtoField.uint32("weft.cancel.first_ssn", "First message", base.DEC)
f.cancel_last = ProtoField.uint32("weft.cancel.last_ssn", "Last message", base.DEC)
f.hello_epoch = ProtoField.uint32("weft.hello.epoch", "Sender's epoch", base.HEX)
f.hello_peer_epoch = ProtoField.uint32("weft.hello.peer_epoch", "Receiver's epoch", base.HEX)
f.hello_psn = ProtoField.uint32("weft.hello.first_psn", "First PSN", base.DEC)
f.hello_mtu = ProtoField.uint16("weft.hello.mtu", "MTU (bytes)", base.DEC)
f.hello_flags = ProtoField.uint8("weft.hello.flags", "Flags", base.HEX)
f.hello_reply = ProtoField.bool("weft.hello.flags.reply", "Reply", 8, nil, 0x01)
f.hello_challenge = ProtoField.bool("weft.hello.flags.challenge", "Challenge", 8, nil, 0x02)
f.hello_reserved = ProtoField.uint8("weft.hello.reserved", "Reserved", base.HEX)
f.hello_cookie = ProtoField.uint64("weft.hello.cookie", "Cookie", base.HEX)
f.hello_key_type = ProtoField.uint16("weft.hello.key_type", "Kind of key", base.DEC)
f.hello_key_bytes = ProtoField.uint16("weft.hello.key_bytes", "Bytes of key", base.DEC)
f.hello_key = ProtoField.bytes("weft.hello.key", "Key")

f.crc = ProtoField.uint32("weft.crc", "CRC32C", base.HEX)
f.crc_status = ProtoField.string("weft.crc.status", "CRC32C status")

local e_short = ProtoExpert.new("weft.short", "Datagram too short", expert.group.MALFORMED,
	expert.severity.ERROR)
local e_version = ProtoExpert.new("weft.version.unknown", "Unknown version",
	expert.group.MALFORMED, expert.severity.ERROR)
local e_type = ProtoExpert.new("weft.type.unknown", "Unknown type", expert.group.MALFORMED,
	expert.severity.ERROR)
local e_crc = ProtoExpert.new("weft.crc.bad", "Wrong CRC32C", expert.group.CHECKSUM,
	expert.severity.ERROR)
weft.experts = { e_short, e_version, e_type, e_crc }

weft.prefs.check_crc = Pref.bool("Check the CRC32C", true,
	"Computes the CRC32C of every datagram; large captures load faster without")

local udp_checksum = Field.new("udp.checksum")
local udp_length = Field.new("udp.length")

-- ---- CRC32C -------------------------------------------------------------------------------

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

local crc_table = {}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		c = band(c, 1) == 1 and bxor(rshift(c, 1), 0x82f63b78) or rshift(c, 1)
	end
	crc_table[i] = c
end

local function crc_add(c, bytes)
	for i = 1, #bytes do
		c = bxor(rshift(c, 8), crc_table[band(bxor(c, bytes:byte(i)), 0xff)])
	end
	return c
end

local function u16(v)
	return string.char(math.floor(v / 256), v % 256)
end

-- CRC32C of the UDP header and the bytes before the CRC. The header is rebuilt from its fields,
-- since a dissector sees only its payload.
local function crc_of(tvb, pinfo)
	local checksum, length = udp_checksum(), udp_length()
	local header = u16(pinfo.src_port) .. u16(pinfo.dst_port)
		.. u16(length and length.value or tvb:len() + 8) .. u16(checksum and checksum.value or 0)
	local c = crc_add(0xffffffff, header)
	c = crc_add(c, tvb:raw(0, tvb:len() - CRC_BYTES))
	-- bit's numbers are signed
	return bxor(c, 0xffffffff) % 4294967296
end

-- ---- parts ----------------------------------------------------------------------------------

local flag_names = {
	{ 0x01, "imm" }, { 0x02, "solicited" }, { 0x04, "response" }, { 0x08, "record" },
	{ 0x10, "ack" }, { 0x20, "ece" }, { 0x40, "retransmit" }, { 0x80, "more" },
}

local function flags_text(flags)
	local names = {}
	for _, n in ipairs(flag_names) do
		if band(flags, n[1]) ~= 0 then
			names[#names + 1] = n[2]
		end
	end
	return table.concat(names, ", ")
end

local function add_dgram(tvb, tree)
	local t = tree:add(weft, tvb(0, DGRAM_BYTES), "Common header")
	t:add(f.version, tvb(0, 1))
	t:add(f.type, tvb(0, 1))
	local ft = t:add(f.flags, tvb(1, 1))
	ft:append_text(" (" .. flags_text(tvb(1, 1):uint()) .. ")")
	for _, field in ipairs({ f.flag_imm, f.flag_solicited, f.flag_response, f.flag_record,
		f.flag_ack, f.flag_ece, f.flag_retransmit,
		f.flag_more }) do
		ft:add(field, tvb(1, 1))
	end
	t:add(f.incarnation, tvb(2, 2))
	t:add(f.dst_qpn, tvb(4, 4))
	t:add(f.src_qpn, tvb(8, 4))
	local kind = band(tvb(0, 1):uint(), 0x0f)
	local qkey_or_srq = kind == RD or kind == RD_BUNDLE
	t:add(qkey_or_srq and f.qkey_or_srq or kind == UC and f.uc_offset or f.qkey, tvb(12, 4))
	t:add(f.imm, tvb(16, 4))
	t:add(kind == RD_BUNDLE and f.bundle_messages or f.msg_bytes, tvb(20, 4))
	t:add(f.ssn, tvb(24, 4))
end

local function add_rd(tvb, at, tree)
	local t = tree:add(weft, tvb(at, RD_BYTES), "Session header")
	t:add(f.epoch, tvb(at, 4))
	t:add(f.psn, tvb(at + 4, 4))
	t:add(f.ack, tvb(at + 8, 4))
	t:add(f.timestamp, tvb(at + 12, 4))
	t:add(f.echo, tvb(at + 16, 4))
	t:add(f.distance, tvb(at + 20, 2))
	t:add(f.used, tvb(at + 22, 1))
	t:add(f.limit, tvb(at + 23, 1))
end

-- Words of a bitmap and the PSNs of its bits, the first bit being PSN first. Returns how many.
local function add_bitmap(tvb, at, words, tree, word_field, psn_field, first)
	local count = 0
	for w = 0, words - 1 do
		local t = tree:add(word_field, tvb(at + 8 * w, 8))
		for bit_number = 0, 63 do
			-- Bit 0 is the lowest of the last byte.
			local byte = tvb(at + 8 * w + 7 - math.floor(bit_number / 8), 1)
			if band(rshift(byte:uint(), bit_number % 8), 1) == 1 then
				local psn = (first + 64 * w + bit_number) % 4294967296
				t:add(psn_field, byte, psn):set_generated()
				count = count + 1
			end
		end
	end
	return count
end

local function add_ack(tvb, at, tree, ack)
	local t = tree:add(weft, tvb(at, ACK_BYTES), "Acknowledgement")
	local received = add_bitmap(tvb, at, WINDOW / 64, t, f.received, f.received_psn, ack)
	local refused = add_bitmap(tvb, at + WINDOW / 8, 2 * WINDOW / 64, t, f.refused, f.refused_psn,
		ack - WINDOW)
	t:add(f.rnr, tvb(at + 48, 4))
	t:add(f.ack_reserved, tvb(at + 52, 4))
	t:append_text(string.format(", %d received beyond, %d refused", received, refused))
	return received, refused
end

local function add_cancel(tvb, at, tree)
	local t = tree:add(weft, tvb(at, CANCEL_BYTES), "Cancellation")
	t:add(f.cancel_dst_qpn, tvb(at, 4))
	t:add(f.cancel_src_qpn, tvb(at + 4, 4))
	t:add(f.cancel_first, tvb(at + 8, 4))
	t:add(f.cancel_last, tvb(at + 12, 4))
end

local function add_hello(tvb, at, tree)
	local t = tree:add(weft, tvb(at, HELLO_BYTES), "Hello")
	t:add(f.hello_epoch, tvb(at, 4))
	t:add(f.hello_peer_epoch, tvb(at + 4, 4))
	t:add(f.hello_psn, tvb(at + 8, 4))
	t:add(f.hello_mtu, tvb(at + 12, 2))
	local ft = t:add(f.hello_flags, tvb(at + 14, 1))
	ft:add(f.hello_reply, tvb(at + 14, 1))
	ft:add(f.hello_challenge, tvb(at + 14, 1))
	t:add(f.hello_reserved, tvb(at + 15, 1))
	t:add(f.hello_cookie, tvb(at + 16, 8))
	t:add(f.hello_key_type, tvb(at + 24, 2))
	t:add(f.hello_key_bytes, tvb(at + 26, 2))
	local key = tvb(at + 26, 2):uint()
	if key > 0 and tvb:len() >= at + HELLO_BYTES + key + CRC_BYTES then
		t:add(f.hello_key, tvb(at + HELLO_BYTES, key))
	end
end

-- Place of each field of a message, in the order of struct wire_cm.
local cm_layout = {
	{ f.cm_type, 0, 1 }, { f.cm_flags, 1, 1 }, { f.cm_srq, 1, 1 }, { f.cm_flow_control, 1, 1 },
	{ f.cm_private_bytes, 2, 1 }, { f.cm_qp_type, 3, 1 }, { f.cm_reason, 4, 2 }, { f.cm_arg, 6, 2 },
	{ f.cm_src_id, 8, 8 }, { f.cm_dst_id, 16, 8 }, { f.cm_space, 24, 2 }, { f.cm_src_port, 26, 2 },
	{ f.cm_dst_port, 28, 2 }, { f.cm_mtu, 30, 2 }, { f.cm_qpn, 32, 4 }, { f.cm_psn, 36, 4 },
	{ f.cm_qkey, 40, 4 }, { f.cm_resources, 44, 1 }, { f.cm_depth, 45, 1 }, { f.cm_retries, 46, 1 },
	{ f.cm_rnr, 47, 1 },
}

local function add_cm(tvb, at, tree)
	local t = tree:add(weft, tvb(at, CM_BYTES), "Connection manager")
	for _, field in ipairs(cm_layout) do
		t:add(field[1], tvb(at + field[2], field[3]))
	end
	local bytes = tvb:len() - CRC_BYTES - at - CM_BYTES
	if bytes > 0 then
		t:add(f.cm_private, tvb(at + CM_BYTES, bytes))
	end
end

local function add_crc(tvb, pinfo, tree)
	local at = tvb:len() - CRC_BYTES
	local have = tvb(at, CRC_BYTES):le_uint()
	local item = tree:add_le(f.crc, tvb(at, CRC_BYTES))
	if not weft.prefs.check_crc then
		item:append_text(" [not checked]")
		tree:add(f.crc_status, tvb(at, CRC_BYTES), "unchecked"):set_generated()
	elseif tvb:len() ~= tvb:reported_len() then
		item:append_text(" [not all of the datagram was captured]")
		tree:add(f.crc_status, tvb(at, CRC_BYTES), "unchecked"):set_generated()
	else
		local want = crc_of(tvb, pinfo)
		local good = have == want
		item:append_text(good and " [correct]" or string.format(" [should be 0x%08x]", want))
		tree:add(f.crc_status, tvb(at, CRC_BYTES), good and "good" or "bad"):set_generated()
		if not good then
			tree:add_proto_expert_info(e_crc)
		end
	end
end

-- Bytes of each type's headers behind the common one; those with a DDP segment may be longer.
local header_bytes = {
	[UD] = 0,
	[RD] = RD_BYTES,
	[RD_ACK] = RD_BYTES + ACK_BYTES,
	[RD_HELLO] = HELLO_BYTES,
	[RD_PROBE] = RD_BYTES,
	[CM] = CM_BYTES,
	[UC] = 0,
	[RD_BUNDLE] = RD_BYTES + PART_BYTES,
}

local ddp = Dissector.get("iwarp_ddp_rdmap")

-- The DDP dissector offers the data of Sends to heuristic dissectors. That of RPC over RDMA would
-- accept it and report short messages as malformed, so weft's own comes first and accepts all data
-- of weft datagrams.
local in_weft = false
local payload = Proto("weft_payload", "weft message")
payload.fields.data = ProtoField.bytes("weft_payload.data", "Data")

local function take_payload(tvb, _, tree)
	if in_weft and tvb:len() > 0 then
		tree:add(payload.fields.data, tvb())
	end
	return in_weft
end

function payload.dissector(tvb, pinfo, tree)
	take_payload(tvb, pinfo, tree)
	return tvb:len()
end
payload:register_heuristic("iwarp_ddp_rdmap", take_payload)

-- A malformed DDP segment raises an error, after the dissector has reported it in the tree.
local function call_ddp(tvb, pinfo, root)
	in_weft = true
	pcall(function()
		ddp:call(tvb, pinfo, root)
	end)
	in_weft = false
end

-- The messages of a bundle from at on, up to stop; each has its own DDP segment.
local function add_parts(tvb, at, stop, pinfo, tree, root)
	local psn = tvb(DGRAM_BYTES + 4, 4):uint()
	while at < stop do
		local bytes = stop - at >= PART_BYTES and tvb(at, 2):uint() or stop
		if at + PART_BYTES + bytes > stop then
			tree:add_proto_expert_info(e_short)
			return
		end
		local t = tree:add(weft, tvb(at, PART_BYTES), string.format("Message %d", tvb(at + 12, 4):uint()))
		t:add(f.part_psn, tvb(DGRAM_BYTES + 4, 4), psn):set_generated()
		t:add(f.part_bytes, tvb(at, 2))
		t:add(f.part_flags, tvb(at + 2, 1)):append_text(" (" .. flags_text(tvb(at + 2, 1):uint()) .. ")")
		t:add(f.part_reserved, tvb(at + 3, 1))
		t:add(f.part_imm, tvb(at + 4, 4))
		t:add(f.part_msg_bytes, tvb(at + 8, 4))
		t:add(f.part_ssn, tvb(at + 12, 4))
		at = at + PART_BYTES
		call_ddp(tvb(at, bytes):tvb(), pinfo, root)
		at = at + bytes
		psn = (psn + 1) % 4294967296
	end
end

-- Text of the session's part for the packet list.
local function session_text(tvb, kind)
	if kind == RD then
		return string.format(" PSN %d", tvb(DGRAM_BYTES + 4, 4):uint())
	elseif kind == RD_BUNDLE then
		return string.format(" PSN %d, %d messages", tvb(DGRAM_BYTES + 4, 4):uint(), tvb(20, 4):uint())
	elseif kind == RD_ACK then
		return string.format(" before PSN %d", tvb(DGRAM_BYTES + 8, 4):uint())
	elseif kind == RD_PROBE then
		return string.format(" next PSN %d", tvb(DGRAM_BYTES + 4, 4):uint())
	elseif kind == RD_HELLO then
		local flags = tvb(DGRAM_BYTES + 14, 1):uint()
		if band(flags, 2) == 2 then
			return ", challenge"
		elseif tvb(DGRAM_BYTES, 4):uint() == 0 then
			return ", reset"
		end
		return string.format(" first PSN %d%s", tvb(DGRAM_BYTES + 8, 4):uint(),
			band(flags, 1) == 1 and ", reply" or "")
	elseif kind == CM then
		return " " .. (cm_types[tvb(DGRAM_BYTES, 1):uint()] or "of an unknown type")
	end
	return ""
end

-- The first byte alone decides the format of the rest. Returns the type, nil after an error.
local function check(tvb, tree)
	local version = tvb:len() > 0 and rshift(tvb(0, 1):uint(), 4) or 0
	local kind = tvb:len() > 0 and band(tvb(0, 1):uint(), 0x0f) or 0
	if tvb:len() < DGRAM_BYTES + CRC_BYTES then
		tree:add_proto_expert_info(e_short)
	elseif version ~= VERSION then
		tree:add(f.version, tvb(0, 1))
		tree:add_proto_expert_info(e_version)
	elseif not types[kind] then
		tree:add(f.type, tvb(0, 1))
		tree:add_proto_expert_info(e_type)
	elseif tvb:len() < DGRAM_BYTES + header_bytes[kind] + CRC_BYTES then
		tree:add_proto_expert_info(e_short)
	else
		return kind
	end
	return nil
end

function weft.dissector(tvb, pinfo, root)
	pinfo.cols.protocol = "weft"
	local tree = root:add(weft, tvb())
	local kind = check(tvb, tree)
	if not kind then
		pinfo.cols.info = "malformed"
		return tvb:len()
	end

	local info = types[kind] .. session_text(tvb, kind)
	-- Belongs to no QP: replaces a PSN (void), or ends messages of two others.
	local bare = kind == RD and tvb(4, 4):uint() == 0
	local rest = tvb:len() - CRC_BYTES - DGRAM_BYTES - RD_BYTES
	if bare then
		info = info .. (rest == CANCEL_BYTES and ", cancellation" or ", void")
	elseif kind == UD or kind == RD or kind == UC then
		info = string.format("%s, QPN 0x%x to 0x%x, message %d", info, tvb(8, 4):uint(),
			tvb(4, 4):uint(), tvb(24, 4):uint())
	elseif kind == RD_BUNDLE then
		info = string.format("%s, QPN 0x%x to 0x%x", info, tvb(8, 4):uint(), tvb(4, 4):uint())
	end
	tree:append_text(", " .. info)
	add_dgram(tvb, tree)
	local at = DGRAM_BYTES
	if kind == RD or kind == RD_ACK or kind == RD_PROBE or kind == RD_BUNDLE then
		add_rd(tvb, at, tree)
		at = at + RD_BYTES
	end
	if kind == RD_ACK then
		local received, refused = add_ack(tvb, at, tree, tvb(DGRAM_BYTES + 8, 4):uint())
		info = string.format("%s, %d beyond, %d refused", info, received, refused)
	elseif kind == RD_HELLO then
		add_hello(tvb, at, tree)
	elseif kind == CM then
		add_cm(tvb, at, tree)
	elseif bare and rest == CANCEL_BYTES then
		add_cancel(tvb, at, tree)
	end
	add_crc(tvb, pinfo, tree)

	pinfo.cols.info = info
	local end_of_ddp = tvb:len() - CRC_BYTES
	if (kind == UD or kind == RD or kind == RD_BUNDLE) and not bare and end_of_ddp > at then
		pinfo.cols.info:append(" | ")
		pinfo.cols.info:fence()
		if kind == RD_BUNDLE then
			add_parts(tvb, at, end_of_ddp, pinfo, tree, root)
		else
			call_ddp(tvb(at, end_of_ddp - at):tvb(), pinfo, root)
		end
		pinfo.cols.protocol = "weft"
	end
	return tvb:len()
end

local ports = DissectorTable.get("udp.port")
for port = PORT_FIRST, PORT_FIRST + PORTS - 1 do
	ports:add(port, weft)
end
