/* X = M⁻¹ X for a triangle M, on one thread. M is halved recursively down to tiles, so nearly all of the work
 * is in products. No inverse of a tile is used, so X is as accurate as column-by-column substitution. */
#include "substitute.h"

#include <string.h>

typedef struct system {
    const ct__microkernels *kernels;
    bool lower, unit;
    const void *m;
    int64_t rs, cs;
    void *x;
    int64_t ldx, cols;
    void *work;
} system;

static const void *block(const system *s, int64_t i, int64_t j)
{
    return ct__at(s->m, s->kernels->dtype, i * s->rs + j * s->cs);
}

/* X_to -= M_to,from X_from */
static void eliminate(const system *s, int64_t to, int64_t rows, int64_t from, int64_t depth)
{
    s->kernels->product(&(ct__product){ .minus = true,
                                        .add = true,
                                        .m = rows,
                                        .n = s->cols,
                                        .k = depth,
                                        .a = block(s, to, from),
                                        .a_rs = s->rs,
                                        .a_cs = s->cs,
                                        .b = ct__ij(s->x, s->kernels->dtype, s->ldx, from, 0),
                                        .b_rs = s->ldx,
                                        .b_cs = 1,
                                        .c = ct__ij(s->x, s->kernels->dtype, s->ldx, to, 0),
                                        .ldc = s->ldx },
                        s->work);
}

/* Solves for rows [i, i + n), from which all rows that they depend on have been eliminated. */
static void solve(const system *s, int64_t i, int64_t n)
{
    if (n <= CT__TILE) {
        const int64_t end = i + n - 1;
        if (s->lower)
            s->kernels->substitute(block(s, i, i), s->rs, s->cs, n, s->unit,
                                   ct__ij(s->x, s->kernels->dtype, s->ldx, i, 0), s->ldx, s->cols);
        else
            s->kernels->substitute(block(s, end, end), -s->rs, -s->cs, n, s->unit,
                                   ct__ij(s->x, s->kernels->dtype, s->ldx, end, 0), -s->ldx, s->cols);
        return;
    }
    const int64_t h = ct__half(n), middle = i + h, rest = n - h;
    if (s->lower) {
        solve(s, i, h);
        eliminate(s, middle, rest, i, h);
        solve(s, middle, rest);
    } else {
        solve(s, middle, rest);
        eliminate(s, i, h, middle, rest);
        solve(s, i, h);
    }
}

void ct__substitute(const ct__microkernels *kernels, bool lower, bool unit, int64_t n, const void *m,
                    int64_t rs, int64_t cs, void *x, int64_t ldx, int64_t cols, void *work)
{
    solve(&(system){ kernels, lower, unit, m, rs, cs, x, ldx, cols, work }, 0, n);
}

/* -- inverses -------------------------------------------------------------------------------------------- */

void ct__set_identity(ct_dtype dtype, int64_t n, int64_t cols, void *x, int64_t ld)
{
    for (int64_t i = 0; i < n; i++) {
        memset(ct__ij(x, dtype, ld, i, 0), 0, (size_t)cols * ct_dtype_size(dtype));
        const int64_t j = i - (n - cols);
        if (j >= 0) ct__set(dtype, x, i * ld + j, 1);
    }
}

/* Lower: M21 = -T22⁻¹ (T21 M11), upper: M12 = -T11⁻¹ (T12 M22). Solving with T, although M's blocks are at
 * hand, keeps T M - I small [Higham 2002, §14.2.2]. */
void ct__invert_triangle(const ct__microkernels *kernels, bool lower, bool unit, const void *a, int64_t rs,
                         int64_t cs, void *m, int64_t ld, int64_t n, void *work)
{
    const ct_dtype t = kernels->dtype;
    if (n <= CT__TILE) {
        ct__set_identity(t, n, n, m, ld);
        ct__substitute(kernels, lower, unit, n, a, rs, cs, m, ld, n, work);
        return;
    }
    const int64_t h = ct__half(n), r = n - h, rows = lower ? r : h, cols = n - rows;
    const int64_t i = lower ? h : 0, j = lower ? 0 : h;
    void *corner = ct__ij(m, t, ld, i, j);
    ct__invert_triangle(kernels, lower, unit, a, rs, cs, m, ld, h, work);
    ct__invert_triangle(kernels, lower, unit, ct__at(a, t, h * (rs + cs)), rs, cs, ct__ij(m, t, ld, h, h), ld,
                        r, work);
    kernels->product(&(ct__product){ .parts = lower ? CT__RIGHT_LOWER : CT__RIGHT_UPPER,
                                     .minus = true,
                                     .m = rows,
                                     .n = cols,
                                     .k = cols,
                                     .a = ct__at(a, t, i * rs + j * cs),
                                     .a_rs = rs,
                                     .a_cs = cs,
                                     .b = ct__ij(m, t, ld, j, j),
                                     .b_rs = ld,
                                     .b_cs = 1,
                                     .c = corner,
                                     .ldc = ld },
                     work);
    ct__substitute(kernels, lower, unit, rows, ct__at(a, t, i * (rs + cs)), rs, cs, corner, ld, cols, work);
}
