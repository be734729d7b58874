/* Sparse Jacobians. Columns that share no row get one colour. The sum of a colour's unit vectors is one
 * tangent, and each of its elements of J is alone in its row of the product. Likewise for rows and
 * cotangents. The fullest row has as many columns of different colours, and the fullest column as many rows;
 * the side with the lower of these bounds is coloured. [Curtis, Powell & Reid 1974; Gebremedhin, Manne &
 * Pothen 2005, "What color is your Jacobian?", §3] */
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

/* The colours of lines, which are the columns, or else the rows; cross lines are the others. */
typedef struct plan {
    bool columns;
    int64_t n_lines, n_cross, nnz, colours;
    const int64_t *line, *cross; /* of each element of the pattern */
    lines by_line, by_cross;
    int64_t *colour, *taken; /* taken[c] = j + 1: a line that shares a cross line with j has colour c */
} plan;

/* The most elements on a cross line, whose lines all need colours of their own. */
static int64_t least_colours(const plan *p)
{
    int64_t most = 0;
    for (int64_t i = 0; i < p->n_cross; i++)
        most = ct__max(most, p->by_cross.first[i + 1] - p->by_cross.first[i]);
    return most;
}

/* Gives each line the least colour that no line with a common cross line has. */
static void colour(plan *p)
{
    for (int64_t j = 0; j < p->n_lines; j++) p->colour[j] = -1, p->taken[j] = 0;
    p->taken[p->n_lines] = 0;
    for (int64_t j = 0; j < p->n_lines; j++) {
        for (int64_t k = p->by_line.first[j]; k < p->by_line.first[j + 1]; k++) {
            const int64_t i = p->cross[p->by_line.at[k]];
            for (int64_t l = p->by_cross.first[i]; l < p->by_cross.first[i + 1]; l++) {
                const int64_t c = p->colour[p->line[p->by_cross.at[l]]];
                if (c >= 0) p->taken[c] = j + 1;
            }
        }
        int64_t c = 0;
        while (p->taken[c] == j + 1) c++;
        p->colour[j] = c;
        p->colours = ct__max(p->colours, c + 1);
    }
}

static int64_t work_of(int64_t M, int64_t N, int64_t nnz) { return M + N + 2 * ct__max(M, N) + 2 * nnz + 3; }

/* A plan in `work`, of work_of(M, N, nnz) numbers: columns are coloured unless rows seem to need less. */
static plan plan_of(int64_t M, int64_t N, const int64_t *row, const int64_t *col, int64_t nnz, int64_t *work)
{
    plan p = { .columns = true, .n_lines = N, .n_cross = M, .nnz = nnz, .line = col, .cross = row };
    p.by_line.first = work, work += N + 1;
    p.by_cross.first = work, work += M + 1;
    p.by_line.at = work, work += nnz;
    p.by_cross.at = work, work += nnz;
    p.colour = work, work += ct__max(M, N);
    p.taken = work;
    sort(p.by_line, p.line, nnz, N);
    sort(p.by_cross, p.cross, nnz, M);
    const plan rows = { false, M, N, nnz, 0, row, col, p.by_cross, p.by_line, p.colour, p.taken };
    if (least_colours(&rows) < least_colours(&p)) p = rows;
    colour(&p);
    return p;
}

/* The colours' unit vectors (colours, lines); NULL, with the device's message. */
static ct_tensor *directions_of(const plan *p, ct_device *dev, ct_dtype dtype)
{
    const size_t bytes = (size_t)(p->colours * p->n_lines) * sizeof(double);
    double *unit = ct__host_alloc(dev, bytes);
    if (!unit) return NULL;
    memset(unit, 0, bytes);
    for (int64_t j = 0; j < p->n_lines; j++) unit[p->colour[j] * p->n_lines + j] = 1;
    ct_tensor *wide = ct_from(dev, CT_F64, ct_shape2(p->colours, p->n_lines), unit),
              *directions = wide ? ct_tensor_cast(wide, dtype) : NULL;
    ct_release(wide);
    ct__host_free(dev, unit, bytes);
    return directions;
}

/* Where each element lies in the compressed Jacobian (colours, cross lines), as a vector of i64. */
static ct_tensor *places_of(const plan *p, ct_device *dev)
{
    const size_t bytes = (size_t)p->nnz * sizeof(int64_t);
    int64_t *place = ct__host_alloc(dev, bytes);
    if (!place) return NULL;
    for (int64_t k = 0; k < p->nnz; k++) place[k] = p->colour[p->line[k]] * p->n_cross + p->cross[k];
    ct_tensor *places = ct_from(dev, CT_I64, ct_shape1(p->nnz), place);
    ct__host_free(dev, place, bytes);
    return places;
}

/* The elements, from the compressed Jacobian. */
static ct_var elements(const plan *p, ct_var y, ct_var x)
{
    ct_tape *tape = y.tape;
    ct_device *dev = tape->device;
    ct_tensor *directions = directions_of(p, dev, ct_var_dtype(p->columns ? x : y)),
              *JV = ct_empty(dev, ct_var_dtype(p->columns ? y : x), ct_shape2(p->colours, p->n_cross)),
              *places = places_of(p, dev);
    ct_var result = ct__poisoned(tape);
    if (directions && JV && places)
        (p->columns ? ct__jacobian_forward : ct__jacobian_backward)(y, x, directions, JV);
    else
        ct__tape_fail_device(tape, "a Jacobian");
    if (!tape->status)
        result = ct_gather(ct_reshape(ct_constant(tape, JV), ct_shape1(-1)), ct_constant(tape, places));
    ct_release(directions);
    ct_release(JV);
    ct_release(places);
    return result;
}

static bool check_pattern(ct_tape *tape, int64_t M, int64_t N, const int64_t *row, const int64_t *col,
                          int64_t nnz)
{
    if (nnz < 0 || (nnz && (!row || !col)))
        ct_tape_fail(tape, CT_EINVAL, "ct_jacobian_sparse: %s",
                     nnz < 0 ? "nnz is negative" : "row or col is NULL");
    for (int64_t k = 0; k < nnz && !tape->status; k++)
        if (row[k] < 0 || row[k] >= M || col[k] < 0 || col[k] >= N)
            ct_tape_fail(tape, CT_EINDEX, "ct_jacobian_sparse: element %lld is (%lld, %lld), J is %lldx%lld",
                         (long long)k, (long long)row[k], (long long)col[k], (long long)M, (long long)N);
    return !tape->status;
}

ct_var ct_jacobian_sparse(ct_var y, ct_var x, const int64_t *row, const int64_t *col, int64_t nnz)
{
    ct_tape *tape = y.tape;
    int64_t M, N;
    if (!ct__jacobian_extents("ct_jacobian_sparse", y, x, &M, &N) ||
        !check_pattern(tape, M, N, row, col, nnz))
        return ct__poisoned(tape);
    const size_t bytes = (size_t)work_of(M, N, nnz) * sizeof(int64_t);
    int64_t *work = ct__host_alloc(tape->device, bytes);
    if (!work) ct__tape_fail_device(tape, "a Jacobian");
    if (!work) return ct__poisoned(tape);
    const plan p = plan_of(M, N, row, col, nnz, work);
    const ct_var result = elements(&p, y, x);
    ct__host_free(tape->device, work, bytes);
    return result;
}
