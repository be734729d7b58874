/* Vector code: small Gaussians, L members of a batch side by side. Each number of the algorithm is a vector
 * with one lane for each member. */

/* A_ij of the packed triangle, j <= i */
CT__INLINE T *packed_at(T *A, int64_t i, int64_t j) { return A + (i * (i + 1) / 2 + j) * L; }

/* Sweeps A (n + 1 rows) on pivot k: A_ij -= A_ik A_kj / A_kk, A_ik /= A_kk, A_kk = -1 / A_kk.
 * [Goodnight 1979, "A tutorial on the SWEEP operator"] */
CT__INLINE void sweep_on(T *A, int64_t n, int64_t k)
{
    vec w[CT__COV_WIDTH / L + 1];
    const vec f = -1 / LOAD(packed_at(A, k, k));
    for (int64_t i = 0; i <= n; i++) w[i] = LOAD(i < k ? packed_at(A, k, i) : packed_at(A, i, k));
    for (int64_t i = 0; i <= n; i++) {
        const vec s = f * w[i];
        T *row = packed_at(A, i, 0);
        for (int64_t j = 0; j <= i && i != k; j++) VEC(row + j * L) = MAD(s, w[j], LOAD(row + j * L));
        VEC(i < k ? packed_at(A, k, i) : row + k * L) = -s;
    }
    VEC(packed_at(A, k, k)) = f;
}

/* Computes the members from `first` on. A starts as [C r; rᵀ 0]. Sweeping on C's pivots gives [-C⁻¹ α; αᵀ
 * -rᵀα]. Setting the corner to -1 and sweeping on it gives -C⁻¹ + ααᵀ. d holds the pivots, then rᵀα. A pivot
 * that is too small, or an element of d that is not finite, fails the whole batch. `limit` holds the noise at
 * first, then the smallest pivots allowed, and finally -noise_bar. */
static void gaussian(ct__cov_problem *q, char *block, int64_t first)
{
    const plan p = prepare(q, block, first);
    const int64_t n = q->n, P = q->program->n_params;
    T d[CT__COV_WIDTH + L], limit[CT__COV_WIDTH + L], *alpha = packed_at(p.A, n, 0), *corner = alpha + n * L;
    bool fails = false;
    move(q, q->r, first, 0, n, -1, alpha, 0);
    move(q, q->noise, first, 0, n, -1, limit, 0);
    VEC(corner) = (vec){ 0 };
    VEC(limit + n * L) = LOAD(corner) - 1;
    for (int64_t i = 0; i < n; i++) {
        const strip t = { i, 1, 0, (i + 1) * L };
        T *row = packed_at(p.A, i, 0), *diagonal = row + i * L;
        node_values(&p, p.space, &t, row, false);
        VEC(diagonal) += LOAD(limit + i * L);
        VEC(limit + i * L) = (T)q->tolerance * LOAD(diagonal);
    }
    for (int64_t k = 0; k < n; k++) {
        VEC(d + k * L) = LOAD(packed_at(p.A, k, k));
        sweep_on(p.A, n, k);
    }
    VEC(d + n * L) = -LOAD(corner);
    for (int64_t k = 0; k < (n + 1) * L; k++) {
        fails |= !(d[k] > limit[k] && d[k] < (T)INFINITY);
        d[k] = FN(sqrt)(d[k]);
    }
    if (fails) atomic_store(&q->failed, true);
    move(q, q->alpha, first, 0, n, -1, alpha, 1);
    move(q, q->diagonal, first, 0, n, -1, d, 1);
    if (!q->theta_bar) return;
    VEC(corner) = LOAD(limit + n * L);
    sweep_on(p.A, n, n);
    memset(p.theta_bar, 0, (size_t)P * sizeof(lane_sums));
    for (int64_t i = 0; i < n; i++) {
        const strip t = { i, 1, 0, (i + 1) * L };
        VEC(limit + i * L) = VEC(packed_at(p.A, i, i)) = LOAD(packed_at(p.A, i, i)) / 2;
        strip_bar(&p, p.space, &t, packed_at(p.A, i, 0), p.theta_bar, NULL);
    }
    for (int64_t k = 0; k < P * L; k++) p.theta[k] = (T)p.theta_bar[k];
    move(q, q->noise_bar, first, 0, n, -1, limit, -1);
    move(q, q->theta_bar, first, 0, P, -1, p.theta, -1);
}

/* One thread's loop: takes the next group of members until none is left. */
static void gaussian_part(const void *context, int part)
{
    ct__cov_problem *q = *(ct__cov_problem *const *)context;
    for (int64_t group; !q->failed && (group = atomic_fetch_add(&q->next, 1)) * L < q->members;)
        gaussian(q, q->block + (size_t)part * q->workspace, group * L);
}

static void gaussians(ct__cov_problem *q, int threads) { ct__each_part(threads, gaussian_part, &q); }
