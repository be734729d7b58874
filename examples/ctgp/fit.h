/* What the files of ctgp fit share: fit_options.c, fit_data.c, fit.c, fit_report.c. */
#ifndef CTGP_FIT_H
#define CTGP_FIT_H

#include "ctgp.h"

typedef struct settings {
    const char *path, *target, *features, *drop, *categorical, *time, *kernel, *model;
    ct_gp_options gp;
    ct_fit_options fit;
    dialect written;
    ct_csv_options table;
    ct_dtype dtype;
    patience patience;
    const char *device, *no_factor, *json;
    char default_model[4096];
} settings;

/* GO_ON, or the code to exit with. */
int fit_read_settings(int argc, char **argv, settings *s);
/* Checks before hours of work that the model can be written to its folder. */
int fit_check_writable(const char *path);

/* Indices of the features and the target, which comes last, of the table in *f. The text is parsed for its
 * header, then for those columns' values. Close the frame and free *cols in any case. */
int fit_read_columns(const settings *s, ct_device *device, frame *f, int64_t **cols, int64_t *d);
/* Chooses the rows and refuses data that no model can be made of. */
int fit_choose_rows(const settings *s, frame *f, const int64_t *cols, int64_t d);

void fit_print_result(const settings *s, const frame *f, ct_gp *gp, const effort *e, double nlml);

#endif
