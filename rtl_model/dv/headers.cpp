// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "headers.hpp"

extern "C" {
#include "core/wire/frame.h"
#include "core/wire/net.h"
}

namespace
{

class Headers
{
      public:
	Headers(Random &random, bool tcp) : random_(random), tcp_(tcp || random.chance(50))
	{
	}

	void link(bool datagram)
	{
		const uint32_t type = v4_ ? ETH_TYPE_IPV4 : ETH_TYPE_IPV6;

		if (datagram && random_.chance(80)) {
			add({(uint8_t)(type >> 8), (uint8_t)type, 0, 0});
			return;
		}
		noise(ETH_TYPE);
		for (uint32_t tags = random_.chance(60) ? 0 : 1 + random_.below(2); tags--;) {
			add16(random_.chance(50) ? ETH_TYPE_VLAN : ETH_TYPE_QINQ);
			noise(2);
		}
		add16(type);
	}

	void network(uint32_t behind)
	{
		v4_ ? ipv4(behind) : ipv6(behind);
	}

	void transport()
	{
		if (!tcp_) {
			noise(UDP_LEN);
			return;
		}
		const size_t at = bytes.size();

		noise(TCP_LEN + 4 * options_);
		bytes[at + TCP_DATA] = (uint8_t)((5 + options_) << 4 | (bytes[at + TCP_DATA] & 15));
	}

	uint32_t transport_bytes() const
	{
		return tcp_ ? TCP_LEN + 4 * options_ : (uint32_t)UDP_LEN;
	}

	Bytes bytes;

      private:
	void add(const Bytes &more)
	{
		bytes.insert(bytes.end(), more.begin(), more.end());
	}
	void add16(uint32_t v)
	{
		add({(uint8_t)(v >> 8), (uint8_t)v});
	}
	void noise(size_t n)
	{
		Bytes more(n);

		random_.fill(more.data(), n);
		add(more);
	}

	void ipv4(uint32_t behind)
	{
		const uint32_t words = 5 + (random_.chance(80) ? 0 : random_.below(6));
		const size_t at = bytes.size();

		noise(words * 4);
		bytes[at] = (uint8_t)(4 << 4 | words);
		put16(&bytes[at + IPV4_TOTAL], words * 4 + behind);
		put16(&bytes[at + IPV4_FRAG], random_.chance(95) ? 0x4000 : random_.below(0x10000));
		bytes[at + IPV4_PROTO] = tcp_ ? IP_PROTO_TCP : IP_PROTO_UDP;
	}

	void ipv6(uint32_t behind)
	{
		static const uint8_t kinds[] = {0, 43, 60};
		const size_t at = bytes.size();
		size_t next = at + IPV6_NEXT;

		noise(IPV6_LEN);
		bytes[at] = (uint8_t)(6 << 4 | (bytes[at] & 15));
		for (uint32_t n = random_.chance(60) ? 0 : 1 + random_.below(2); n--;) {
			const uint32_t eights = random_.below(2);

			bytes[next] = kinds[random_.below(3)];
			next = bytes.size();
			noise((eights + 1) * 8);
			bytes[next + 1] = (uint8_t)eights;
		}
		bytes[next] = tcp_ ? IP_PROTO_TCP : IP_PROTO_UDP;
		put16(&bytes[at + IPV6_PAYLOAD], (uint32_t)(bytes.size() - at - IPV6_LEN) + behind);
	}

	Random &random_;
	bool tcp_;
	const bool v4_ = random_.chance(50);
	const uint32_t options_ = random_.chance(60) ? 0 : random_.below(6);
};

} // namespace

Bytes random_tso_headers(Random &random, bool datagram)
{
	Bytes bytes;

	do { /* no fragments: they cannot be cut any further */
		Headers h(random, true);
		h.link(datagram);
		const size_t ip = h.bytes.size();
		h.network(0);
		if (h.bytes[ip] >> 4 == 4)
			put16(&h.bytes[ip + IPV4_FRAG], 0x4000);
		h.transport();
		bytes = h.bytes;
	} while (bytes.size() > 160);
	return bytes;
}

// IP's length of what is behind its header and extensions: mostly right, or it ends inside of these or of TCP's.
static uint32_t random_length(Random &random, uint32_t behind)
{
	if (random.chance(75))
		return behind;
	return random.chance(50) ? behind + random.below(9) - 4 : random.below(48) - 16;
}

// UDP data for which the checksum comes out as 0, which is not sent.
static void zero_checksum(Bytes &frame, enum net_link link)
{
	Bytes summed = frame;
	struct net n;

	net_parse(frame.data(), (uint32_t)frame.size(), link, false, &n);
	if (!n.ip || !n.l4 || n.proto != IP_PROTO_UDP || n.l4_off + UDP_LEN + 2 > n.l3_end)
		return;
	net_put_sums(summed.data(), (uint32_t)summed.size(), link, HCA_WR_IP_CSUM);
	uint8_t *data = &frame[n.l4_off + UDP_LEN];
	const uint32_t sum = get16(data) + get16(&summed[n.l4_off + UDP_SUM]);
	put16(data, (sum & 0xffff) + (sum >> 16));
}

Bytes random_frame(Random &random, bool datagram, uint32_t max)
{
	Headers h(random, false);
	const uint32_t payload = random.below(max);

	h.link(datagram);
	h.network(random_length(random, h.transport_bytes() + payload));
	h.transport();
	const size_t headers = h.bytes.size();
	h.bytes.resize(headers + payload);
	random.fill(&h.bytes[headers], payload);
	if (random.chance(10))
		h.bytes[random.below((uint32_t)headers)] ^= (uint8_t)(1u << random.below(8));
	if (random.chance(10) || h.bytes.size() > max)
		h.bytes.resize(random.below(std::min(max, (uint32_t)h.bytes.size()) + 1));
	if (random.chance(10))
		zero_checksum(h.bytes, datagram ? NET_DATAGRAM : NET_ETHERNET);
	return h.bytes;
}
