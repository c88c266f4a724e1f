// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What stands around a send engine, at random: its software, host memory, keys and pages, packet output and peers. The engine
// is the pair of the C engine and another one (sim/engines/lockstep.h).
#ifndef HCASIM_RTL_RANDOM_MACHINE_HPP
#define HCASIM_RTL_RANDOM_MACHINE_HPP

#include <deque>
#include <map>
#include <set>
#include <vector>

#include <hcasim_wire.h>

#include "../wqes.hpp"
#include "bins.hpp"

extern "C" {
#include "devices/native/format/format.h"
#include "engines/lockstep.h"
}

constexpr uint32_t LONG = 30000; // bytes; what is longer fills windows

// Of one seed: percent, except where stated.
struct Knobs {
	unsigned int illegal;  // WQEs with mistakes
	uint32_t bad_keys;     // one key of 1 + bad_keys, a mask
	uint32_t longest;      // SGE, bytes
	bool deep;             // long queues of few QPs
	bool rare;             // what is said so below, and late packets, responses and errors
	bool tags;             // all of the engine's are in use, at times
	unsigned int no_read;  // port calls that are refused: no memory
	unsigned int no_room;  // back-pressure
	unsigned int no_pages; // look-ups that meet pages that are missing
	unsigned int no_key;   // look-ups for a packet or a result that meet a key that is gone
	unsigned int bad_dma;  // reads and writes that fail
	unsigned int push;     // batches whose last WQE comes with the doorbell
	unsigned int batch;    // WQEs of a doorbell, at most: a number
	unsigned int lost;     // packets and responses
	unsigned int twice;    // responses that come once more
	unsigned int nak, rnr, refuse, garbage;
	unsigned int packets; // under way, at most: a number
	unsigned int pace;    // cycles in which memory, requests and the consumer of frames answer
};

// A request that the peer has.
struct Request {
	uint32_t psn;
	uint8_t opcode;
	uint32_t length;   // of a READ
	uint32_t answered; // packets of its response
};

struct Qp {
	engine_qp ctx;
	uint32_t qpn;
	Bytes ring;
	uint16_t pi;
	std::deque<Request> peer;
	hca_ps timer;
	std::map<uint16_t, Bins::Wqe> seen; // by ring index
};

struct Read {
	uint32_t tag;
	Bytes data;
};

struct Packet {
	uint32_t tag, qpn;
	Request request;
	bool stale; // its QP was reset
	bool raw, sums;
	pkt_spec spec;
	hca_av av;
	Bytes head;
	std::vector<piece> pieces; // of memory
};

// The addresses of a port, other ones for each packet.
struct Source {
	uint8_t mac[6], gid[16];
};

class Machine
{
      public:
	// `tags`: the engine runs out of tags. Both do in the same call only if they have as many.
	Machine(uint32_t seed, Bins &bins, bool rare, bool tags);
	~Machine();
	// False: the engines differ.
	bool run(uint64_t wqes);

	// ---- Ports, called by the engine ----

	hca_ps now() const
	{
		return now_;
	}
	bool read(uint32_t qpn, uint32_t tag, const hca_dma_seg *seg, uint32_t nseg);
	uint8_t lookup(const engine_lookup &what, piece *out, uint32_t *npieces);
	bool present();
	bool page_request(uint32_t tag);
	uint8_t local(const hca_wr &wr);
	bool room();
	bool packet(uint32_t tag, const engine_packet &p);
	uint32_t core_frame(uint8_t *out);
	int result(uint32_t tag, uint32_t npieces);
	void timer(uint32_t qpn, hca_ps at);
	void failed(uint32_t qpn, uint8_t state);
	void saw(uint32_t qpn, const hca_wr &wr);

	uint64_t wqes = 0;   // decoded
	uint64_t frames = 0; // compared

      private:
	// Software: software.cpp
	void create();
	void up(Qp &qp);
	void set(Qp &qp, uint8_t state);
	void reset(Qp &qp);
	void forget(uint32_t qpn);
	void post();
	uint16_t put(Qp &qp, uint16_t at, uint16_t room);
	void ring_doorbell(Qp &qp, uint16_t last, uint16_t end);
	void control();
	void modify(Qp &qp);
	void recover(Qp &qp, const engine_state &state);
	// What answers: machine.cpp
	void stage(hca_stage stage);
	void finish_read();
	void leave();
	void frame(const Packet &p);
	void release();
	void finish_write();
	void answer_pages();
	void pass_time();
	void complete();
	void act();
	// The peer: peer.cpp
	void respond();
	void answer(Qp &qp, const engine_response &r);
	void late(Qp &qp);
	bool acknowledge(Qp &qp);
	void negative(Qp &qp, uint8_t kind, uint8_t value);

	size_t waiting() const;
	Qp &any();
	Qp &at(uint32_t qpn)
	{
		return qps_.at(qpn);
	}
	template <class T>
	T take(std::vector<T> &from); // any

	Random random_;
	Bins &bins_;
	Knobs knobs_;
	std::vector<unsigned int> weight_;
	uint32_t acts_ = 0;
	hca_personality other_;
	uint32_t mtu_[2]; // of the ports, bytes
	engine *e_;
	hca_ps now_;
	bool room_told_ = false;
	std::map<uint32_t, Qp> qps_;
	std::vector<Read> reads_;
	std::deque<Packet> packets_;      // in their order
	const Packet *leaving_ = nullptr; // during the op `frame`, with
	Bytes gathered_;                  // the bytes of its pieces
	Source source_;
	std::vector<uint32_t> left_;       // tags
	std::vector<uint32_t> writes_;     // tags, one for each transfer
	std::vector<uint32_t> page_waits_; // tags
};

const engine_ports *machine_ports();

template <class T>
T Machine::take(std::vector<T> &from)
{
	const auto it = from.begin() + random_.below((uint32_t)from.size());
	T item = *it;

	from.erase(it);
	return item;
}

#endif
