/* Vector code: substitution with a lower triangle. Blocks of HIGH rows and a few vectors of columns are held
 * in registers. No inverse of a block is used, so X is as accurate as column-by-column substitution. */

/* The next HIGH rows of X (fewer at the end): x_r = (b_r - Σ_k c_rk x_k - Σ_{q<r} c_rq x_q) / c_rr */
typedef struct next_rows {
    int64_t rows, depth;
    const T *c, *done; /* c_rk is at c + r rs + k cs; x_k, already solved, at done + k ld */
    int64_t rs, cs, ld;
    int64_t own, own_cs;        /* c_rq is at c + own + r rs + q own_cs */
    const T *inverse, *divisor; /* 1/c_rr and, if divisor is not NULL, c_rr; `step` apart */
    int64_t step;
    const T *b;
    T *x; /* may be b */
    int64_t ldx;
} next_rows;

CT__INLINE void substitute_rows(const int vectors, const next_rows *n)
{
    vec sum[HIGH * WIDE] = { 0 };
    const vec zero = { 0 };
    const T *l[HIGH];
    UNROLL for (int r = 0; r < HIGH; r++) l[r] = n->c + (r < n->rows ? r : 0) * n->rs;
    accumulate(HIGH, vectors, true, n->depth, l, n->cs, n->done, n->ld, sum);
    UNROLL for (int r = 0; r < HIGH; r++)
    {
        if (r >= n->rows) break;
        UNROLL for (int v = 0; v < vectors; v++) sum[r * vectors + v] -= LOAD(n->b + r * n->ldx + v * L);
    }
    UNROLL for (int r = 0; r < HIGH; r++)
    {
        if (r >= n->rows) break;
        const vec f = zero - n->inverse[r * n->step];
        vec *own = sum + r * vectors;
        UNROLL for (int v = 0; v < vectors; v++)
        {
            own[v] = n->divisor ? -own[v] / n->divisor[r * n->step] : own[v] * f;
            VEC(n->x + r * n->ldx + v * L) = own[v];
        }
        UNROLL for (int q = r + 1; q < HIGH; q++)
        {
            const vec s = l[q][n->own + r * n->own_cs] - zero;
            UNROLL for (int v = 0; v < vectors; v++) ADD_PRODUCT(sum[q * vectors + v], s, own[v]);
        }
    }
}
