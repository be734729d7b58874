/* The file of a model or of several outputs:
 *
 *     magic "\211CTGP\r\n\032", u32 version
 *     the records of a model (records.c), or of several outputs (outputs/file.c)
 *     u64 CRC-64 of all before */
#ifndef CT_GP_ARCHIVE_H
#define CT_GP_ARCHIVE_H

#include "stream.h"

/* Begins to write to a file, or nowhere if `path` is NULL. Ends it: writes the checksum, unless `status` is a
 * failure, which it returns. */
ct_status ct__archive_begin(ct__stream *s, ct_device *device, const char *path);
ct_status ct__archive_end(ct__stream *s, ct_status status);

/* Opens a file and reads the name of its first record, "model" or "outputs"; NULL with the reason on the
 * device. Close it in any case. */
const char *ct__archive_open(ct__stream *s, ct_device *device, const char *path);
void ct__archive_close(ct__stream *s);
/* Reads the rest. Whether the checksum is right; a wrong one takes precedence over earlier faults, as it
 * explains them. */
bool ct__archive_undamaged(ct__stream *s, const char *path);
/* CT_EFORMAT with this reason, unless the file could not be read, or memory ran out. */
void ct__archive_refuse(const ct__stream *s, const char *path, const char *why);

#endif
