/* The layout of a model's file (layout.c), for reading and writing. */
#ifndef CT_GP_LAYOUT_H
#define CT_GP_LAYOUT_H

#include "gp/model/model.h"
#include "stream.h"

/* Versions from CT__OLDEST on are read, and from CT__COLUMNS on written. From CT__BARE on, even versions have
 * no factor. CT__EXTRAS and CT__TRANSFORM are for models with parts that earlier versions cannot hold. */
enum {
    CT__OLDEST = 2,
    CT__BARE = 4,
    CT__COLUMNS = 5,
    CT__EXTRAS = 7,
    CT__TRANSFORM = 9,
    CT__NEWEST = 10,
    CT__CHECKSUM = 8
};

/* The version as which a model is written. */
int ct__model_version(const ct_gp *gp, bool bare);
/* Writes the first bytes of a file for `kind`: 'P', a model, or 'O', several outputs. Or reads and returns
 * it; `bad` if it is neither. */
char ct__stream_magic(ct__stream *s, char kind);
void ct__model_header(ct__stream *s, ct_dtype *dtype, int64_t *n, int64_t *d, ct_gp_options *o);
/* Everything between extents and parameters, with the kernel's text. */
void ct__model_middle(ct__stream *s, ct_gp *gp, char **kernel);
void ct__model_parameters(ct__stream *s, ct_gp *gp);
/* Report, data and factor. The processes of a group do not read the factor; each computes its share. */
void ct__model_body(ct__stream *s, ct_gp *gp);
/* Only the data of the body. */
void ct__model_data(ct__stream *s, ct_gp *gp);
/* A column's name, kind and levels. Each text that is read has its own memory. */
void ct__model_column(ct__stream *s, ct_column *c);
void ct__model_column_drop(const ct_column *c);

/* -- save.c: a stream with `data` of `size`; `what` is for messages -------------------------------------- */

ct_status ct__stream_buffer(ct__stream *s);
/* Writes the file from the version on: without the factor if `bare`; otherwise the model must have one. */
ct_status ct__model_write(ct__stream *s, ct_gp *gp, bool bare, const char *what);
/* Writes the checksum, and everything to the file. */
ct_status ct__stream_end(ct__stream *s);

/* -- load.c ---------------------------------------------------------------------------------------------- */

/* Opens a file and reads its kind, 'P' or 'O'; 0 with the reason on the device. Close it in any case. */
char ct__stream_open(ct__stream *s, ct_device *device, const char *path);
void ct__stream_close(ct__stream *s);
/* Reads a model from the version on. NULL with the reason on the device. */
ct_gp *ct__model_read(ct__stream *s, const char *path, struct ct_group *group);
/* Reads the rest. Whether the checksum at the end is right. */
bool ct__stream_undamaged(ct__stream *s, const char *path);
/* Returns NULL; the device fails with CT_EFORMAT, unless the file could not be read. */
void *ct__stream_bad_file(const ct__stream *s, const char *path, const char *what);

#endif
