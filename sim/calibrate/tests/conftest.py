# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from by_day import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401  (hooks of pytest)
