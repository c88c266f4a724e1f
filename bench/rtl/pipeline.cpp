// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Clocks the pipeline with changing data for a second of processor time; prints its cycles per second.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "Vpipeline.h"

int main()
{
	VerilatedContext context;
	Vpipeline model{&context};
	clock_t start = clock(), now;
	unsigned long cycles = 0;

	do {
		for (int i = 0; i < 1000; i++, cycles++) {
			model.data_i[cycles % 16] = (uint32_t)random();
			model.clk_i = !model.clk_i;
			model.eval();
		}
		now = clock();
	} while (now - start < 2 * CLOCKS_PER_SEC);
	printf("{\"cycles_per_second\": %.0f}\n", (double)cycles * CLOCKS_PER_SEC / (double)(now - start));
}
