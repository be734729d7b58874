/* Chooses a covariance for the data among three candidates. The search of the third begins where that of the
 * second ends. */
#include <cotangent/gp.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    enum { N = 60 };
    static const ct_gp_candidate guess[] = {
        { "scale * rbf", NULL },
        { "scale * periodic(period=7)", NULL },
        { "scale * periodic(period=7) + scale * rbf", "scale * periodic(period=7)" },
    };
    double day[N], sold[N];
    for (int i = 0; i < N; i++) {
        day[i] = i;
        sold[i] = 20 + 0.1 * i + 6 * sin(2 * acos(-1) * i / 7) + sin(12.9898 * i * i);
    }
    ct_device *device = ct_device_open(NULL);
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(N, 1), day),
              *y = ct_from(device, CT_F64, ct_shape1(N), sold);
    const ct_gp_choose_options options = { .candidates = guess, .n_candidates = 3 };
    ct_gp_choice choice;
    ct_gp *gp;
    ct_status status = ct_gp_choose(X, y, NULL, &options, &gp, &choice);
    if (status) fprintf(stderr, "%s\n", ct_message(device));
    for (int k = 0; k < choice.count && !status; k++)
        printf("%s %-42s AICc %.1f\n", k == choice.best ? "*" : " ", choice.tried[k].kernel,
               choice.tried[k].criterion);
    if (!status)
        printf("noise %.2f, all variances times %.3f\n", sqrt(ct_gp_noise_variance(gp)),
               choice.variance_factor);
    ct_gp_free(gp);
    ct_release(X), ct_release(y);
    ct_device_close(device);
    return status != CT_OK;
}
