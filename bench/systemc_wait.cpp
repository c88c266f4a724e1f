// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What one wait() of a SystemC thread costs: the least over many bursts.
#include <systemc>

#include <chrono>
#include <cstdio>

SC_MODULE(waiter)
{
	double best_ns = 0;

	SC_CTOR(waiter)
	{
		SC_THREAD(run);
	}

	void run()
	{
		using clock = std::chrono::steady_clock;
		const int bursts = 200, burst = 1000;

		for (int b = 0; b < bursts; b++) {
			auto start = clock::now();
			for (int i = 0; i < burst; i++)
				wait(1, sc_core::SC_NS);
			std::chrono::duration<double, std::nano> took = clock::now() - start;
			if (!best_ns || took.count() / burst < best_ns)
				best_ns = took.count() / burst;
		}
	}
};

int sc_main(int, char **)
{
	waiter w("waiter");

	sc_core::sc_start();
	std::printf("{\"systemc_wait\": %.0f}\n", w.best_ns);
	return 0;
}
