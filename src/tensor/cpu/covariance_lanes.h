/* Likelihoods of few rows, L members side by side, for each type and instruction set (each_isa.h). Each number
 * below is a vector, one of each member. A member that needs care fails its group: whoever asked then computes
 * the members one by one. */

/* A_ij of the packed triangle, j <= i */
CT__INLINE T *NAME(at)(T *A, int64_t i, int64_t j) { return A + (i * (i + 1) / 2 + j) * L; }

/* Sweeps A (n + 1 rows) on pivot k: A_ij -= A_ik A_kj / A_kk, A_ik /= A_kk, A_kk = -1 / A_kk; or only the rows
 * behind the pivot. [Goodnight 1979, "A tutorial on the SWEEP operator"] */
TARGET CT__INLINE void NAME(sweep_on)(T *A, int64_t n, int64_t k, bool all)
{
    NAME(vec) w[CT__COV_LANE_ROWS + 1];
    const NAME(vec) f = -1 / LOAD(NAME(at)(A, k, k));
    const int64_t from = all ? 0 : k + 1;
    for (int64_t i = from; i <= n; i++) w[i] = LOAD(i < k ? NAME(at)(A, k, i) : NAME(at)(A, i, k));
    for (int64_t i = from; i <= n; i++) {
        const NAME(vec) s = f * w[i];
        T *row = NAME(at)(A, i, 0);
        for (int64_t j = from; j <= i && i != k; j++) VEC(row + j * L) = MAD(s, w[j], LOAD(row + j * L));
        VEC(i < k ? NAME(at)(A, k, i) : row + k * L) = -s;
    }
    VEC(NAME(at)(A, k, k)) = f;
}

/* Members from `first` on get their `count` elements of t from `from` (count, L), times `sign`. */
TARGET static void NAME(put)(const problem *q, const ct_view *t, int64_t first, int64_t count, T sign, const T *from)
{
    for (int64_t l = 0; l < ct__min(L, q->members - first); l++) {
        T *to = NAME(member)(q, t, first + l);
        for (int64_t i = 0; i < count; i++) to[i * t->stride[t->ndim - 1]] = sign * from[i * L + l];
    }
}

/* A becomes the lower triangle of [C rᵀ; r 0], C = k(X, X) + diag(noise), and limit (n) its pivots' least. */
TARGET static bool NAME(build)(const NAME(plan) * p, int64_t first, T *limit)
{
    const problem *q = p->q;
    const int64_t n = q->n, step = ct__dim(q->noise, -1) == 1 ? 0 : q->noise->stride[q->noise->ndim - 1];
    T *r = NAME(at)(p->A, n, 0);
    bool wild = false;
    for (int64_t l = 0; l < L; l++) {
        const T *from = NAME(member)(q, q->r, first + l), *noise = NAME(member)(q, q->noise, first + l);
        for (int64_t i = 0; i < n; i++) r[i * L + l] = from[i * q->r->stride[q->r->ndim - 1]];
        for (int64_t i = 0; i < n; i++) limit[i * L + l] = noise[i * step];
    }
    VEC(r + n * L) = (NAME(vec)){ 0 };
    for (int64_t i = 0; i < n; i++) {
        const strip t = { i, 1, 0, (i + 1) * L };
        T *C = NAME(at)(p->A, i, 0), *diagonal = C + i * L;
        NAME(values)(p, p->space, &t, C, false);
        for (int k = 0; k < p->n_nodes; k++) wild |= p->nodes[k].code < CT_COV_PROFILES && p->space[k].wild;
        VEC(diagonal) += LOAD(limit + i * L);
        VEC(limit + i * L) = (T)q->tolerance * LOAD(diagonal) + (F64 ? (T)DBL_MIN : (T)FLT_MIN);
    }
    return !wild;
}

/* v = ½ (Σ log d_k + rᵀα + n log 2π) of the n pivots d; false: one of them is too small. The sum is that of the
 * exponents and the logarithm of the product of the fractions. */
TARGET static bool NAME(value)(const T *d, const T *limit, int64_t n, const T *corner, T *v)
{
    uint64_t exponent[L] = { 0 };
    double product[L];
    bool fine = true;
    for (int l = 0; l < L; l++) product[l] = 1;
    for (int64_t k = 0; k < n; k++, d += L, limit += L)
        for (int l = 0; l < L; l++) {
            const uint64_t bits = ct__bits(d[l]);
            exponent[l] += bits >> 52;
            product[l] *= ct__from_bits((bits & UINT64_MAX >> 12) | (uint64_t)1023 << 52);
            fine &= d[l] > limit[l] && d[l] < (T)INFINITY;
        }
    for (int l = 0; l < L; l++) {
        const double logs = log(product[l]) + ((double)exponent[l] - 1023. * (double)n) * 0x1.62e42fefa39efp-1;
        v[l] = (T)(0.5 * (logs - corner[l] + 1.8378770664093454836 * (double)n));
        fine &= isfinite(v[l]);
    }
    return fine;
}

/* Members from `first` on: the pivots of C, all swept, leave [-C⁻¹ ·; αᵀ -rᵀα], and a last one of -1 in the
 * corner -C⁻¹ + ααᵀ. */
TARGET static bool NAME(likelihood)(problem *q, char *block, int64_t first)
{
    const NAME(plan) p = NAME(prepare)(q, block, first);
    const int64_t n = q->n, P = q->program->n_params;
    T pivot[CT__COV_LANE_ROWS * L], limit[CT__COV_LANE_ROWS * L], v[L], *A = p.A, *corner = NAME(at)(A, n, n);
    bool fine = NAME(build)(&p, first, limit);
    for (int64_t k = 0; k < n; k++) {
        VEC(pivot + k * L) = LOAD(NAME(at)(A, k, k));
        NAME(sweep_on)(A, n, k, q->r_bar);
    }
    if (!fine || !NAME(value)(pivot, limit, n, corner, v)) return false;
    NAME(put)(q, q->value, first, 1, 1, v);
    if (q->r_bar) NAME(put)(q, q->r_bar, first, n, 1, NAME(at)(A, n, 0));
    if (!q->theta_bar) return true;
    VEC(corner) = (NAME(vec)){ 0 } - 1;
    NAME(sweep_on)(A, n, n, true);
    memset(p.theta_bar, 0, (size_t)P * sizeof(NAME(sums)));
    for (int64_t i = 0; i < n; i++) {
        const strip t = { i, 1, 0, (i + 1) * L };
        T *row = NAME(at)(A, i, 0);
        VEC(limit + i * L) = LOAD(row + i * L) / 2;
        VEC(row + i * L) = LOAD(limit + i * L);
        NAME(strip_bar)(&p, p.space, &t, row, p.theta_bar, NULL);
    }
    for (int64_t k = 0; k < P * L; k++) p.theta[k] = (T)p.theta_bar[k];
    NAME(put)(q, q->noise_bar, first, n, -1, limit);
    NAME(put)(q, q->theta_bar, first, P, -1, p.theta);
    return true;
}

/* What one thread does of the batch: groups of members, as they come. */
static void NAME(likelihood_part)(const void *plan, int part)
{
    problem *q = *(problem *const *)plan;
    for (int64_t group; (group = atomic_fetch_add(&q->next, 1)) * L < q->members;)
        if (!NAME(likelihood)(q, q->block + (size_t)part * q->room, group * L)) atomic_store(&q->failed, true);
}

static void NAME(likelihoods)(problem *q, int threads) { each_part(threads, NAME(likelihood_part), &q); }
