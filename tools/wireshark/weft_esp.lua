-- SPDX-License-Identifier: BSD-3-Clause
--
-- Wireshark dissector of weft's protocols over raw Ethernet (docs/wire-esp.md, docs/wire-group.md):
-- EDP, ESP, the GOAL messages and DDP segments that streams carry, and reliable multicast groups.
--
--	tshark -X lua_script:weft_esp.lua -r FILE	or copy it to Wireshark's plugin folder
--
-- EtherType 0x88b5. Decodes every header, the numbers of `received` and `missing`, the packet that
-- an unreachable quotes, checks the CRC32C, and hands DDP segments on to Wireshark's own dissector
-- "iwarp_ddp_rdmap". The SYN of a stream names its content; if the SYN was not captured, packets
-- that can be GOAL messages are decoded as such.
--
-- Fields can be used in filters: weft_esp.flags.txf == 1, weft_goal.tag == 7,
-- weft_edp.crc.status == "bad".

local ETHERTYPE = 0x88b5
local VERSION = 1
local EDP_BYTES, ESP_BYTES, OPEN_BYTES, CRC_BYTES = 8, 32, 32, 4
local GOAL_BYTES, RDMAP_BYTES, GROUP_BYTES = 40, 16, 64
local ESP, ECHO, ECHO_REPLY, UNREACHABLE, GROUP = 0, 1, 2, 3, 4
local SERVICE_GOAL, SERVICE_RDMAP = 1, 2

local edp = Proto("weft_edp", "weft EDP")
local esp = Proto("weft_esp", "weft ESP")
local goal = Proto("weft_goal", "weft GOAL message")
local group = Proto("weft_mgrp", "weft reliable multicast group")
local rdmap = Proto("weft_esp_rdmap", "weft RDMAP over ESP")

local types = {
	[ESP] = "ESP", [ECHO] = "echo", [ECHO_REPLY] = "echo reply",
	[UNREACHABLE] = "port unreachable", [GROUP] = "group",
}
local services = { [SERVICE_GOAL] = "GOAL", [SERVICE_RDMAP] = "RDMAP" }
local goal_types = {
	[1] = "eager", [2] = "header", [3] = "announce", [4] = "data", [5] = "abort",
	[6] = "left",
}
local group_types = { [1] = "data", [2] = "repair", [3] = "status", [4] = "probe" }
local esp_flags = {
	{ 0x01, "SYN" }, { 0x02, "ACK" }, { 0x04, "FIN" }, { 0x08, "RST" },
	{ 0x10, "RRQ" }, { 0x20, "TXS" }, { 0x40, "TXF" }, { 0x80, "TXR" },
}
local rdmap_flags = {
	{ 0x01, "imm" }, { 0x02, "solicited" }, { 0x04, "response" }, { 0x08, "not_ready" },
}

-- ---- fields ---------------------------------------------------------------------------------

local f = {}
local function field(proto, name, kind, ...)
	local full = proto.name:lower() .. "." .. name
	f[full] = ProtoField[kind](full, ...)
	return f[full]
end

local function flag_fields(proto, name, flags)
	local list = {}
	for _, flag in ipairs(flags) do
		list[#list + 1] = field(proto, name .. "." .. flag[2]:lower(), "bool", flag[2], 8, nil,
			flag[1])
	end
	return list
end

-- { name, kind, offset, bytes, text, ... }: layout of plain fields.
local function layout(proto, rows)
	local fields, out = {}, {}
	for _, r in ipairs(rows) do
		local pf = field(proto, r[1], r[2], table.unpack(r, 5))
		fields[#fields + 1] = pf
		out[#out + 1] = { pf, r[3], r[4] }
	end
	return fields, out
end

local function add_layout(rows, tvb, at, tree)
	for _, r in ipairs(rows) do
		tree:add(r[1], tvb(at + r[2], r[3]))
	end
end

local edp_fields, edp_rows = layout(edp, {
	{ "version", "uint8", 0, 1, "Version", base.DEC, nil, 0xf0 },
	{ "type", "uint8", 0, 1, "Type", base.DEC, types, 0x0f },
	{ "reserved", "uint8", 1, 1, "Reserved", base.HEX },
	{ "bytes", "uint16", 2, 2, "Bytes before the CRC32C", base.DEC },
	{ "dst_port", "uint16", 4, 2, "Destination port", base.HEX },
	{ "src_port", "uint16", 6, 2, "Source port", base.HEX },
})
local f_data = field(edp, "data", "bytes", "Data")
local f_crc = field(edp, "crc", "uint32", "CRC32C", base.HEX)
local f_crc_status = field(edp, "crc.status", "string", "CRC32C status")
for _, pf in ipairs({ f_data, f_crc, f_crc_status }) do
	edp_fields[#edp_fields + 1] = pf
end
edp.fields = edp_fields

local esp_fields, esp_rows = layout(esp, {
	{ "seq", "uint32", 0, 4, "Packet number", base.DEC },
	{ "ack", "uint32", 4, 4, "Acknowledged before", base.DEC },
	{ "numbered", "uint8", 9, 1, "Numbered", base.DEC },
	{ "window", "uint16", 10, 2, "Window (packets)", base.DEC },
	{ "src_inc", "uint32", 12, 4, "Sender's incarnation", base.HEX },
	{ "dst_inc", "uint32", 16, 4, "Receiver's incarnation", base.HEX },
	{ "rrq_count", "uint32", 20, 4, "Packets wanted beyond", base.DEC },
})
local open_fields, open_rows = layout(esp, {
	{ "open.service", "uint16", 0, 2, "Service", base.DEC, services },
	{ "open.mtu", "uint16", 2, 2, "MTU (bytes)", base.DEC },
	{ "open.src_rank", "uint32", 4, 4, "Sender's rank or QPN", base.DEC },
	{ "open.dst_rank", "uint32", 8, 4, "Receiver's rank or QPN", base.DEC },
	{ "open.reserved", "uint32", 12, 4, "Reserved", base.HEX },
	{ "open.key", "uint64", 16, 8, "Key", base.HEX },
	{ "open.key2", "uint64", 24, 8, "Key, second part", base.HEX },
})
local f_flags = field(esp, "flags", "uint8", "Flags", base.HEX)
local f_flag_list = flag_fields(esp, "flags", esp_flags)
local f_received = field(esp, "received", "uint64", "Received bitmap", base.HEX)
local f_received_seq = field(esp, "received_seq", "uint32", "Held packet", base.DEC)
local f_payload = field(esp, "payload", "bytes", "Payload")
for _, pf in ipairs(open_fields) do
	esp_fields[#esp_fields + 1] = pf
end
for _, pf in ipairs(f_flag_list) do
	esp_fields[#esp_fields + 1] = pf
end
for _, pf in ipairs({ f_flags, f_received, f_received_seq, f_payload }) do
	esp_fields[#esp_fields + 1] = pf
end
esp.fields = esp_fields

local goal_fields, goal_rows = layout(goal, {
	{ "type", "uint8", 0, 1, "Type", base.DEC, goal_types },
	{ "reserved", "uint24", 1, 3, "Reserved", base.HEX },
	{ "instance", "uint32", 4, 4, "Run", base.DEC },
	{ "tag", "uint32", 8, 4, "Tag", base.DEC },
	{ "count", "uint32", 12, 4, "Number of this message", base.DEC },
	{ "bytes", "uint64", 16, 8, "Message length", base.DEC },
	{ "offset", "uint64", 24, 8, "Offset of this piece", base.DEC },
	{ "sink", "uint32", 32, 4, "Sink", base.HEX },
	{ "piece_bytes", "uint32", 36, 4, "Bytes of this piece", base.DEC },
})
local f_piece = field(goal, "piece", "bytes", "Piece")
goal_fields[#goal_fields + 1] = f_piece
goal.fields = goal_fields

local group_fields, group_rows = layout(group, {
	{ "type", "uint8", 0, 1, "Type", base.DEC, group_types },
	{ "reserved", "uint8", 1, 1, "Reserved", base.HEX },
	{ "mtu", "uint16", 2, 2, "MTU (bytes)", base.DEC },
	{ "root", "uint32", 4, 4, "Root", base.DEC },
	{ "src_rank", "uint32", 8, 4, "Sender's rank", base.DEC },
	{ "dst_rank", "uint32", 12, 4, "Receiver's rank", base.HEX },
	{ "key", "uint64", 16, 8, "Key", base.HEX },
	{ "key2", "uint64", 24, 8, "Key, second part", base.HEX },
	{ "epoch", "uint32", 32, 4, "Epoch", base.HEX },
	{ "base", "uint32", 36, 4, "First PSN of the space", base.DEC },
	{ "psn", "uint32", 40, 4, "PSN", base.DEC },
	{ "own", "uint32", 44, 4, "First PSN that the member lacks", base.DEC },
	{ "from", "uint32", 48, 4, "PSN of the bitmap's first bit", base.DEC },
	{ "reserved2", "uint32", 52, 4, "Reserved", base.HEX },
})
local f_missing = field(group, "missing", "uint64", "Missing bitmap", base.HEX)
local f_missing_psn = field(group, "missing_psn", "uint32", "Missing PSN", base.DEC)
group_fields[#group_fields + 1] = f_missing
group_fields[#group_fields + 1] = f_missing_psn
group.fields = group_fields

local rdmap_fields, rdmap_rows = layout(rdmap, {
	{ "reserved", "uint24", 1, 3, "Reserved", base.HEX },
	{ "imm", "uint32", 4, 4, "Immediate data", base.HEX },
	{ "msg_bytes", "uint32", 8, 4, "Message length", base.DEC },
	{ "ssn", "uint32", 12, 4, "Message number (SSN)", base.DEC },
})
local f_rdmap_flags = field(rdmap, "flags", "uint8", "Flags", base.HEX)
local f_rdmap_flag_list = flag_fields(rdmap, "flags", rdmap_flags)
local f_rdmap_data = field(rdmap, "data", "bytes", "Data")
for _, pf in ipairs(f_rdmap_flag_list) do
	rdmap_fields[#rdmap_fields + 1] = pf
end
rdmap_fields[#rdmap_fields + 1] = f_rdmap_flags
rdmap_fields[#rdmap_fields + 1] = f_rdmap_data
rdmap.fields = rdmap_fields

local e_short = ProtoExpert.new("weft_edp.short", "Packet too short", expert.group.MALFORMED,
	expert.severity.ERROR)
local e_version = ProtoExpert.new("weft_edp.version.unknown", "Unknown version",
	expert.group.MALFORMED, expert.severity.ERROR)
local e_type = ProtoExpert.new("weft_edp.type.unknown", "Unknown type", expert.group.MALFORMED,
	expert.severity.ERROR)
local e_crc = ProtoExpert.new("weft_edp.crc.bad", "Wrong CRC32C", expert.group.CHECKSUM,
	expert.severity.ERROR)
edp.experts = { e_short, e_version, e_type, e_crc }
edp.prefs.check_crc = Pref.bool("Check the CRC32C", true,
	"Computes the CRC32C of every packet; large captures load faster without")

-- ---- CRC32C -------------------------------------------------------------------------------------

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

local crc_table = {}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		c = band(c, 1) == 1 and bxor(rshift(c, 1), 0x82f63b78) or rshift(c, 1)
	end
	crc_table[i] = c
end

local function crc_of(bytes)
	local c = 0xffffffff
	for i = 1, #bytes do
		c = bxor(rshift(c, 8), crc_table[band(bxor(c, bytes:byte(i)), 0xff)])
	end
	return bxor(c, 0xffffffff) % 4294967296 -- bit's numbers are signed
end

local function add_crc(tvb, bytes, tree)
	local item = tree:add_le(f_crc, tvb(bytes, CRC_BYTES))
	local status = "unchecked"
	if edp.prefs.check_crc then
		local want = crc_of(tvb:raw(0, bytes))
		local good = tvb(bytes, CRC_BYTES):le_uint() == want
		status = good and "good" or "bad"
		item:append_text(good and " [correct]" or string.format(" [should be 0x%08x]", want))
		if not good then
			tree:add_proto_expert_info(e_crc)
		end
	end
	tree:add(f_crc_status, tvb(bytes, CRC_BYTES), status):set_generated()
end

-- ---- parts ----------------------------------------------------------------------------------------

local function names_of(value, flags)
	local names = {}
	for _, flag in ipairs(flags) do
		if band(value, flag[1]) ~= 0 then
			names[#names + 1] = flag[2]
		end
	end
	return table.concat(names, ", ")
end

local function add_flags(tvb, at, tree, pf, list, flags)
	local item = tree:add(pf, tvb(at, 1))
	item:append_text(" (" .. names_of(tvb(at, 1):uint(), flags) .. ")")
	for _, flag in ipairs(list) do
		item:add(flag, tvb(at, 1))
	end
end

-- 64 bits, big endian; each bit that is set is a number from first on.
local function add_bitmap(tvb, at, tree, word, number, first)
	local item, count = tree:add(word, tvb(at, 8)), 0
	for i = 0, 63 do
		local byte = tvb(at + 7 - math.floor(i / 8), 1)
		if band(rshift(byte:uint(), i % 8), 1) == 1 then
			item:add(number, byte, (first + i) % 4294967296):set_generated()
			count = count + 1
		end
	end
	return count
end

local ddp = Dissector.get("iwarp_ddp_rdmap")
-- Accepts the data of Sends before Wireshark's heuristics see it (weft.lua does the same for UDP).
local in_weft = false
local payload = Proto("weft_esp_payload", "weft message over ESP")

local function take_payload(tvb, _, tree)
	if in_weft and tvb:len() > 0 then
		tree:add(f_rdmap_data, tvb())
	end
	return in_weft
end

function payload.dissector(tvb, pinfo, tree)
	take_payload(tvb, pinfo, tree)
	return tvb:len()
end
payload:register_heuristic("iwarp_ddp_rdmap", take_payload)

local function add_rdmap(tvb, pinfo, root)
	if tvb:len() < RDMAP_BYTES then
		return root:add_proto_expert_info(e_short)
	end
	local tree = root:add(rdmap, tvb(0, RDMAP_BYTES))
	add_flags(tvb, 0, tree, f_rdmap_flags, f_rdmap_flag_list, rdmap_flags)
	add_layout(rdmap_rows, tvb, 0, tree)
	pinfo.cols.info:append(string.format(", message %d | ", tvb(12, 4):uint()))
	pinfo.cols.info:fence()
	if tvb:len() > RDMAP_BYTES then
		in_weft = true
		-- A malformed segment raises an error, after the dissector has reported it in the tree.
		pcall(function()
			ddp:call(tvb(RDMAP_BYTES):tvb(), pinfo, root)
		end)
		in_weft = false
	end
	pinfo.cols.protocol = "weft ESP"
end

local function add_goal(tvb, pinfo, root)
	if tvb:len() < GOAL_BYTES then
		return root:add_proto_expert_info(e_short)
	end
	local tree = root:add(goal, tvb(0, GOAL_BYTES))
	add_layout(goal_rows, tvb, 0, tree)
	if tvb:len() > GOAL_BYTES then
		tree:add(f_piece, tvb(GOAL_BYTES))
	end
	local text = string.format(", %s run %d tag %d message %d",
		goal_types[tvb(0, 1):uint()] or "unknown", tvb(4, 4):uint(), tvb(8, 4):uint(),
		tvb(12, 4):uint())
	tree:append_text(text)
	pinfo.cols.info:append(text)
end

-- Streams by the sender's station and incarnation: content of their SYNs.
local service_of = {}

local function can_be_goal(tvb)
	return tvb:len() >= GOAL_BYTES and goal_types[tvb(0, 1):uint()] ~= nil
		and tvb(1, 3):uint() == 0 and tvb(36, 4):uint() == tvb:len() - GOAL_BYTES
end

local function add_esp_header(tvb, tree)
	add_layout(esp_rows, tvb, 0, tree)
	add_flags(tvb, 8, tree, f_flags, f_flag_list, esp_flags)
	return add_bitmap(tvb, 24, tree, f_received, f_received_seq, tvb(4, 4):uint())
end

local function add_esp(tvb, pinfo, root, tree)
	local flags, stream = tvb(8, 1):uint(), tostring(pinfo.dl_src) .. tvb(12, 4):uint()
	local t = tree:add(esp, tvb(0, ESP_BYTES))
	local held = add_esp_header(tvb, t)
	local info = names_of(flags, esp_flags)
	if tvb(9, 1):uint() == 1 then
		info = info .. string.format(", packet %d", tvb(0, 4):uint())
	end
	if band(flags, 0x02) ~= 0 then
		info = info .. string.format(", before %d", tvb(4, 4):uint())
	end
	if held > 0 then
		info = info .. string.format(" and %d beyond", held)
	end
	t:append_text(", " .. info)
	pinfo.cols.info = info
	if tvb:len() == ESP_BYTES then
		return
	end
	local rest = tvb(ESP_BYTES):tvb()
	if band(flags, 0x01) ~= 0 then
		if rest:len() < OPEN_BYTES then
			return tree:add_proto_expert_info(e_short)
		end
		local o = tree:add(esp, rest(0, OPEN_BYTES), "Open")
		add_layout(open_rows, rest, 0, o)
		service_of[stream] = rest(0, 2):uint()
		return
	end
	local service = service_of[stream]
	if service == SERVICE_RDMAP then
		add_rdmap(rest, pinfo, root)
	elseif service == SERVICE_GOAL or (not service and can_be_goal(rest)) then
		add_goal(rest, pinfo, root)
	else
		t:add(f_payload, rest())
	end
end

local function add_group(tvb, pinfo, root, tree)
	local t = tree:add(group, tvb(0, GROUP_BYTES))
	local kind = tvb(0, 1):uint()
	add_layout(group_rows, tvb, 0, t)
	local missing = add_bitmap(tvb, 56, t, f_missing, f_missing_psn, tvb(48, 4):uint())
	local info = string.format("group %s, root %d, rank %d, PSN %d",
		group_types[kind] or "unknown", tvb(4, 4):uint(), tvb(8, 4):uint(), tvb(40, 4):uint())
	if missing > 0 then
		info = info .. string.format(", %d missing", missing)
	end
	t:append_text(", " .. info)
	pinfo.cols.info = info
	if (kind == 1 or kind == 2) and tvb:len() > GROUP_BYTES then
		add_goal(tvb(GROUP_BYTES):tvb(), pinfo, root)
	end
end

local function add_quoted(tvb, tree)
	local t = tree:add(edp, tvb(0, EDP_BYTES), "The packet that found no stream")
	add_layout(edp_rows, tvb, 0, t)
	add_esp_header(tvb(EDP_BYTES):tvb(), t:add(esp, tvb(EDP_BYTES, ESP_BYTES)))
end

-- Least bytes of each type, behind EDP's header.
local at_least = {
	[ESP] = ESP_BYTES, [ECHO] = 0, [ECHO_REPLY] = 0, [UNREACHABLE] = EDP_BYTES + ESP_BYTES,
	[GROUP] = GROUP_BYTES,
}

-- Type and length of the packet; nil after an error.
local function check(tvb, tree)
	if tvb:len() < EDP_BYTES + CRC_BYTES then
		tree:add_proto_expert_info(e_short)
		return nil
	end
	local kind, bytes = band(tvb(0, 1):uint(), 0x0f), tvb(2, 2):uint()
	add_layout(edp_rows, tvb, 0, tree)
	if rshift(tvb(0, 1):uint(), 4) ~= VERSION then
		tree:add_proto_expert_info(e_version)
	elseif not types[kind] then
		tree:add_proto_expert_info(e_type)
	elseif bytes < EDP_BYTES + at_least[kind] or tvb:len() < bytes + CRC_BYTES then
		tree:add_proto_expert_info(e_short)
	else
		return kind, bytes
	end
	return nil
end

function edp.dissector(tvb, pinfo, root)
	pinfo.cols.protocol = "weft EDP"
	local tree = root:add(edp, tvb(0, math.min(EDP_BYTES, tvb:len())))
	local kind, bytes = check(tvb, tree)
	if not kind then
		pinfo.cols.info = "malformed"
		return tvb:len()
	end
	tree:append_text(string.format(", %s, port 0x%04x to 0x%04x", types[kind], tvb(6, 2):uint(),
		tvb(4, 2):uint()))
	add_crc(tvb, bytes, tree)
	pinfo.cols.info = types[kind]
	local rest = bytes > EDP_BYTES and tvb(EDP_BYTES, bytes - EDP_BYTES):tvb() or nil
	if kind == ESP then
		pinfo.cols.protocol = "weft ESP"
		add_esp(rest, pinfo, root, root)
	elseif kind == GROUP then
		pinfo.cols.protocol = "weft group"
		add_group(rest, pinfo, root, root)
	elseif kind == UNREACHABLE then
		add_quoted(rest, tree)
	elseif rest then
		tree:add(f_data, rest())
	end
	return tvb:len()
end

DissectorTable.get("ethertype"):add(ETHERTYPE, edp)
