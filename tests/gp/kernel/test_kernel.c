/* Kernel trees: building, combining, parameters, binding. */
#include "check.h"

#include <cotangent/gp/kernel.h>

#include "alloc.h"

static void names_values_order(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_sum(
        ct_kernel_scale(ct_kernel_product(ct_kernel_ard(ct_kernel_rbf()), ct_kernel_rational_quadratic())),
        ct_kernel_sum(ct_kernel_scale(ct_kernel_periodic()), ct_kernel_white()));
    assert_ok(ct_kernel_status(k), ct_kernel_message(k));
    assert_int_equal(ct_kernel_params(k), 8); /* one lengthscale of the ARD profile before bind */
    assert_string_equal(ct_kernel_param(k, 1)->name, "rbf.lengthscale[0]");
    assert_int_equal(ct_kernel_input_dims(k), 0);
    assert_null(ct_kernel_program(k));
    assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
    static const char *const names[] = { "scale.variance",     "rbf.lengthscale[0]",   "rbf.lengthscale[1]",
                                         "rbf.lengthscale[2]", "rq.lengthscale",       "rq.alpha",
                                         "scale#2.variance",   "periodic.lengthscale", "periodic.period",
                                         "white.variance" };
    assert_int_equal(ct_kernel_params(k), 10);
    for (int i = 0; i < 10; i++) {
        assert_string_equal(ct_kernel_param(k, i)->name, names[i]);
        assert_int_equal(ct_kernel_find(k, names[i]), i);
        assert_true(ct_kernel_param(k, i)->value == 1 && !ct_kernel_param(k, i)->start_given);
    }
    assert_int_equal(ct_kernel_find(k, "nobody"), -1);
    assert_int_equal(ct_kernel_find(k, NULL), -1);
    assert_null(ct_kernel_param(k, 10));
    assert_null(ct_kernel_param(k, -1));

    const ct_cov_program *p = ct_kernel_program(k);
    assert_int_equal(p->n_params, 10);
    assert_int_equal(p->n_nodes, 9);
    const ct_cov_node *root = &ct_cov_nodes(p)[p->n_nodes - 1];
    assert_int_equal(root->code, CT_COV_SUM);
    assert_int_equal(ct_cov_nodes(p)[root->left].code, CT_COV_SCALE);
    ct_kernel_free(k);
}

static void set_checks(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_rbf();
    ct_param p = *ct_kernel_param(k, 0);
    p.value = 2.5;
    strcpy(p.name, "other");
    assert_ok(ct_kernel_set(k, 0, &p), ct_kernel_message(k));
    assert_string_equal(ct_kernel_param(k, 0)->name, "rbf.lengthscale");
    assert_true(ct_kernel_param(k, 0)->value == 2.5 && ct_kernel_param(k, 0)->start_given);

    const double bad[] = { 0, -1, NAN, INFINITY };
    for (int i = 0; i < 4; i++) {
        p.value = bad[i];
        assert_status(ct_kernel_set(k, 0, &p), CT_EINVAL, ct_kernel_message(k));
    }
    p.value = 2;
    p.lower = 3;
    assert_status(ct_kernel_set(k, 0, &p), CT_EINVAL, ct_kernel_message(k));
    p.lower = NAN;
    assert_status(ct_kernel_set(k, 0, &p), CT_EINVAL, ct_kernel_message(k));
    p.lower = 0;
    p.upper = 1;
    assert_status(ct_kernel_set(k, 0, &p), CT_EINVAL, ct_kernel_message(k));
    p.upper = 10;
    p.prior = (ct_prior){ CT_PRIOR_GAMMA, 2, 0 };
    assert_status(ct_kernel_set(k, 0, &p), CT_EINVAL, ct_kernel_message(k));
    p.prior = (ct_prior){ CT_PRIOR_SOFT_LOWER, 0, 1 };
    assert_status(ct_kernel_set(k, 0, &p), CT_EINVAL, ct_kernel_message(k));
    p.prior = (ct_prior){ (ct_prior_kind)77, 2, 1 };
    assert_status(ct_kernel_set(k, 0, &p), CT_EINVAL, ct_kernel_message(k));
    assert_status(ct_kernel_set(k, 1, &p), CT_EINVAL, ct_kernel_message(k));
    assert_status(ct_kernel_set(k, 0, NULL), CT_EINVAL, ct_kernel_message(k));
    assert_status(ct_kernel_set(NULL, 0, &p), CT_ENOMEM, "");
    assert_true(ct_kernel_param(k, 0)->value == 2.5);
    assert_ok(ct_kernel_status(k), "a refused call leaves the kernel usable");
    ct_kernel_free(k);
}

static void binding(void **state)
{
    (void)state;
    int far[] = { 0, 3 };
    ct_kernel *k = ct_kernel_active(ct_kernel_rbf(), far, 2);
    assert_status(ct_kernel_bind(k, 3), CT_EINVAL, "");
    assert_non_null(strstr(ct_kernel_message(k), "column 3"));
    assert_status(ct_kernel_bind(k, 0), CT_EINVAL, "");
    assert_status(ct_kernel_bind(k, -5), CT_EINVAL, "");
    assert_status(ct_kernel_bind(k, INT64_MAX), CT_EINVAL, "");
    assert_ok(ct_kernel_bind(k, 4), ct_kernel_message(k));
    assert_ok(ct_kernel_bind(k, 4), "again the same");
    assert_status(ct_kernel_bind(k, 5), CT_EINVAL, "");
    assert_int_equal(ct_kernel_input_dims(k), 4);

    k = ct_kernel_ard(k); /* the lengthscales are those of the active columns */
    assert_int_equal(ct_kernel_input_dims(k), 0);
    assert_ok(ct_kernel_bind(k, 5), ct_kernel_message(k));
    assert_int_equal(ct_kernel_params(k), 2);
    assert_string_equal(ct_kernel_param(k, 1)->name, "rbf.lengthscale[3]");

    ct_kernel *both = ct_kernel_sum(k, ct_kernel_linear()); /* unbound, with its lengthscales kept */
    assert_int_equal(ct_kernel_input_dims(both), 0);
    assert_ok(ct_kernel_bind(both, 6), ct_kernel_message(both));
    assert_int_equal(ct_kernel_params(both), 3);
    ct_kernel_free(both);

    k = ct_kernel_ard(ct_kernel_rbf());
    assert_ok(ct_kernel_bind(k, 3), "");
    k = ct_kernel_scale(k);
    assert_status(ct_kernel_bind(k, 4), CT_EINVAL, "three lengthscales for four columns");
    assert_ok(ct_kernel_bind(k, 3), "");
    ct_kernel_free(k);
}

static void poison_spreads(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_scale(ct_kernel_sum(ct_kernel_rbf(), ct_kernel_ard(ct_kernel_polynomial(0))));
    assert_status(ct_kernel_status(k), CT_EINVAL, "");
    assert_non_null(strstr(ct_kernel_message(k), "degree 0"));
    assert_int_equal(ct_kernel_params(k), 0);
    assert_status(ct_kernel_bind(k, 2), CT_EINVAL, "");
    assert_int_equal(ct_kernel_print(k, true, NULL, 0), 0);
    ct_kernel *copy = ct_kernel_copy(k);
    assert_string_equal(ct_kernel_message(copy), ct_kernel_message(k));
    ct_kernel_free(copy);
    k = ct_kernel_product(k, ct_kernel_active(ct_kernel_rbf(), NULL, 3));
    assert_non_null(strstr(ct_kernel_message(k), "degree 0")); /* the first error stays */
    ct_kernel_free(k);

    int twice[] = { 1, 1 }, negative[] = { -1 };
    k = ct_kernel_active(ct_kernel_rbf(), twice, 2);
    assert_status(ct_kernel_status(k), CT_EINVAL, "");
    ct_kernel_free(k);
    k = ct_kernel_active(ct_kernel_rbf(), negative, 1);
    assert_status(ct_kernel_status(k), CT_EINVAL, "");
    ct_kernel_free(k);
    k = ct_kernel_polynomial(1000);
    assert_status(ct_kernel_status(k), CT_EINVAL, "");
    ct_kernel_free(k);

    k = ct_kernel_rbf();
    k = ct_kernel_product(k, k);
    assert_status(ct_kernel_status(k), CT_EINVAL, "the same object twice");
    ct_kernel_free(k);

    assert_null(ct_kernel_sum(NULL, ct_kernel_rbf()));
    assert_null(ct_kernel_sum(ct_kernel_rbf(), NULL));
    assert_null(ct_kernel_scale(NULL));
    assert_null(ct_kernel_ard(NULL));
    assert_null(ct_kernel_copy(NULL));
    assert_status(ct_kernel_status(NULL), CT_ENOMEM, "");
    assert_non_null(ct_kernel_message(NULL));
    assert_int_equal(ct_kernel_params(NULL), 0);
    assert_status(ct_kernel_bind(NULL, 1), CT_ENOMEM, "");
    ct_kernel_free(NULL);
}

static void too_many_nodes(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_rbf();
    int n = 1;
    while (!ct_kernel_status(k) && n < 1000) {
        k = n % 2 ? ct_kernel_sum(k, ct_kernel_white()) : ct_kernel_product(ct_kernel_rbf(), k);
        n += 2;
    }
    assert_status(ct_kernel_status(k), CT_EINVAL, "");
    assert_in_range(n, 256, 260);
    ct_kernel_free(k);
}

static void copy_is_deep(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_parse("scale(3!) * rbf(ard, dims=2:0, lengthscale=0.5:4) + poly(degree=3)");
    assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
    ct_kernel *copy = ct_kernel_copy(k);
    char a[300], b[300];
    ct_kernel_print(k, true, a, sizeof a);
    ct_kernel_free(k);
    ct_kernel_print(copy, true, b, sizeof b);
    assert_string_equal(a, b);
    assert_int_equal(ct_kernel_input_dims(copy), 3);
    assert_int_equal(ct_kernel_program(copy)->n_params, ct_kernel_params(copy));
    ct_kernel_free(copy);
}

static ct_kernel *two_levels(void) { return ct_kernel_index(2, 1); }

static void out_of_memory(void **state)
{
    (void)state;
    int dims[] = { 0, 2 };
    const ct_column columns[] = { { .name = "x" }, { .name = "y" } };
#define CONSTRUCTOR(CODE, name, ...) ct_kernel_##name,
    ct_kernel *(*const leaves[])(void) = { CT_PLAIN_PROFILES(CONSTRUCTOR) ct_kernel_constant, two_levels };
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        for (int64_t at = 1, refused = 1; refused; at++) {
            alloc_fail_at(at);
            ct_kernel *k = leaves[i]();
            refused = alloc_refused();
            assert_true(refused ? !k || ct_kernel_status(k) == CT_ENOMEM : k && !ct_kernel_status(k));
            ct_kernel_free(k);
            assert_int_equal(alloc_live(), 0);
            alloc_unwatch();
        }
    for (int64_t at = 1;; at++) {
        alloc_fail_at(at);
        ct_kernel *k =
            ct_kernel_sum(ct_kernel_scale(ct_kernel_ard(ct_kernel_active(ct_kernel_rbf(), dims, 2))),
                          ct_kernel_sum(ct_kernel_parse("white + scale * poly(dims=1, lengthscale=2)"),
                                        ct_kernel_parse_named("category(dims=y)", columns, 2)));
        ct_status bound = ct_kernel_bind(k, 3);
        ct_kernel *copy = ct_kernel_copy(k);
        bool refused = alloc_refused();
        if (refused)
            assert_true(!k || ct_kernel_status(k) == CT_ENOMEM || bound == CT_ENOMEM || !copy ||
                        ct_kernel_status(copy) == CT_ENOMEM);
        else
            assert_true(k && copy && !ct_kernel_status(k) && !bound && !ct_kernel_status(copy));
        ct_kernel_free(k);
        ct_kernel_free(copy);
        assert_int_equal(alloc_live(), 0);
        alloc_unwatch();
        if (!refused) break;
        assert_in_range(at, 1, 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_values_order),
        cmocka_unit_test(set_checks),
        cmocka_unit_test(binding),
        cmocka_unit_test(poison_spreads),
        cmocka_unit_test(too_many_nodes),
        cmocka_unit_test(copy_is_deep),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
