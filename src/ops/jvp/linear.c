/* The forward rules of linear and multilinear ops: the op itself, applied to tangents. */
#include "autograd/internal.h"

/* Adds the op's outputs for in[] to the tangents of the outputs. */
static void give_again(ct_rule *g, const ct_var *in)
{
    ct_tape *tape = ct_rule_tape(g);
    const ct_op *op = tape->node[ct_out(g).index].op;
    const ct_var first = ct__apply(tape, op, in, ct_rule_args(g), ct_rule_attr(g), 0);
    for (int k = 0; k < ct_rule_outs(g); k++)
        if (ct_wants_out_dot(g, k)) ct_give_out_dot(g, k, ct_output(first, k));
}

void ct_jvp_linear(ct_rule *g)
{
    ct_var in[CT_MAX_INPUTS];
    for (int i = 0; i < ct_rule_args(g); i++)
        in[i] = ct_var_dtype(ct_in(g, i)) == CT_I64 ? ct_in(g, i) : ct_in_dot(g, i);
    give_again(g, in);
}

void ct_jvp_multilinear(ct_rule *g)
{
    ct_var in[CT_MAX_INPUTS];
    for (int i = 0; i < ct_rule_args(g); i++) in[i] = ct_in(g, i);
    for (int i = 0; i < ct_rule_args(g); i++) {
        if (!ct_has_in_dot(g, i)) continue;
        in[i] = ct_in_dot(g, i);
        give_again(g, in);
        in[i] = ct_in(g, i);
    }
}
