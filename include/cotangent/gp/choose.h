/* Chooses a covariance. Fits several covariances to the data, keeps the one with the lowest
 *     AICc = 2 (objective + m n / (n - m - 1))        n rows, m free parameters
 * [Akaike 1974; Hurvich & Tsai 1989], for a series the one with the lowest sum of AICc / 2n and the mean of
 * -log p over its last tenth, given the other rows, and calibrates its variances (ct_gp_calibrate_variance).
 * A meaningless parameter improves a fit by the leave-one-out density about twice as much as one by the
 * likelihood, so there m is twice the number of parameters.
 *
 *     ct_gp *gp;
 *     ct_gp_choice choice;
 *     ct_status s = ct_gp_choose(X, y, NULL, NULL, &gp, &choice);
 *     if (!s) puts(choice.tried[choice.best].kernel); */
#ifndef COTANGENT_GP_CHOOSE_H
#define COTANGENT_GP_CHOOSE_H

#include <cotangent/gp/fit.h>
#include <cotangent/gp/season.h>

CT_BEGIN_DECLS

enum {
    CT_GP_CANDIDATES = 16, /* the most candidates */
    CT_GP_SEASONAL = 6,    /* the most that seasons add; the bytes of the longest text of one */
    CT_GP_SEASONAL_TEXT = 384,
};

/* The input in which ct_gp_choose looks for seasons. */
typedef enum ct_gp_season {
    /* The only input that is a time (ct_gp_options.inputs), or the only input. Where it is no time, or there
     * are others, only seasons of which the strongest explains a tenth or more. */
    CT_GP_SEASON_OF_TIME = 0,
    CT_GP_SEASON_OF_COLUMN, /* column season_column of X */
    CT_GP_SEASON_NONE,
} ct_gp_season;

/* A covariance to try. */
typedef struct ct_gp_candidate {
    const char *kernel; /* as ct_kernel_parse reads it */
    /* NULL: the search has the usual start. The kernel text of an earlier candidate: the search starts where
     * that one ended. Parameters that both have by the same name take its values; other variances of the
     * kernel start at a tenth of its first one. */
    const char *from;
} ct_gp_candidate;

/* Zero-initialise, then set what you need. */
typedef struct ct_gp_choose_options {
    /* [n_candidates], at most CT_GP_CANDIDATES. NULL, 0: the default candidates, which are
     *     1. "linear + scale * matern32", for more than two columns; by the leave-one-out density
     *        "scale * matern32", for more than one column
     *     2. "scale * matern32(ard)"
     *     3. "scale * matern32(ard) + scale * rbf(ard)"
     *     4. the kernel of 3, from where 2 ended
     * With categories among the inputs:
     *     1. "linear + scale * category(ard) + scale * matern32 * category"; not by the leave-one-out density
     *     2. "scale * category(ard) + scale * matern32(ard) * category(ard)"
     *     3. "scale * category(ard) + (scale * matern32(ard) + scale * rbf(ard)) * category(ard)"
     *     4. the kernel of 3, from where 2 ended
     * after the first, with one category that has 20 rows or more for each level,
     *     "index(rank=1) * matern32(ard)" and "index(rank=1) * (matern32(ard) + scale * rbf(ard))"
     * else with fewer than 60 rows, not by the leave-one-out density, before the first, which is then always
     * there, "linear" or "linear + scale * category"
     * and with nothing but categories "scale * category" and "scale * category(ard)".
     *
     * If the input that `season` names has seasons (ct_find_seasons), the default has further candidates:
     *     5. the kernel of 2 with " + scale * periodic(period=P) * rbf" for the first season
     *     6. the same with "rbf(lengthscale=L)", L = 3 P: from the start of a season that fades
     *     7. "linear + " and 5, from where 5 ended: a straight trend, which goes on
     *     8. 5 with a periodic part for the second season, if there is one, from where 5 ended
     *     9. the periodic parts of 8, or of 5, with " + scale * rbf + scale * matern52(lengthscale=L)",
     *        L = 2 P: a trend and variations around it
     *    10. that with the kernel of 2, from where 9 ended
     * A single time without seasons, of 60 rows or more, has "linear + " and the kernels of 2 and 3
     * instead, not by the leave-one-out density.
     * With several inputs all of these parts except the kernel of 2 see only the season's input. 9 then also
     * has the kernel of 2, and there is no 10. */
    const ct_gp_candidate *candidates;
    int n_candidates;
    ct_gp_season season;
    int64_t season_column;
    ct_fit_options fit; /* for every search; a search from another's end has no restarts */
    int64_t rows;       /* rows that make the choice, 2 or more; 0: 1000, or all if there are fewer */
    bool as_fitted;     /* do not calibrate the variances */
} ct_gp_choose_options;

/* The result of a candidate. */
typedef struct ct_gp_tried {
    const char *kernel, *from; /* the candidate's own texts; for seasonal ones the choice's */
    /* Not fitted, with status CT_EINVAL: n <= m + 1 and another candidate has fewer parameters, or the
     * candidate in `from` was not fitted for that reason. */
    bool too_few_rows;
    ct_status status; /* of its fit; CT_ESTOPPED also if it did not begin; CT_ENUMERIC: no model */
    ct_fit_end end;
    int64_t parameters;          /* the number of free ones */
    double objective, criterion; /* +inf if there is no model; the criterion also if n <= m + 1 */
    double forecast;             /* of a series: the mean of -log p over its last tenth; else 0 */
    int iterations, evaluations; /* of all its starts */
} ct_gp_tried;

typedef struct ct_gp_choice {
    int count, best; /* best: the index of the chosen one; -1: none */
    ct_gp_tried tried[CT_GP_CANDIDATES];
    ct_season season[CT_SEASONS]; /* [seasons], those that were found in column season_column */
    int seasons;
    int64_t season_column; /* -1: in none */
    bool forecasts;        /* it is a time or has seasons, there are 60 rows, and forecasts decide, too */
    char seasonal[CT_GP_SEASONAL][CT_GP_SEASONAL_TEXT]; /* kernels that `tried` refers to */
    int64_t rows;                                       /* rows that made the choice */
    double variance_factor;              /* by which all variances were multiplied; 1: they were not */
    ct_status calibration;               /* of ct_gp_calibrate_variance; its message is ct_message(device) */
    int starts, iterations, evaluations; /* of all searches */
    int replayed;                        /* evaluations taken from the checkpoint */
    double seconds;
} ct_gp_choice;

/* Sets *gp to the model of X (n, d) and y (n) or (n, 1) with the chosen covariance; the caller frees it.
 * model = NULL: weak priors, else the defaults. options = NULL: the defaults. The candidates are fitted by
 * ct_gp_fit_many, and each holds its factor until the choice is made. If only some rows make the choice,
 * fit.seed draws one row from each of equally many sections of the table; a last search on all rows then
 * starts where the chosen one ended. It ends when five steps change the objective by less than 0.01, unless
 * fit.flat says otherwise. Before it the callback is asked, with 0 evaluations and what the first will take
 * in `ahead`; if it stops there, *gp is the model of the drawn rows. If no candidate has a model of the drawn
 * rows, all rows choose. *choice (may be NULL) is kept up to date for the progress callback. `model` in its
 * argument is an index of choice->tried, or choice->count in the last search on all rows, and `seconds`
 * counts from this call. CT_ESTOPPED: the callback asked to stop; *gp is the best model so far, not
 * calibrated, or NULL if there is none. After any other failure *gp is NULL: CT_EINVAL for a `from` that is
 * not an earlier candidate's kernel, and for a season column that does not exist, is a category, or is given
 * together with the caller's own candidates; CT_ENUMERIC if no candidate has a model, and the failures of
 * ct_gp_new and ct_gp_fit. A failure to calibrate, except CT_ENOMEM, is reported in *choice only. */
CT_API ct_status ct_gp_choose(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                              const ct_gp_choose_options *options, ct_gp **gp, ct_gp_choice *choice);

/* Finds the seasons that the default, CT_GP_SEASON_OF_TIME, tries in a model (NULL: the defaults); *column:
 * the input in which it looks, -1: none. Fails as ct_find_seasons does. */
CT_API ct_status ct_gp_likely_seasons(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                                      ct_season season[CT_SEASONS], int *count, int64_t *column);

CT_END_DECLS
#endif
