/* ctgp plot of two coordinates: a map of the middle with the rows on it, and one of its uncertainty. */
#include "plot_map.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "context.h"
#include "failure.h"
#include "names.h"
#include "plot_band.h"
#include "plot_points.h"
#include "plot_tics.h"
#include "target.h"

/* -- the two sides --------------------------------------------------------------------------------------- */

static bool begins(const char *name, const char *with) { return !strncasecmp(name, with, strlen(with)); }

/* Whether the names are those of a longitude and a latitude. */
static bool is_geographic(const page *g, const int64_t s[2])
{
    const span *x = &g->spans[s[0]], *y = &g->spans[s[1]];
    return (begins(x->input->name, "lon") || begins(x->input->name, "lng")) &&
           begins(y->input->name, "lat") && y->lo >= -90 && y->hi <= 90 && x->lo >= -360 && x->hi <= 360;
}

/* Whether they have one unit: the names differ in an x for a y, or are those of a map's grid. */
static bool is_plane(const page *g, const int64_t s[2])
{
    const char *x = g->spans[s[0]].input->name, *y = g->spans[s[1]].input->name;
    if (begins(x, "east") && begins(y, "north")) return true;
    while (*x && *x == *y) x++, y++;
    return (*x | 32) == 'x' && (*y | 32) == 'y' && !strcmp(x + 1, y + 1);
}

bool find_map(const page *g, const char *names, int64_t sides[2])
{
    const int64_t n = spans_choose(g->c, g->spans, ct_gp_dims(g->gp), "--map", names, sides);
    if (names && n != 2) fail(g->c, CODE_USAGE, "--map: '%s' is not two inputs", names);
    if (n != 2) return false;
    const span *x = &g->spans[sides[0]], *y = &g->spans[sides[1]];
    const int64_t other[2] = { sides[1], sides[0] };
    const bool numbers = is_number(x->input) && is_number(y->input);
    if (names && (x->levels || y->levels || x->lo == x->hi || y->lo == y->hi))
        fail(g->c, CODE_DATA, "--map %s: a map needs two inputs with more than two numbers", names);
    if (!names && (is_geographic(g, other) || is_plane(g, other))) memcpy(sides, other, sizeof other);
    return names || (numbers && !x->levels && !y->levels);
}

/* -- the maps -------------------------------------------------------------------------------------------- */

/* In pixels: the width of a box, its height at most, and the room for the axis of its colours. */
enum { BOX = 400, TALLEST = 600, COLOURS = 126 };

/* Height over width. Coordinates of one unit have one scale, a degree of longitude that of the middle
 * latitude. */
static double ratio_of(const page *g, const int64_t s[2], const axis *x, const axis *y)
{
    const double middle = (y->lo + y->hi) / 2 / 180 * acos(-1), ratio = (y->hi - y->lo) / (x->hi - x->lo);
    return is_geographic(g, s) ? ratio / cos(middle) : is_plane(g, s) ? ratio : 0.75;
}

/* Cells of the image along an axis. */
enum { LEAST_CELLS = 100, MOST_CELLS = 200 };

/* Four to the shortest lengthscale and eight to a period; none where they would be too many. */
static side map_side(const page *g, int64_t j, const axis *a)
{
    const double asked = ceil((a->hi - a->lo) / g->spans[j].step / 2.5);
    const int64_t n = asked > MOST_CELLS ? 0 : (int64_t)fmax(asked, LEAST_CELLS);
    const double half = n ? 0.5 * (a->hi - a->lo) / (double)n : 0;
    return n ? side_make(g->c, &g->spans[j], j, a->lo + half, a->hi - half, n) : (side){ .j = j };
}

/* Begins box k of two, with the axes of its sides. */
static void begin_box(page *g, int k, const axis *x, const axis *y, double w, double h)
{
    page_panel(g, k * (LEFT + w + COLOURS), 0, LEFT + w + RIGHT, ABOVE + h + BELOW);
    page_y(g, y, y->of->input->name, "");
    page_x(g, x, x->of->input->name, "");
}

/* Draws (x.n, y.n) cells of the colours of `values`, with an axis of them. The plot command goes on. */
static void write_cells(page *g, const side *x, const side *y, const double *values, const axis *of,
                        const char *name, const char *suffix, const char *palette)
{
    fprintf(g->script, "$map << EOD\n");
    for (int64_t i = 0; i < x->n * y->n; i++)
        fprintf(g->script, "%.6f %.6f %.6f\n", ((double)(i / y->n) + 0.5) / (double)x->n,
                ((double)(i % y->n) + 0.5) / (double)y->n, share(of, values[i]));
    fprintf(g->script,
            "EOD\nset colorbox user origin screen %.6f, screen %.6f size screen %.6f, screen %.6f\n",
            (g->x + g->w + 14) / g->width, 1 - (g->y + g->h) / g->height, 16 / g->width, g->h / g->height);
    write_axis(g->c, g->script, "cb", of, g->h, 0, name, suffix);
    fprintf(g->script, "set palette defined (%s)\nplot $map with image", palette);
}

/* Few rows have the colour of their target and a rim of the colour of their fate. */
static void plot_rows(page *g, const points *q)
{
    if (q->n > 300) points_plot(g, q, false);
    for (int k = FATES; k-- > 0 && q->n <= 300;)
        fprintf(g->script,
                ", $%s using 1:2:3 with points pt 7 ps 0.7 lc palette, "
                "$%s using 1:2 with points pt 6 ps 0.7 lw 0.7 lc rgb '#'.c_%s",
                block_of[k], block_of[k], block_of[k]);
}

static points take_rows(page *g, const int64_t s[2])
{
    const frame *f = &g->p->data;
    points q = points_make(g, 0);
    for (int64_t i = 0; i < q.n; i++) {
        q.low[i] = q.high[i] = q.y[i];
        q.x[i] = ct_table_at(f->table, f->rows[i], f->cols[1 + s[0]]);
        q.y[i] = ct_table_at(f->table, f->rows[i], f->cols[1 + s[1]]);
    }
    return q;
}

bool write_map(page *g, const int64_t s[2])
{
    const axis x = span_axis(&g->spans[s[0]]), y = span_axis(&g->spans[s[1]]);
    const side across = map_side(g, s[0], &x), up = map_side(g, s[1], &y);
    if (!across.n || !up.n) {
        page_remark(g,
                    text_of(g->c, "no map over %s and %s: the kernel's waves need more than %d cells across",
                            x.of->input->name, y.of->input->name, MOST_CELLS));
        return false;
    }
    const prediction m = slice_predict(g->c, g->gp, g->spans, &across, &up, false);
    axis of = target_axis(g->gp), error = empty_axis;
    double *middle = take(g->c, m.data.n_rows, sizeof *middle, "a map");
    for (int64_t i = 0; i < m.data.n_rows; i++)
        middle[i] = prediction_quantile(&m, i, 0), cover(&of, middle[i]), cover(&error, m.std[i]);
    widen(&of, 0, 0);
    widen(&error, 0, 0);
    const points q = take_rows(g, s);
    const double ratio = ratio_of(g, s, &x, &y), h = fmin(ratio * BOX, TALLEST), w = h / ratio;
    page_begin(g, 2 * (LEFT + w + COLOURS), ABOVE + h + BELOW);
    fputs("set border 31\nunset grid\n", g->script);
    points_write(g, &q, &x, &y, &of);
    begin_box(g, 0, &x, &y, w, h);
    write_cells(g, &across, &up, middle, &of, ct_gp_output(g->gp)->name,
                text_of(g->c, ", %s", middle_name(g->gp)),
                "0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725'");
    plot_rows(g, &q);
    fputs("\n", g->script);
    begin_box(g, 1, &x, &y, w, h);
    write_cells(g, &across, &up, m.std, &error, target_text(g->c, g->gp), ", standard deviation",
                "0 '#f7fbff', 1 '#9ecae1', 2 '#4292c6', 3 '#08306b'");
    fputs(", $learned using 1:2 with points pt 6 ps 0.4 lw 0.7 lc rgb '#202020'\n", g->script);
    return true;
}
