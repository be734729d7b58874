#include <cotangent/gp.h>

#include <math.h>
#include <stdio.h>

int main(void)
{
    static const char text[] = "x,y\n0,0\n1,1\n2,4\n3,9\n";
    ct_device *device = ct_device_open("cpu");
    ct_tensor *table = NULL, *mean = ct_zeros(device, CT_F64, ct_shape1(4));
    ct_table *t = ct_csv_parse(device, text, sizeof text - 1, NULL);
    if (t) table = ct_table_tensor(t, CT_F64, NULL, 0);
    ct_tensor *x = ct_tensor_slice(table, 1, 0, 1, 1), *y = ct_tensor_slice(table, 1, 1, 2, 1);
    ct_gp *gp = ct_gp_new(x, y, ct_kernel_parse("poly(degree=2)"), NULL);
    double value[4] = { 0 };
    int bad = !gp || ct_gp_fit(gp, NULL) || ct_gp_predict(gp, x, mean, NULL) ||
              ct_read(mean, value, sizeof value) || !(fabs(value[3] - 9) < 0.1);
    if (bad) fprintf(stderr, "%s: %g\n", ct_message(device), value[3]);
    ct_gp_free(gp);
    ct_release(y);
    ct_release(x);
    ct_release(mean);
    ct_release(table);
    ct_table_free(t);
    ct_device_close(device);
    return bad;
}
