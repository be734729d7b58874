/* ctgp help kernels: every profile, from the rows of profiles.h. */
#include "kernels.h"

#include <cotangent/profiles.h>

#include <stdbool.h>
#include <stdio.h>

/* Of each code of profiles.h. A code without them does not compile. */
#define FORMULA_RBF                "exp(-r^2 / 2)"
#define FORMULA_MATERN12           "exp(-r)"
#define FORMULA_MATERN32           "(1 + sqrt(3) r) exp(-sqrt(3) r)"
#define FORMULA_MATERN52           "(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)"
#define FORMULA_RATIONAL_QUADRATIC "(1 + r^2 / 2 alpha)^-alpha"
#define FORMULA_PERIODIC           "exp(-2 sum_d sin^2(pi (x_d - z_d) / period) / l_d^2)"
#define FORMULA_COSINE             "cos(2 pi |x - z| / period)"
#define FORMULA_LINEAR             "s"
#define FORMULA_POLYNOMIAL         "(offset + s)^degree"
#define FORMULA_CATEGORY           "exp(-sum_d [x_d != z_d] / l_d)"
#define LOOKS_RBF                  "infinitely smooth"
#define LOOKS_MATERN12             "continuous, with kinks everywhere"
#define LOOKS_MATERN32             "differentiable once"
#define LOOKS_MATERN52             "differentiable twice"
#define LOOKS_RATIONAL_QUADRATIC   "smooth on many scales at once"
#define LOOKS_PERIODIC             "repeats with the period, in any shape"
#define LOOKS_COSINE               "a wave of this period; of one column: dims=0"
#define LOOKS_CATEGORY             "a level for each combination of codes, as 0, 1, 2"
#define LOOKS_LINEAR               "straight lines"
#define LOOKS_POLYNOMIAL           "polynomials of a degree: poly(degree=2)"

typedef struct profile {
    const char *text, *formula, *looks, *extra;
    bool lengthscales;
} profile;

#define PROFILE(CODE, name, text, lengthscales, extra, ...) \
    { text, FORMULA_##CODE, LOOKS_##CODE, extra, lengthscales },

void print_kernels(void)
{
    static const profile profiles[] = {
        CT_PROFILES(PROFILE){ "constant", "variance", "one unknown level", "variance", false },
        { "white", "variance, of a row with itself alone", "independent noise, beside the noise of --noise",
          "variance", false },
        { "index", "(W W^T + diag kappa)[x, z], of the codes of one column",
          "levels that go together, against each other or apart: index(rank=2)", "w, kappa", false }
    };
    printf("A kernel k(x, z) is a sum of products of these profiles. With r^2 = sum_d (x_d - z_d)^2 / l_d^2 "
           "and\n"
           "s = sum_d x_d z_d / l_d^2 over the columns d:\n\n");
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        const profile *p = &profiles[i];
        printf("  %-9s %s\n            %s; parameters: %s%s%s\n", p->text, p->formula, p->looks,
               p->lengthscales ? "lengthscale" : "", p->lengthscales && p->extra ? ", " : "",
               p->extra ? p->extra : "");
    }
    fputs(
        "\n"
        "  scale *        a learned variance before the rest of a product: each term of a sum should have "
        "one\n"
        "  (ard)          a lengthscale for each column, as in rbf(ard)\n"
        "  (dims=0:2)     of these columns alone, counted from 0\n"
        "  (period=12)    where the search of a parameter begins; with ! it is held: (period=12!)\n"
        "\n"
        "recipes:\n"
        "  a smooth function       scale * rbf(ard)\n"
        "  a rougher one           scale * matern32(ard)\n"
        "  a trend with waves      linear + scale * matern52\n"
        "  a time series: dates alone, or --season NAME, find the season without --kernel; periodic without\n"
        "  a period begins at the strongest. By hand, with a time in years: a slow trend, a yearly season\n"
        "  that may change its shape, and what lasts for weeks\n"
        "    --kernel \"scale * rbf(lengthscale=10) + scale * periodic(period=1!) * rbf(lengthscale=30)\n"
        "              + scale * matern32(lengthscale=0.1)\"\n"
        "  with several columns, the time being the first: dims=0 in each of these, and further terms for\n"
        "  the others; the season of a week, in days: periodic(period=7!); to judge it as a forecast:\n"
        "  fit --test-last 0.2\n"
        "  a function of the numbers for each level of a category, whose levels may mirror each other\n"
        "                          scale * index(rank=2) * matern32(ard)\n",
        stdout);
}
