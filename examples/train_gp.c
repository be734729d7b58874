/* Trains a Gaussian process, predicts with it and saves it. */
#include <cotangent/gp.h>
#include <stdio.h>

int main(void)
{
    const double x[] = { 0, 0.5, 1, 1.5, 2, 2.5, 3 }, y[] = { 0.1, 0.4, 0.9, 1, 0.8, 0.7, 0.2 },
                 new_x[] = { 1.2, 4 };
    double mean[2], variance[2];
    ct_device *device = ct_device_open(NULL);
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(7, 1), x), *Y = ct_from(device, CT_F64, ct_shape1(7), y);
    ct_tensor *new_X = ct_from(device, CT_F64, ct_shape2(2, 1), new_x);
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(2)), *v = ct_empty(device, CT_F64, ct_shape1(2));
    ct_gp *gp = ct_gp_new(X, Y, ct_kernel_parse("scale * rbf"), NULL);
    bool good = gp && !ct_gp_fit(gp, &(ct_fit_options){ .restarts = 2 }) && !ct_gp_predict(gp, new_X, m, v) &&
                !ct_gp_save(gp, "bump.ctgp");
    if (!good)
        fprintf(stderr, "%s\n", ct_message(device));
    else
        printf("log marginal likelihood %.4f\n", -ct_gp_nlml_value(gp));
    good = good && !ct_read(m, mean, sizeof mean) && !ct_read(v, variance, sizeof variance);
    for (int i = 0; i < 2 && good; i++)
        printf("f(%g) = %.3f, variance %.3g\n", new_x[i], mean[i], variance[i]);
    ct_gp_free(gp);
    ct_release(X), ct_release(Y), ct_release(new_X), ct_release(m), ct_release(v);
    ct_device_close(device);
    return !good;
}
