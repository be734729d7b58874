/* X = M⁻¹ X for a triangle M and on one thread: substitution in tiles, and by halves of M nearly all of the
 * work in products. No inverse of a tile is used, so X is as accurate as one column at a time. */
#include "inverse.h"

#include "product.h"

typedef struct system {
    ct_dtype dtype;
    bool lower, unit;
    const void *m;
    int64_t rs, cs;
    void *x;
    int64_t ldx, cols;
    void *work;
} system;

static const void *block(const system *s, int64_t i, int64_t j)
{
    return ct__at(s->m, s->dtype, i * s->rs + j * s->cs);
}

/* X_to = X_to - M_to,from X_from */
static void eliminate(const system *s, int64_t to, int64_t rows, int64_t from, int64_t depth)
{
    ct__product_run(&(ct__product){ .dtype = s->dtype,
                                    .minus = true,
                                    .add = true,
                                    .m = rows,
                                    .n = s->cols,
                                    .k = depth,
                                    .a = block(s, to, from),
                                    .a_rs = s->rs,
                                    .a_cs = s->cs,
                                    .b = ct__ij(s->x, s->dtype, s->ldx, from, 0),
                                    .b_rs = s->ldx,
                                    .b_cs = 1,
                                    .c = ct__ij(s->x, s->dtype, s->ldx, to, 0),
                                    .ldc = s->ldx },
                    s->work);
}

/* Rows [i, i + n), into which all others that they depend on have gone. */
static void solve(const system *s, int64_t i, int64_t n)
{
    if (n <= CT__TILE) {
        const int64_t end = i + n - 1;
        if (s->lower)
            ct__tile_substitute(s->dtype, block(s, i, i), s->rs, s->cs, n, s->unit,
                                ct__ij(s->x, s->dtype, s->ldx, i, 0), s->ldx, s->cols);
        else
            ct__tile_substitute(s->dtype, block(s, end, end), -s->rs, -s->cs, n, s->unit,
                                ct__ij(s->x, s->dtype, s->ldx, end, 0), -s->ldx, s->cols);
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

void ct__substitute(ct_dtype dtype, bool lower, bool unit, int64_t n, const void *m, int64_t rs, int64_t cs,
                    void *x, int64_t ldx, int64_t cols, void *work)
{
    solve(&(system){ dtype, lower, unit, m, rs, cs, x, ldx, cols, work }, 0, n);
}
