/* The forward rules of linear and multilinear ops: the op itself, applied to tangents. */
#include "jvp.h"

#include "autograd/internal.h"

/* Tangents (T, ...) with T before dimension d of the others, as a part of it if there is one. */
static ct_var fold_into(ct_var dot, int d)
{
    ct_shape shape = ct_var_shape(dot);
    int order[CT_MAX_DIMS];
    if (shape.ndim < 0) return dot;
    for (int i = 0; i < shape.ndim; i++) order[i] = i < d ? i + 1 : i == d ? 0 : i;
    const int64_t T = shape.dim[0];
    memmove(shape.dim, shape.dim + 1, (size_t)--shape.ndim * sizeof *shape.dim);
    if (d == shape.ndim) shape.dim[shape.ndim++] = 1;
    shape.dim[d] *= T;
    return ct_reshape(ct_permute(dot, order), shape);
}

/* The inverse: the shape that results is `shape`, (T, ...). */
static ct_var unfold_from(ct_var y, int d, ct_shape shape)
{
    const ct_shape wanted = shape;
    int order[CT_MAX_DIMS];
    for (int i = 0; i < shape.ndim; i++) {
        order[i] = i > d ? i : i ? i - 1 : d;
        shape.dim[i] = wanted.dim[i < d ? i + 1 : i == d ? 0 : i];
    }
    return ct_permute(ct_reshape(y, shape), order);
}

/* Adds the op's outputs for in[] to the tangents of the outputs. These are folded if `fold` is not NULL. */
static void give_again(ct_rule *g, const ct_var *in, const ct__fold *fold)
{
    ct_tape *tape = ct_rule_tape(g);
    const ct_op *op = tape->node[ct_out(g).index].op;
    const ct_var first = ct__apply(tape, op, in, ct_rule_args(g), ct_rule_attr(g), 0);
    for (int k = 0; k < ct_rule_outs(g); k++) {
        if (!ct_wants_out_dot(g, k)) continue;
        const ct_var dot = ct_output(first, k);
        ct_give_out_dot(g, k, fold ? unfold_from(dot, fold->out, ct__dot_shape(g, ct_out_at(g, k))) : dot);
    }
}

void ct_jvp_linear(ct_rule *g)
{
    ct_var in[CT_MAX_INPUTS];
    for (int i = 0; i < ct_rule_args(g); i++)
        in[i] = ct_var_dtype(ct_in(g, i)) == CT_I64 ? ct_in(g, i) : ct_in_dot(g, i);
    give_again(g, in, NULL);
}

void ct__jvp_folded(ct_rule *g, const ct__fold *fold)
{
    ct_var in[CT_MAX_INPUTS];
    if (!ct__tangents(g)) fold = NULL;
    for (int i = 0; i < ct_rule_args(g); i++) in[i] = ct_in(g, i);
    for (int i = 0; i < ct_rule_args(g); i++) {
        if (!ct_has_in_dot(g, i)) continue;
        in[i] = fold ? fold_into(ct_in_dot(g, i), fold[i].in) : ct_in_dot(g, i);
        give_again(g, in, fold ? fold + i : NULL);
        in[i] = ct_in(g, i);
    }
}

void ct_jvp_multilinear(ct_rule *g) { ct__jvp_folded(g, NULL); }
