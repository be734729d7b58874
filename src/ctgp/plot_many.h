/* ctgp plot of several inputs. */
#ifndef CTGP_PLOT_MANY_H
#define CTGP_PLOT_MANY_H

#include "plot_page.h"

/* At most so many effects are drawn, those with the widest range. */
void write_panels(page *g, int64_t most);

#endif
