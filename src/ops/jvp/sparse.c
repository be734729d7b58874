/* Sparse Jacobians. Columns that share no row get one colour. The sum of a colour's unit vectors is one
 * tangent, and each of its elements of J is alone in its row of the product.
 * [Curtis, Powell & Reid 1974; Gebremedhin, Manne & Pothen 2005, "What color is your Jacobian?", §3] */
#include "jvp.h"

#include "autograd/internal.h"

/* The pattern by lines: `at[first[i]] .. at[first[i + 1] - 1]` are the places of line i's elements. */
typedef struct lines {
    int64_t *first, *at;
} lines;

/* Sorts places 0 .. nnz - 1 by line[place], which is below n. */
static void sort(lines by, const int64_t *line, int64_t nnz, int64_t n)
{
    memset(by.first, 0, (size_t)(n + 1) * sizeof *by.first);
    for (int64_t k = 0; k < nnz; k++) by.first[line[k] + 1]++;
    for (int64_t i = 0; i < n; i++) by.first[i + 1] += by.first[i];
    for (int64_t k = 0; k < nnz; k++) by.at[by.first[line[k]]++] = k;
    for (int64_t i = n; i > 0; i--) by.first[i] = by.first[i - 1];
    by.first[0] = 0;
}

/* Where each element of the pattern lies in the compressed Jacobian (colours, M), and the colours' unit
 * vectors as directions (colours, N). */
typedef struct plan {
    int64_t M, N, nnz, colours;
    const int64_t *row, *col;
    lines rows, cols;
    int64_t *colour, *taken, *place; /* taken[c] = j + 1: a column that shares a row with j has colour c */
} plan;

/* Gives each column the least colour that no column with a common row has. */
static void colour(plan *p)
{
    for (int64_t j = 0; j < p->N; j++) p->colour[j] = -1, p->taken[j] = 0;
    p->taken[p->N] = p->colours = 0;
    for (int64_t j = 0; j < p->N; j++) {
        for (int64_t k = p->cols.first[j]; k < p->cols.first[j + 1]; k++) {
            const int64_t i = p->row[p->cols.at[k]];
            for (int64_t l = p->rows.first[i]; l < p->rows.first[i + 1]; l++) {
                const int64_t c = p->colour[p->col[p->rows.at[l]]];
                if (c >= 0) p->taken[c] = j + 1;
            }
        }
        int64_t c = 0;
        while (p->taken[c] == j + 1) c++;
        p->colour[j] = c;
        p->colours = ct__max(p->colours, c + 1);
    }
    for (int64_t k = 0; k < p->nnz; k++) p->place[k] = p->colour[p->col[k]] * p->M + p->row[k];
}

/* The directions (colours, N); NULL, with the device's message. */
static ct_tensor *directions_of(const plan *p, ct_device *dev, ct_dtype dtype)
{
    const size_t bytes = (size_t)(p->colours * p->N) * sizeof(double);
    double *unit = ct__host_alloc(dev, bytes);
    if (!unit) return NULL;
    memset(unit, 0, bytes);
    for (int64_t j = 0; j < p->N; j++) unit[p->colour[j] * p->N + j] = 1;
    ct_tensor *wide = ct_from(dev, CT_F64, ct_shape2(p->colours, p->N), unit),
              *directions = wide ? ct_tensor_cast(wide, dtype) : NULL;
    ct_release(wide);
    ct__host_free(dev, unit, bytes);
    return directions;
}

/* The elements, from the compressed Jacobian. */
static ct_var elements(const plan *p, ct_var y, ct_var x)
{
    ct_tape *tape = y.tape;
    ct_device *dev = tape->device;
    ct_tensor *directions = directions_of(p, dev, ct_var_dtype(x)),
              *JV = ct_empty(dev, ct_var_dtype(y), ct_shape2(p->colours, p->M)),
              *place = ct_from(dev, CT_I64, ct_shape1(p->nnz), p->place);
    if (directions && JV && place)
        ct__push_forward(y, x, directions, JV);
    else
        ct__tape_fail_device(tape, "a Jacobian");
    ct_var result = ct__poisoned(tape);
    if (!tape->status)
        result = ct_gather(ct_reshape(ct_constant(tape, JV), ct_shape1(-1)), ct_constant(tape, place));
    ct_release(directions);
    ct_release(JV);
    ct_release(place);
    return result;
}

/* Whether every element of the pattern lies in the matrix. */
static bool check_pattern(ct_tape *tape, const plan *p)
{
    if (p->nnz < 0 || (p->nnz && (!p->row || !p->col)))
        ct_tape_fail(tape, CT_EINVAL, "ct_jacobian_sparse: the pattern is %s",
                     p->nnz < 0 ? "negative" : "NULL");
    for (int64_t k = 0; k < p->nnz && !tape->status; k++)
        if (p->row[k] < 0 || p->row[k] >= p->M || p->col[k] < 0 || p->col[k] >= p->N)
            ct_tape_fail(tape, CT_EINDEX, "ct_jacobian_sparse: element %lld is (%lld, %lld), J is %lldx%lld",
                         (long long)k, (long long)p->row[k], (long long)p->col[k], (long long)p->M,
                         (long long)p->N);
    return !tape->status;
}

ct_var ct_jacobian_sparse(ct_var y, ct_var x, const int64_t *row, const int64_t *col, int64_t nnz)
{
    ct_tape *tape = y.tape;
    plan p = { .nnz = nnz, .row = row, .col = col };
    if (!ct__jacobian_extents("ct_jacobian_sparse", y, x, &p.M, &p.N) || !check_pattern(tape, &p))
        return ct__poisoned(tape);
    const size_t bytes = (size_t)(p.M + 1 + 3 * (p.N + 1) + 3 * nnz) * sizeof(int64_t);
    int64_t *at = ct__host_alloc(tape->device, bytes), *block = at;
    if (!at) ct__tape_fail_device(tape, "a Jacobian");
    if (!at) return ct__poisoned(tape);
    p.rows.first = at, at += p.M + 1;
    p.cols.first = at, at += p.N + 1;
    p.colour = at, at += p.N + 1;
    p.taken = at, at += p.N + 1;
    p.rows.at = at, at += nnz;
    p.cols.at = at, at += nnz;
    p.place = at;
    sort(p.rows, row, nnz, p.M);
    sort(p.cols, col, nnz, p.N);
    colour(&p);
    const ct_var result = elements(&p, y, x);
    ct__host_free(tape->device, block, bytes);
    return result;
}
