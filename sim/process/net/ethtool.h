/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef HCASIM_PROCESS_PRELOAD_ETHTOOL_H
#define HCASIM_PROCESS_PRELOAD_ETHTOOL_H

#include "process/net/netif.h"

/* SIOCETHTOOL of a simulated interface; `user` is the caller's command (linux/ethtool.h). 0 or -errno. */
int ethtool_serve(const struct netif *n, void *user);

#endif
