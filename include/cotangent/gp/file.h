/* Models in files. */
#ifndef COTANGENT_GP_FILE_H
#define COTANGENT_GP_FILE_H

#include <cotangent/gp/model.h>

CT_BEGIN_DECLS

/* Saves data, transforms, kernel, parameters and factor in one self-contained file, written atomically.
 * Programs that load a model, change it and save it under the same name take turns with ct_file_lock_take
 * (io.h). */
CT_API ct_status ct_gp_save(ct_gp *gp, const char *path);

/* Zero-initialise, then set what you need. */
typedef struct ct_gp_save_options {
    /* Leave out the factor, n²/2 numbers, and do not compute one. The loaded model computes it, by n³/3
     * operations, when it is first needed, with the jitter ladder. It predicts the same to rounding. */
    bool no_factor;
} ct_gp_save_options;

/* ct_gp_save with options. options = NULL: the defaults. */
CT_API ct_status ct_gp_save_with(ct_gp *gp, const char *path, const ct_gp_save_options *options);
/* Whether the model holds its factor, computed or loaded since the last change. */
CT_API bool ct_gp_has_factor(const ct_gp *gp);
/* Loads a saved model. With its factor the model predicts the same bits. NULL with ct_message: CT_EIO, or
 * CT_EFORMAT for a file that is truncated, damaged or not a model. */
CT_API ct_gp *ct_gp_load(ct_device *device, const char *path);
/* The same over the processes of a communicator. Each of them reads the file except the factor, and computes
 * its share of that when it is first needed. Collective. */
CT_API ct_gp *ct_gp_load_for(ct_device *device, const char *path, struct ct_comm *comm);

CT_END_DECLS
#endif
