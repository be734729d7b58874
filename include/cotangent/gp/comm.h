/* A communicator: processes, on one or more machines, that hold one model together (ct_gp_options.comm).
 *
 *     ct_comm *comm = ct_comm_world();                 all processes that mpirun or srun has started
 *     ct_gp *gp = ct_gp_new(X, y, kernel, &(ct_gp_options){ .comm = comm });
 *
 * Every process has the data and calls the same functions of a model in the same order. Such a call is
 * collective: it ends when all processes have made it, and returns the same numbers everywhere. If it fails
 * in one process, it fails in all, with the same status and that process's message.
 *
 * Processes communicate by MPI. The library loads its module for MPI, libcotangent-mpi.so, when a
 * communicator is opened. A program that starts MPI itself uses ct_comm_mpi (mpi.h). Use a communicator only
 * from the thread that started MPI; MPI_THREAD_FUNNELED is enough. MPI can start only once in a program, so
 * after the communicator of ct_comm_world is freed no other can be opened. */
#ifndef COTANGENT_GP_COMM_H
#define COTANGENT_GP_COMM_H

#include <cotangent/status.h>

CT_BEGIN_DECLS

typedef struct ct_comm ct_comm;

/* All processes of MPI_COMM_WORLD, or only this one if it was not started by a launcher of MPI. Starts MPI if
 * it is not yet started; ct_comm_free then ends it. Never NULL: ct_comm_status returns a failure, which
 * ct_gp_new also reports. */
CT_API ct_comm *ct_comm_world(void);
/* The processes of a communicator, as a handle of MPI_Comm_c2f: see ct_comm_mpi. Collective. */
CT_API ct_comm *ct_comm_from_handle(int communicator);
/* Collective. Free the communicator's models first. */
CT_API void ct_comm_free(ct_comm *comm);

CT_API ct_status ct_comm_status(const ct_comm *comm);    /* CT_EINVAL for NULL */
CT_API const char *ct_comm_message(const ct_comm *comm); /* of the last failure */
CT_API int ct_comm_rank(const ct_comm *comm);            /* 0 to size - 1 */
CT_API int ct_comm_size(const ct_comm *comm);

/* Copies `bytes` bytes at `data` from process 0 to all. Collective; it fails in all processes if one of them
 * is in ct_comm_leave with a failure. */
CT_API ct_status ct_comm_share(ct_comm *comm, void *data, size_t bytes);

/* Ends work that the processes do together, calls of the library and what the program does between them.
 * Collective. A process that cannot go on, because it has no memory for instance, calls it early, with its
 * status and message, and waits there: the others' next call fails with them, and they come here, too.
 * Returns the common status; a failure of another process is in ct_comm_message, with its rank. */
CT_API ct_status ct_comm_leave(ct_comm *comm, ct_status status, const char *message);

/* Called with processes that neither wait nor answer: they compute longer than the others, are stopped
 * (SIGSTOP), or their machine does not answer. `silent` has their ranks. */
typedef void (*ct_comm_silence)(void *context, const int *silent, int count);

/* Calls `report` with silent processes when others have waited for them for `seconds` in a call: in the
 * lowest of the processes that wait, once for each wait. The wait goes on. All processes make this call, with
 * the same `seconds`. CT_ENOMEM, or CT_EINVAL for seconds that are not positive. */
CT_API ct_status ct_comm_watch(ct_comm *comm, double seconds, ct_comm_silence report, void *context);

CT_END_DECLS
#endif
