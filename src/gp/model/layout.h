/* The layout of a model's file (layout.c), for both directions. */
#ifndef CT_GP_LAYOUT_H
#define CT_GP_LAYOUT_H

#include "model.h"
#include "stream.h"

/* The versions that are read, and those that are written, from CT__COLUMNS on. From CT__BARE on even
 * ones have no factor. CT__EXTRAS and CT__TRANSFORM are for models with something that the versions before
 * them do not hold. */
enum {
    CT__OLDEST = 2,
    CT__BARE = 4,
    CT__COLUMNS = 5,
    CT__EXTRAS = 7,
    CT__TRANSFORM = 9,
    CT__NEWEST = 10,
    CT__CHECKSUM = 8
};

/* The version that a model is written as. */
int ct__model_version(const ct_gp *gp, bool bare);
/* What a file is, by its first bytes: 'P', a model, or 'O', several outputs. Writes `kind`, or reads and
 * returns it; `bad` where it is neither. */
char ct__stream_magic(ct__stream *s, char kind);
void ct__model_header(ct__stream *s, ct_dtype *dtype, int64_t *n, int64_t *d, ct_gp_options *o);
/* Everything between extents and parameters. Kernel text and parameters are there when it returns. */
void ct__model_middle(ct__stream *s, ct_gp *gp, char **kernel);
void ct__model_parameters(ct__stream *s, ct_gp *gp);
/* Report, data, and the factor; a group's processes do not read it, and each computes its share. */
void ct__model_body(ct__stream *s, ct_gp *gp);
/* Of that the data alone. */
void ct__model_data(ct__stream *s, ct_gp *gp);
/* The column's name, and its kind and levels. Each text read is in memory of its own. */
void ct__model_column(ct__stream *s, ct_column *c);
void ct__model_column_drop(const ct_column *c);

/* -- save.c: a stream with `data` of `size`; `what` is for messages -------------------------------------- */

ct_status ct__stream_buffer(ct__stream *s);
/* From the version on. With `bare` there is no factor; else the model has one. */
ct_status ct__model_write(ct__stream *s, ct_gp *gp, bool bare, const char *what);
/* The checksum, and all to the file. */
ct_status ct__stream_end(ct__stream *s);

/* -- load.c ---------------------------------------------------------------------------------------------- */

/* Opens a file and reads what it is, 'P' or 'O'; 0 with the reason on the device. Close it in any case. */
char ct__stream_open(ct__stream *s, ct_device *device, const char *path);
void ct__stream_close(ct__stream *s);
/* From the version on. NULL with the reason on the device. */
ct_gp *ct__model_read(ct__stream *s, const char *path, struct ct_group *group);
/* What is left is read, and the checksum at the end is right. */
bool ct__stream_undamaged(ct__stream *s, const char *path);
/* NULL; the file is CT_EFORMAT unless it could not be read. */
void *ct__stream_bad_file(const ct__stream *s, const char *path, const char *what);

#endif
