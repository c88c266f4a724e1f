// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcasim-dma PROFILE < POINTS: DMA of one size over a profile's PCIe link alone, as pcie-bench measures it. A point is a
 * line `TRAFFIC SIZE`; prints Gb/s of `write`, `read` and `both`, and nanoseconds of `read_latency`. For `hcasim
 * calibrate`.
 */
#include <cstdio>
#include <iostream>
#include <string>

#include "link_bench/link_rates.h"

static bool run(const hcasim::Profile &p, const std::string &traffic, uint32_t size)
{
	double value;

	if (traffic == "write" || traffic == "read")
		value = link_gbps(p, traffic == "write", size);
	else if (traffic == "both")
		value = link_gbps_both(p, size);
	else if (traffic == "read_latency")
		value = link_read_ns(p, size);
	else
		return false;
	printf("%.6f\n", value);
	return true;
}

int main(int argc, char **argv)
{
	hcasim::Profile p;
	std::string err, traffic;
	uint32_t size;

	if (argc != 2) {
		fprintf(stderr, "usage: hcasim-dma PROFILE < POINTS\n");
		return 2;
	}
	if (!hcasim::profile_load(argv[1], p, err)) {
		fprintf(stderr, "hcasim-dma: %s\n", err.c_str());
		return 1;
	}
	while (std::cin >> traffic >> size) {
		if (!size || size > 65536 || !run(p, traffic, size)) {
			fprintf(stderr,
				"hcasim-dma: '%s %u' is not write, read, both or read_latency, and 1 to "
				"65536\n",
				traffic.c_str(), size);
			return 1;
		}
	}
	return 0;
}
