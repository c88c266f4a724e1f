/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The figures of a profile as a table: search, and checks of their values. Errors are thrown, as one sentence. */
#ifndef HCASIM_PROFILE_FIGURES_H
#define HCASIM_PROFILE_FIGURES_H

#include "profile.h"

namespace hcasim
{

/* NULL: none has this key. */
const Figure *figure_find(const std::vector<Figure> &figures, const std::string &key);
/* Do the keys of some figures begin with `key` and a dot? */
bool figure_group(const std::vector<Figure> &figures, const std::string &key);
/* The sentence for a key that is neither; names the one that was probably meant. */
std::string figure_unknown(const std::vector<Figure> &figures, const std::string &key);
/* Puts a value, in the figure's unit, at its place. */
void figure_store(const Figure &figure, const std::string &text);
/* The value at its place, in the figure's unit. */
std::string figure_value(const Figure &figure);
/* Gives the figures that the profile has no source for, because it does not have them, their defaults. */
void figures_fill(const std::vector<Figure> &figures, const Profile &profile);
/* Figures that contradict each other. */
void figures_check(const std::vector<Figure> &figures, const ProfileFigures &values);

} // namespace hcasim
#endif
