/* cov_diag: k(x_i, x_i)                            theta (P), X (n, d) -> (n), by composition
 * Profiles of a distance or of sines are 1 there; those of a dot product see s_i = Σ_d x_id²/l_d². */
#include "cov.h"
#include "kernel_tree.h"

static ct_var profile(const ct_cov_program *program, const ct_cov_node *n, ct_var theta, ct_var X)
{
    if (n->geometry != CT_DOT) return ct_scalar(theta.tape, ct_var_dtype(theta), 1);
    ct_var s = ct_sum(ct_square(ct__cov_scaled(program, n, theta, X)), -1, false);
    return ct__cov_profile(n, theta, s, false).y;
}

static ct_var compose(ct_call *c)
{
    const ct_cov_program *program = ct_attr(c);
    ct_var theta = ct_arg_var(c, 0), X = ct_arg_var(c, 1), value[CT__KERNEL_MAX_NODES];
    if (!ct__cov_inputs_fit(c)) return theta;
    const ct_cov_node *nodes = ct_cov_nodes(program);
    for (int k = 0; k < program->n_nodes; k++) {
        const ct_cov_node *n = &nodes[k];
        if (n->code < CT_COV_PROFILES)
            value[k] = profile(program, n, theta, X);
        else if (n->code == CT_COV_WHITE)
            value[k] = ct__cov_extra(theta, n->extra);
        else
            value[k] = ct__cov_combine(n, theta, value);
    }
    return ct_broadcast_to(value[program->n_nodes - 1], ct_shape1(ct_arg_dim(c, 1, 0)));
}

static void sample(ct_sample *s) { ct__cov_sample(s, false); }

const ct_op ct_op_cov_diag = { .name = "cov_diag", .n_in = 2, .compose = compose, .sample = sample };

ct_var ct_cov_diag(const ct_kernel *k, ct_var theta, ct_var X)
{
    return ct__cov_apply(&ct_op_cov_diag, k, (ct_var[]){ theta, X }, 2);
}
