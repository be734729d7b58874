/* The records of a model (records.c), for reading and writing. */
#ifndef CT_GP_RECORDS_H
#define CT_GP_RECORDS_H

#include "gp/model/model.h"
#include "stream.h"

/* Those on which a fit depends, except its options; all without the factor; all. */
typedef enum ct__records { CT__RECORDS_OF_FIT, CT__RECORDS_BARE, CT__RECORDS_ALL } ct__records;

/* Writes the records and the end. With CT__RECORDS_ALL the model has a factor. The message begins with
 * `what`. */
ct_status ct__records_write(ct__stream *s, ct_gp *gp, ct__records which, const char *what);
/* Reads a model to its end; its first record's name has been read. The processes of a communicator do not
 * read the factor; each computes its share. NULL with the reason on the device, or with s->bad. */
ct_gp *ct__records_read(ct__stream *s, const char *path, struct ct_comm *comm);

#endif
