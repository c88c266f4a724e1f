# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
import sys

from hcasim_conform.cli import main

sys.exit(main())
