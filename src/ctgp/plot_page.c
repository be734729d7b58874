/* ctgp plot: the page, its header, and where its panels are. */
#include "plot_page.h"

#include "plot_gnuplot.h"
#include "plot_tics.h"
#include "text.h"

/* The height of a line in pixels. */
enum { LINE = 20 };

static const char *const colours[][2] = {
    /* light, dark */
    { "c_back = '#ffffff'", "c_back = '#15181d'" },     { "c_ink = '#303030'", "c_ink = '#d8dade'" },
    { "c_grid = '#e4e4e4'", "c_grid = '#2e333b'" },     { "c_line = '#1f5f99'", "c_line = '#6db3f2'" },
    { "c_band = '#bcd7ee'", "c_band = '#23415e'" },     { "c_learned = '202020'", "c_learned = 'e8e8e8'" },
    { "p_learned = '9fb3c4'", "p_learned = '5b6b7a'" }, { "c_held = 'd9560b'", "c_held = 'ff9c52'" },
    { "p_held = 'f0b48a'", "p_held = '7d4a22'" },       { "c_others = '8a2bb0'", "c_others = 'd391f0'" },
    { "p_others = 'd2b0de'", "p_others = '663a78'" },
};

void page_line(page *g, const char *colour, const char *text)
{
    if (g->lines == MOST_LINES) return;
    g->line[g->lines] = text, g->colour[g->lines++] = colour;
}

void page_remark(page *g, const char *text)
{
    note("%s", text);
    page_line(g, "c_ink", text);
}

/* The same size in each format: PNG has two dots a pixel, and PDF a hundred pixels an inch. */
static void write_terminal(const page *g)
{
    const char *const format[] = { "svg size %g,%g font 'Sans,13' background rgb c_back noenhanced\n",
                                   "pngcairo size %g,%g font 'Sans,22' linewidth 2 pointscale 2 "
                                   "background rgb c_back noenhanced\n",
                                   "pdfcairo size %gin,%gin font 'Sans,12' linewidth 1.4 pointscale 1 "
                                   "background rgb c_back noenhanced\n" };
    const double scale[] = { 1, 2, 0.01 };
    fputs("set terminal ", g->script);
    fprintf(g->script, format[g->format], scale[g->format] * g->width, scale[g->format] * g->height);
}

void page_begin(page *g, double width, double height)
{
    g->top = LINE * (g->lines + 0.8);
    g->width = width, g->height = height + g->top;
    fputs("set encoding utf8\n", g->script);
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        fprintf(g->script, "%s\n", colours[i][g->dark]);
    write_terminal(g);
    fputs("set border 3 lc rgb c_ink\nset tics nomirror out scale 0.6 tc rgb c_ink\n"
          "set xlabel tc rgb c_ink\nset ylabel tc rgb c_ink\nset cblabel offset 1.5,0 tc rgb c_ink\n"
          "set grid lc rgb c_grid lt 1 lw 0.6\nset style fill solid 1 noborder\nunset key\n"
          "set multiplot\n",
          g->script);
    for (int i = 0; i < g->lines; i++) {
        fputs("set label ", g->script);
        quote(g->script, shortened(g->c, g->line[i], (size_t)(width - 2 * LINE) / LETTER));
        fprintf(g->script, " at screen %.6f, screen %.6f left tc rgb %s\n", LINE / width,
                1 - LINE * (i + 0.9) / g->height, g->colour[i]);
    }
}

static void write_margins(const page *g)
{
    fprintf(g->script,
            "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
            "set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
            g->x / g->width, (g->x + g->w) / g->width, 1 - g->y / g->height, 1 - (g->y + g->h) / g->height);
}

void page_panel(page *g, double x, double y, double w, double h)
{
    if (g->panels++) fputs("unset label\n", g->script);
    g->x = x + LEFT, g->y = g->top + y + ABOVE, g->w = w - LEFT - RIGHT, g->h = h - ABOVE - BELOW;
    write_margins(g);
}

void page_y(page *g, const axis *a, const char *name, const char *suffix)
{
    write_axis(g->c, g->script, "y", a, g->h, 0, name, suffix);
}

/* Names that stand upright, by 60 degrees, make the box lower and may reach the panel's left. */
void page_x(page *g, const axis *a, const char *name, const char *suffix)
{
    const size_t most = (size_t)(g->h / 2 / LETTER), left = 2 * (LEFT - 16) / LETTER;
    const size_t upright = write_axis(g->c, g->script, "x", a, g->w, most < left ? most : left, name, suffix);
    if (!upright) return;
    g->h -= LETTER * (double)upright;
    write_margins(g);
}
