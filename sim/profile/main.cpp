// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* hcasim-profile FILE [KEY=VALUE]...: prints a timing profile with these figures replaced. */
#include <cstdio>

#include "profile.h"

int main(int argc, char **argv)
{
	hcasim::Profile profile;
	std::string err;

	if (argc < 2) {
		fprintf(stderr, "usage: hcasim-profile FILE [KEY=VALUE]...\n");
		return 2;
	}
	if (!hcasim::profile_load(argv[1], profile, err) ||
	    !hcasim::profile_set(profile, {argv + 2, argv + argc}, err)) {
		fprintf(stderr, "%s\n", err.c_str());
		return 1;
	}
	fputs(hcasim::profile_text(profile).c_str(), stdout);
	return fflush(stdout) || ferror(stdout);
}
