// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/engine.h"
#include "engines/lockstep.h"
#include "engines/select.h"

#define LOCKSTEP    "lockstep:"
#define WAVE_CYCLES 10000

static const struct engine_ops *check_plugin(const char *path, const struct engine_plugin *p, char *err,
					     size_t err_size)
{
	if (p->abi != ENGINE_ABI)
		snprintf(err, err_size, "engine '%s': has ABI version %u of the engine port, needed is %u",
			 path, p->abi, ENGINE_ABI);
	else if (p->ops_size != sizeof(struct engine_ops) || p->ports_size != sizeof(struct engine_ports))
		snprintf(err, err_size,
			 "engine '%s': was built with another core/engine.h (sizes %u and %u, not %zu and "
			 "%zu)",
			 path, p->ops_size, p->ports_size, sizeof(struct engine_ops),
			 sizeof(struct engine_ports));
	else if (!p->ops || !p->ops->name || !p->ops->create)
		snprintf(err, err_size, "engine '%s': its %s has no ops", path, ENGINE_PLUGIN_SYMBOL);
	else
		return p->ops;
	return NULL;
}

/* The library stays open. */
static const struct engine_ops *load(const char *path, char *err, size_t err_size)
{
	const struct engine_plugin *p;
	void *library;

	if (!strchr(path, '/')) {
		snprintf(err, err_size, "engine '%s': is neither c nor the path of a shared library", path);
		return NULL;
	}
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(err, err_size, "engine '%s': cannot be loaded: %s", path, dlerror());
		return NULL;
	}
	p = dlsym(library, ENGINE_PLUGIN_SYMBOL);
	if (!p) {
		snprintf(err, err_size, "engine '%s': the library has no symbol %s", path,
			 ENGINE_PLUGIN_SYMBOL);
		return NULL;
	}
	return check_plugin(path, p, err, err_size);
}

const struct engine_ops *engine_select(const struct engine_choice *choice, char *err, size_t err_size)
{
	bool pair = !strncmp(choice->name, LOCKSTEP, strlen(LOCKSTEP));
	const char *name = choice->name + (pair ? strlen(LOCKSTEP) : 0);
	const struct engine_ops *ops = !strcmp(name, "c") ? &c_engine : load(name, err, err_size);

	if (!ops || !pair)
		return ops;
	lockstep_config = (struct lockstep_config){.first = &c_engine,
						   .second = ops,
						   .stop = choice->stop,
						   .wave = choice->wave,
						   .wave_cycles = WAVE_CYCLES};
	return &lockstep_engine;
}
