/* The log posterior of a mixture of m Gaussians in n dimensions at 1000 points, with a Wishart prior of
 * precision γ = 1 and no further degrees of freedom: x holds weights α (m), means μ (m, n), and for each
 * Gaussian the lower triangle Q with the diagonal e^q as a vector (m, n (n + 1) / 2). */
#include "gradbench.h"

enum { POINTS = 1000 };

static int64_t triangle(const problem *p) { return p->n * (p->n + 1) / 2; }

static void setup(problem *p)
{
    p->x = sines(p->device, ct_shape1(p->m * (1 + p->n + triangle(p))), 1, 0.5);
    p->constant[0] = sines(p->device, ct_shape3(1, POINTS, p->n), 0.5, 2);
}

/* Parameters from..to of x in this shape. */
static ct_var part(ct_var x, int64_t from, ct_shape shape)
{
    return ct_reshape(ct_slice(x, 0, from, from + ct_shape_count(shape), 1), shape);
}

static void run(problem *p)
{
    const int64_t n = p->n, m = p->m;
    ct_var x = ct_leaf(p->tape, p->x), alpha = part(x, 0, ct_shape3(m, 1, 1)),
           mu = part(x, m, ct_shape3(m, 1, n));
    ct_var v = part(x, m + m * n, ct_shape2(m, triangle(p))), Q = ct_tril_from(v, true);
    ct_var logs = ct_sum(ct_log(ct_diag(Q)), -1, false); /* Σ q (m) */
    ct_var z = ct_matmul(ct_sub(constant(p, 0), mu), ct_t(Q));
    ct_var main = ct_sub(ct_add(alpha, ct_reshape(logs, ct_shape3(m, 1, 1))),
                         ct_scale(ct_sum(ct_square(z), -1, true), 0.5)); /* (m, POINTS, 1) */
    ct_var likelihood = ct_sum(ct_logsumexp(main, 0, false), CT_ALL, false);
    ct_var weights = ct_scale(ct_logsumexp(alpha, CT_ALL, false), POINTS);
    ct_var prior = ct_sub(ct_scale(ct_sum(ct_square(Q), CT_ALL, false), 0.5), ct_sum(logs, CT_ALL, false));
    finish(p, x, ct_sub(ct_sub(likelihood, weights), prior));
}

const problem gmm = { .name = "gmm", .setup = setup, .run = run };
