/* The interface between the library and its module for MPI. Only the module includes mpi.h. */
#ifndef CT_GP_TRANSPORT_H
#define CT_GP_TRANSPORT_H

#include <cotangent/tensor.h>

#define CT__TRANSPORT_FILE   "libcotangent-mpi.so"
#define CT__TRANSPORT_SYMBOL "ct__mpi_transport"

enum { CT__TRANSPORT_VERSION = 3, CT__MOST_MESSAGES = 64 };

struct ct__watch;

/* Some of the processes: their MPI communicator, as a Fortran handle, and its pending messages. */
typedef struct ct__subcomm {
    int communicator; /* 0: none */
    int rank, size, messages;
    uint64_t message[CT__MOST_MESSAGES];
    struct ct__watch *watch; /* NULL: none */
} ct__subcomm;

/* What a process does that has waited for `seconds`: it calls all others, and those that wait answer, because
 * only they listen. The others are silent: they compute, are stopped, or are gone. The lowest of those that
 * wait reports them, once for each wait. */
typedef struct ct__watch {
    const ct__subcomm *all;
    double seconds;
    void (*report)(void *context, const int *silent, int count);
    void *context;
    int *heard; /* [all->size]: whether a process has answered */
} ct__watch;

/* The parts of a communicator that a process belongs to: all processes, as a grid as nearly square as
 * possible with rows <= columns; the processes of its grid row, in the order of their columns; those of its
 * grid column. */
enum { CT__COMM_ALL, CT__COMM_ROW, CT__COMM_COLUMN, CT__SUBCOMMS };

/* Each function returns 0 or an error of MPI. All but `wait` and `describe` are collective. */
typedef struct ct__transport {
    int version;
    /* Opens the parts of a communicator, a Fortran handle, or with `world` of MPI_COMM_WORLD. If MPI was not
     * started, `world` starts it, *started is set, and `close` ends it. *without: whether this process has no
     * memory; it becomes the lowest rank of such a process, or -1. */
    int (*open)(int communicator, bool world, int *without, ct__subcomm sub[CT__SUBCOMMS], bool *started);
    void (*close)(ct__subcomm sub[CT__SUBCOMMS], bool started);
    /* Begins to copy data from process `root` to all of a part; waits for the part's messages. */
    int (*broadcast)(ct__subcomm *sub, void *data, size_t bytes, int root);
    int (*wait)(ct__subcomm *sub);
    /* data on process `root` = the sum of all processes' data, always in the same order; for integers the
     * largest */
    int (*reduce)(const ct__subcomm *sub, ct_dtype dtype, void *data, int64_t count, int root);
    void (*describe)(int error, char text[256]);
} ct__transport;

#endif
