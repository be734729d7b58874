/* What the library and its module for MPI agree on. The module alone sees mpi.h. */
#ifndef CT_GP_TRANSPORT_H
#define CT_GP_TRANSPORT_H

#include <cotangent/tensor.h>

#define CT__TRANSPORT_FILE   "libcotangent-mpi.so"
#define CT__TRANSPORT_SYMBOL "ct__mpi_transport"

enum { CT__TRANSPORT_VERSION = 2, CT__MOST_MESSAGES = 64 };

/* Processes that talk together: a communicator of MPI in Fortran's numbering, and its messages that are on
 * their way. */
typedef struct ct__line {
    int communicator; /* 0: none */
    int rank, size, messages;
    uint64_t message[CT__MOST_MESSAGES];
} ct__line;

/* The lines of a process: all processes, as a grid as square as it goes, no more rows than columns; those of
 * its row of the grid, in the order of their columns; those of its column. */
enum { CT__ALL, CT__ROW, CT__COLUMN, CT__LINES };

/* Each function returns 0 or an error of MPI. All but `wait` and `describe` are collective. */
typedef struct ct__transport {
    int version;
    /* The lines of a communicator of Fortran's numbering, or with `world` of MPI_COMM_WORLD, for which MPI is
     * started if it was not: *started, and then `close` ends it. *fine: whether it is in all processes. */
    int (*open)(int communicator, bool world, bool *fine, ct__line line[CT__LINES], bool *started);
    void (*close)(ct__line line[CT__LINES], bool started);
    /* Begins to copy data from process `root` to all of the line, and waits for the line's messages. */
    int (*broadcast)(ct__line *line, void *data, size_t bytes, int root);
    int (*wait)(ct__line *line);
    /* data of process `root` = the sum of all processes' data, always in the same order; of integers the
     * largest */
    int (*reduce)(const ct__line *line, ct_dtype dtype, void *data, int64_t count, int root);
    void (*describe)(int error, char text[256]);
} ct__transport;

#endif
