/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What hcasim_engine keeps in the adapter's memory, as it is on the ports ctx_* and rec_* (../doc/theory.md). */
#ifndef HCASIM_RTL_MEMORY_HPP
#define HCASIM_RTL_MEMORY_HPP

#include <type_traits>

#include "hcasim_engine_ports.hpp"

template <class Port>
using Stored = std::remove_reference_t<Port>;

// The context of a QP.
struct StoredContext {
	Stored<decltype(Top::ctx_attr_o)> attr;
	Stored<decltype(Top::ctx_state_o)> state;

	void answer(Top &top) const
	{
		top.ctx_attr_i = attr;
		top.ctx_state_i = state;
	}
	void write(const Top &top)
	{
		attr = top.ctx_attr_o;
		state = top.ctx_state_o;
	}
};

// The record of a WQE: its state, and its body, which only some writes have.
struct StoredRecord {
	Stored<decltype(Top::rec_wqe_o)> wqe;
	Stored<decltype(Top::rec_wr_o)> wr;
	Stored<decltype(Top::rec_ud_o)> ud;
	Stored<decltype(Top::rec_bind_o)> bind;
	Stored<decltype(Top::rec_net_o)> net;

	void answer(Top &top) const
	{
		top.rec_wqe_i = wqe;
		top.rec_wr_i = wr;
		top.rec_ud_i = ud;
		top.rec_bind_i = bind;
		top.rec_net_i = net;
	}
	void write(const Top &top)
	{
		wqe = top.rec_wqe_o;
		if (!top.rec_body_o)
			return;
		wr = top.rec_wr_o;
		ud = top.rec_ud_o;
		bind = top.rec_bind_o;
		net = top.rec_net_o;
	}
};

#endif
