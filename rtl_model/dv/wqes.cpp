// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "wqes.hpp"

#include "headers.hpp"

namespace
{

class Writer
{
      public:
	Writer(Random &random, const struct ref_qp &qp, uint8_t op, const Kinds &kinds)
	    : random_(random), qp_(qp), op_(op), kinds_(kinds), max_sge_(kinds.max_sge)
	{
		bytes_.resize(sizeof(struct hcasim_wqe_ctrl));
	}

	Bytes write(uint16_t index)
	{
		const struct hcasim_wqe_format *format = hcasim_wqe_format(op_);

		if (format && format->address)
			address();
		for (size_t i = 0; format && i < sizeof(format->segs); i++)
			segment(format->segs[i]);
		data(format);
		control(index);
		return bytes_;
	}

      private:
	// So often something may be wrong.
	bool slip(unsigned int percent)
	{
		return !random_.chance(100 - percent) && !kinds_.legal;
	}

	template <class Segment>
	void add(const Segment &segment)
	{
		const auto *p = (const uint8_t *)&segment;

		bytes_.insert(bytes_.end(), p, p + sizeof(segment));
	}

	void address()
	{
		if (qp_.type == HCASIM_QPT_UD) {
			static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
			struct hcasim_seg_ud seg = {};

			random_.fill(&seg, sizeof(seg));
			memset(seg.reserved, 0, sizeof(seg.reserved));
			if (random_.chance(50)) // IPv4
				memcpy(seg.dgid, mapped, sizeof(mapped));
			seg.qpn &= 0xffffff;
			seg.flow_label &= 0xfffff;
			seg.sl &= 15;
			seg.port = (uint8_t)(slip(5) ? 3 - qp_.port : qp_.port);
			seg.sgid_index = (uint8_t)random_.below(slip(5) ? 256 : HCASIM_PORT_GIDS);
			add(seg);
		} else if (qp_.type == HCASIM_QPT_XRC_SEND) {
			struct hcasim_seg_xrc seg = {};

			seg.srqn = random_.below(1 << 24);
			add(seg);
		}
	}

	void segment(uint8_t kind)
	{
		if (kind == HCASIM_WQE_SEG_REMOTE)
			add(hcasim_seg_remote{random_.u64(), random_.u32(), 0});
		else if (kind == HCASIM_WQE_SEG_ATOMIC)
			add(hcasim_seg_atomic{random_.u64(), random_.u64()});
		else if (kind == HCASIM_WQE_SEG_BIND)
			bind();
		else if (kind == HCASIM_WQE_SEG_TSO)
			tso();
		else if (kind == HCASIM_WQE_SEG_FLUSH)
			flush();
	}

	void bind()
	{
		struct hcasim_seg_bind seg = {};

		random_.fill(&seg, sizeof(seg));
		memset(seg.reserved, 0, sizeof(seg.reserved));
		seg.type = (uint8_t)(1 + random_.below(2));
		seg.access &= HCASIM_ACCESS_REMOTE_WRITE | HCASIM_ACCESS_REMOTE_READ |
			      HCASIM_ACCESS_REMOTE_ATOMIC | HCASIM_ACCESS_ZERO_BASED;
		add(seg);
	}

	void flush()
	{
		struct hcasim_seg_flush seg = {};

		seg.length = random_.u64() >> (random_.chance(95) ? 32 : 20);
		seg.type = (uint8_t)(1 + random_.below(3));
		seg.level = (uint8_t)random_.below(2);
		add(seg);
	}

	// hcasim_wqe_decode does not look into the headers: `headers` keeps them right.
	void tso()
	{
		static const uint16_t bad[] = {0, HCASIM_MAX_TSO_HDR + 1, 0xffff};
		const bool datagram = qp_.type == HCASIM_QPT_UD;
		Bytes headers = random_tso_headers(random_, datagram);
		struct hcasim_seg_tso seg = {};

		seg.mss = slip(5) ? 0 : (uint16_t)(1 + random_.below(slip(15) ? 8192 : 900));
		seg.hdr_size = slip(5) ? bad[random_.below(3)] : (uint16_t)headers.size();
		if (kinds_.bad_headers && random_.chance(25))
			seg.hdr_size = (uint16_t)(seg.hdr_size + random_.below(9) - 4);
		if (kinds_.bad_headers && random_.chance(15))
			headers[random_.below((uint32_t)headers.size())] ^= (uint8_t)(1u << random_.below(8));
		if (slip(50)) // with its headers about as long as a packet may be
			seg.mss = (uint16_t)(qp_.port_mtu + (datagram ? 0 : HCASIM_FRAME_OVERHEAD) -
					     random_.below(2 * (uint32_t)headers.size()));
		mss_ = seg.mss;
		add(seg);
		bytes_.insert(bytes_.end(), headers.begin(), headers.end());
		pad();
	}

	void data(const struct hcasim_wqe_format *format)
	{
		const struct hcasim_wr_rule *rule = hcasim_wr_rule_of_wqe_op(op_);

		if (!format || format->data == HCASIM_WQE_DATA_NONE)
			return;
		inline_ = format->data == HCASIM_WQE_DATA_INLINE ||
			  (rule && rule->inline_ok && random_.chance(40));
		if (random_.chance(3) && !kinds_.legal)
			inline_ = !inline_;
		if (inline_)
			inline_data(rule);
		else if (mss_ && random_.chance(25)) /* whole segments only */
			add(hcasim_seg_data{random_.u64(), mss_ * random_.below(4), random_.u32()});
		else
			sge_list(rule);
	}

	void inline_data(const struct hcasim_wr_rule *rule)
	{
		uint32_t length = random_.below(slip(10) ? HCASIM_MAX_INLINE + 1 : qp_.max_inline + 1);

		if (rule && rule->length && !slip(10))
			length = rule->length;
		if ((qp_.type == HCASIM_QPT_UD || qp_.type == HCASIM_QPT_RAW_PACKET) && random_.chance(80)) {
			const Bytes frame = random_frame(random_, qp_.type == HCASIM_QPT_UD, qp_.max_inline);

			add(hcasim_seg_inline{(uint32_t)frame.size()});
			bytes_.insert(bytes_.end(), frame.begin(), frame.end());
		} else {
			add(hcasim_seg_inline{length});
			bytes_.resize(bytes_.size() + length);
			random_.fill(&bytes_[bytes_.size() - length], length);
		}
		pad();
	}

	// Some are empty, and far too long where long ones are wanted.
	uint32_t sge_length(uint32_t limit)
	{
		if (random_.chance(10))
			return 0;
		if (limit > 256 && random_.chance(5)) // whole packets
			return 256 * random_.below(limit / 256 + 1);
		if (max_sge_ >= HCASIM_MAX_MSG) // half of the PSNs, with the shortest MTU
			return op_ == HCASIM_WQE_OP_RDMA_READ && random_.chance(50) ? HCASIM_MAX_MSG
										    : random_.below(3000);
		return random_.below(max_sge_ > 1 << 20 && random_.chance(2) ? UINT32_MAX : limit);
	}

	void sge_list(const struct hcasim_wr_rule *rule)
	{
		const bool value = rule && rule->length && !slip(10);
		const bool frame = qp_.type == HCASIM_QPT_UD || qp_.type == HCASIM_QPT_RAW_PACKET;
		const uint32_t limit =
			frame ? std::min(max_sge_, qp_.port_mtu / (kinds_.legal ? 32 : 4)) : max_sge_;
		uint32_t n = value ? 1 : random_.below(random_.chance(70) ? 5 : HCASIM_MAX_SGE + 2);

		if (kinds_.legal && !value && random_.chance(50)) // as often as lists
			n = random_.below(2);

		if (max_sge_ >= HCASIM_MAX_MSG && op_ == HCASIM_WQE_OP_RDMA_READ)
			n = 1;
		if (qp_.type == HCASIM_QPT_RAW_PACKET && (random_.chance(40) || kinds_.legal)) {
			add(hcasim_seg_data{REF_FRAMES - ref_translate(0) + random_.u32() / 65536 * 65536ull,
					    56 + random_.below(limit), random_.u32()});
		}
		while (n-- && bytes_.size() < HCA_WQE_MAX)
			add(hcasim_seg_data{random_.u64(), value ? rule->length : sge_length(limit),
					    random_.u32()});
	}

	void pad()
	{
		bytes_.resize((bytes_.size() + HCASIM_SEG_UNIT - 1) / HCASIM_SEG_UNIT * HCASIM_SEG_UNIT);
	}

	void control(uint16_t index)
	{
		struct hcasim_wqe_ctrl ctrl = {};

		ctrl.opcode = op_;
		ctrl.size = (uint8_t)(bytes_.size() / HCASIM_SEG_UNIT);
		ctrl.index = index;
		ctrl.qpn_flags = qp_.qpn | (random_.u32() & (7u << 24 | 1u << 28));
		if (inline_)
			ctrl.qpn_flags |= HCASIM_WQE_CTRL_INLINE_MASK;
		ctrl.imm = random_.u32();
		ctrl.inv_rkey = random_.u32();
		memcpy(bytes_.data(), &ctrl, sizeof(ctrl));
	}

	Random &random_;
	const struct ref_qp &qp_;
	uint8_t op_;
	const Kinds kinds_;
	uint32_t max_sge_;
	uint32_t mss_ = 0; // of TSO
	bool inline_ = false;
	Bytes bytes_;
};

} // namespace

static void damage(Random &random, Bytes &bytes)
{
	uint32_t at = random.below(random.chance(50) ? 16 : (uint32_t)bytes.size());

	if (random.chance(30))
		bytes[offsetof(struct hcasim_wqe_ctrl, size)] =
			(uint8_t)(bytes[offsetof(struct hcasim_wqe_ctrl, size)] + random.below(5) - 2);
	else if (at != offsetof(struct hcasim_wqe_ctrl, opcode)) /* TSO has headers to be right */
		bytes[at] ^= (uint8_t)(1u << random.below(8));
}

static uint8_t random_op(Random &random)
{
	return (uint8_t)(random.chance(97) ? random.below(HCASIM_WQE_OP_ATOMIC_WRITE + 1) : random.u32());
}

static bool carried_out(uint8_t op, uint8_t qp_type)
{
	const struct hcasim_wr_rule *rule = hcasim_wr_rule_of_wqe_op(op);

	return rule && (rule->qp_types | rule->post_qp_types) & HCASIM_QPT_BIT(qp_type);
}

RandomWqe random_wqe(Random &random, const struct ref_qp &qp, uint16_t index, const Kinds &kinds)
{
	RandomWqe wqe;

	wqe.op = random_op(random);
	while (!carried_out(wqe.op, qp.type) && (random.chance(60) || kinds.legal))
		wqe.op = random_op(random);
	if (kinds.max_sge >= HCASIM_MAX_MSG && carried_out(HCASIM_WQE_OP_RDMA_READ, qp.type) &&
	    random.chance(20))
		wqe.op = HCASIM_WQE_OP_RDMA_READ; // its response takes PSNs, its request is one packet
	wqe.bytes = Writer(random, qp, wqe.op, kinds).write(index);
	for (unsigned int percent : {40, 5})
		if (random.chance(percent) && wqe.op != HCASIM_WQE_OP_TSO && !kinds.legal)
			damage(random, wqe.bytes);
	wqe.bytes.resize((wqe.bytes.size() + HCASIM_WQEBB_SIZE - 1) / HCASIM_WQEBB_SIZE * HCASIM_WQEBB_SIZE);
	while (!kinds.legal && random.chance(30) && wqe.bytes.size() < HCA_WQE_MAX)
		wqe.bytes.resize(wqe.bytes.size() + HCASIM_WQEBB_SIZE, (uint8_t)random.u32());
	if (!kinds.legal && random.chance(3)) /* posted is less than the WQE says */
		wqe.bytes.resize(HCASIM_WQEBB_SIZE);
	return wqe;
}
