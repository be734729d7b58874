/* What the library and its module for MPI agree on. The module alone sees mpi.h. */
#ifndef CT_GP_TRANSPORT_H
#define CT_GP_TRANSPORT_H

#include <cotangent/tensor.h>

#define CT__TRANSPORT_FILE   "libcotangent-mpi.so"
#define CT__TRANSPORT_SYMBOL "ct__mpi_transport"

enum { CT__TRANSPORT_VERSION = 1 };

/* Processes that talk together: a communicator of MPI. */
typedef struct ct__line {
    uint64_t communicator; /* 0: none */
    int rank, size;
} ct__line;

/* A message that is on its way. */
typedef uint64_t ct__request;

/* Each function returns 0 or an error of MPI. All but `wait` and `describe` are collective. */
typedef struct ct__transport {
    int version;
    /* All processes of a communicator of Fortran's numbering, or with `world` of MPI_COMM_WORLD, for which
     * MPI is started if it was not: *started, and then `close` of that line ends it. An error everywhere
     * unless all processes are `fine`. */
    int (*open)(int communicator, bool world, bool fine, ct__line *all, bool *started);
    /* The processes of `all` with the same colour, in the order of their ranks. */
    int (*split)(const ct__line *all, int colour, ct__line *part);
    void (*close)(ct__line *line, bool started);
    /* Begins to copy data from process `root` to all of the line, and waits for messages. */
    int (*broadcast)(const ct__line *line, void *data, size_t bytes, int root, ct__request *request);
    int (*wait)(ct__request *request, int count);
    /* data of process `root` = the sum of all processes' data, always in the same order */
    int (*sum)(const ct__line *line, ct_dtype dtype, void *data, int64_t count, int root);
    /* Each value = the largest of all processes. */
    int (*largest)(const ct__line *line, int64_t *values, int count);
    void (*describe)(int error, char text[256]);
} ct__transport;

/* A broadcast that has come when this returns. */
static inline int ct__tell(const ct__transport *t, const ct__line *line, void *data, size_t bytes, int root)
{
    ct__request request;
    const int error = t->broadcast(line, data, bytes, root, &request);
    return error ? error : t->wait(&request, 1);
}

#endif
