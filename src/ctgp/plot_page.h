/* ctgp plot: the page, its header, and where its panels are. */
#ifndef CTGP_PLOT_PAGE_H
#define CTGP_PLOT_PAGE_H

#include <stdio.h>

#include "ctgp.h"
#include "learned.h"
#include "model.h"
#include "plot_axis.h"

/* Margins of a panel in pixels. */
enum { LEFT = 98, RIGHT = 42, ABOVE = 12, BELOW = 62 };

enum { MOST_LINES = 12 };

typedef struct page {
    ctgp *c;
    ct_gp *gp;
    const prediction *p; /* at the rows of the table */
    const fate *fates;   /* of these rows */
    const span *spans;   /* of the inputs in these rows */
    FILE *script;
    int format; /* 0 svg, 1 png, 2 pdf */
    bool dark;
    const char *line[MOST_LINES], *colour[MOST_LINES]; /* the header, [lines] */
    int lines, panels;
    double width, height, top; /* pixels; the header's height */
    double x, y, w, h;         /* of the panel: the box within its axes, from above */
} page;

/* Adds a line to the header. The script has colours of these names: c_ink, c_grid, c_line, c_band, and of
 * rows c_learned, c_held, c_others, with a pale one for each, as p_learned. */
void page_line(page *g, const char *colour, const char *text);
/* The same for what is not drawn, which standard error says, too. */
void page_remark(page *g, const char *text);
/* Begins a page once the header is complete. The header comes on top of `height`. */
void page_begin(page *g, double width, double height);
/* A panel in a cell of the page, whose y counts from below the header. Its box lies within the margins. */
void page_panel(page *g, double x, double y, double w, double h);
/* The axes of the panel; x after y, as its names may take room from it. */
void page_y(page *g, const axis *a, const char *name, const char *suffix);
void page_x(page *g, const axis *a, const char *name, const char *suffix);

#endif
