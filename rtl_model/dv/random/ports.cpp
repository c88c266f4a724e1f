// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// struct engine_ports of a machine.
#include "machine.hpp"

namespace
{

Machine &of(void *host)
{
	return *(Machine *)host;
}

hca_ps now(void *host)
{
	return of(host).now();
}

bool read_wqe(void *host, uint32_t qpn, uint32_t tag, uint32_t, const hca_dma_seg *seg, uint32_t nseg)
{
	return of(host).read(qpn, tag, seg, nseg);
}

uint8_t lookup(void *host, const engine_lookup *what, piece *out, uint32_t *npieces)
{
	return of(host).lookup(*what, out, npieces);
}

bool present(void *host, const engine_lookup *)
{
	return of(host).present();
}

bool page_request(void *host, uint32_t, uint32_t tag, const engine_lookup *)
{
	return of(host).page_request(tag);
}

uint8_t local(void *host, uint32_t, const hca_wr *wr)
{
	return of(host).local(*wr);
}

bool room(void *host)
{
	return of(host).room();
}

bool packet(void *host, uint32_t tag, const engine_packet *p)
{
	return of(host).packet(tag, *p);
}

int result(void *host, uint32_t, uint32_t tag, const piece *, uint32_t npieces)
{
	return of(host).result(tag, npieces);
}

void timer(void *host, uint32_t qpn, hca_ps at)
{
	of(host).timer(qpn, at);
}

void failed(void *host, uint32_t qpn, uint8_t state)
{
	of(host).failed(qpn, state);
}

void drained(void *, uint32_t)
{
}

void saw_wqe(void *host, uint32_t qpn, const hca_wr *wr, const void *, uint32_t)
{
	of(host).saw(qpn, *wr);
}

uint32_t frame(void *host, uint8_t *out)
{
	return of(host).core_frame(out);
}

} // namespace

const engine_ports *machine_ports()
{
	static engine_ports p = {};

	p.now = now;
	p.read = read_wqe;
	p.lookup = lookup;
	p.present = present;
	p.page_request = page_request;
	p.local = local;
	p.packet_room = room;
	p.packet = packet;
	p.result = result;
	p.timer = timer;
	p.failed = failed;
	p.drained = drained;
	p.saw_wqe = saw_wqe;
	p.frame = frame;
	return &p;
}
