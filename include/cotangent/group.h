/* A group: processes, on one or more machines, that hold one model together (ct_gp_options.group).
 *
 *     ct_group *group = ct_group_world();                 all processes that mpirun or srun has started
 *     ct_gp *gp = ct_gp_new(X, y, kernel, &(ct_gp_options){ .group = group });
 *
 * Every process has the data and calls the same functions of gp.h in the same order. Such a call is
 * collective: it ends when all processes have made it, and returns the same numbers everywhere. If it fails
 * in one process, it fails in all, with the same status and that process's message.
 *
 * Processes communicate by MPI. The library loads its module for MPI, libcotangent-mpi.so, when a group is
 * opened. A program that starts MPI itself uses ct_group_mpi (mpi.h). Use a group only from the thread that
 * started MPI; MPI_THREAD_FUNNELED is enough. MPI can start only once in a program, so after the group of
 * ct_group_world is freed no other can be opened. */
#ifndef COTANGENT_GROUP_H
#define COTANGENT_GROUP_H

#include <cotangent/status.h>

CT_BEGIN_DECLS

typedef struct ct_group ct_group;

/* All processes of MPI_COMM_WORLD, or only this one if it was not started by a launcher of MPI. Starts MPI if
 * it is not yet started; ct_group_free then ends it. Never NULL: ct_group_status returns a failure, which
 * ct_gp_new also reports. */
CT_API ct_group *ct_group_world(void);
/* The processes of a communicator, as a handle of MPI_Comm_c2f: see ct_group_mpi. Collective. */
CT_API ct_group *ct_group_of(int communicator);
/* Collective. Free the group's models first. */
CT_API void ct_group_free(ct_group *group);

CT_API ct_status ct_group_status(const ct_group *group);    /* CT_EINVAL for NULL */
CT_API const char *ct_group_message(const ct_group *group); /* of the last failure */
CT_API int ct_group_rank(const ct_group *group);            /* 0 to size - 1 */
CT_API int ct_group_size(const ct_group *group);

/* Copies `bytes` bytes at `data` from process 0 to all. Collective; it fails in all processes if one of them
 * is in ct_group_leave with a failure. */
CT_API ct_status ct_group_share(ct_group *group, void *data, size_t bytes);

/* Ends work that the processes do together, calls of the library and what the program does between them.
 * Collective. A process that cannot go on, because it has no memory for instance, calls it early, with its
 * status and message, and waits there: the others' next call fails with them, and they come here, too.
 * Returns the common status; a failure of another process is in ct_group_message, with its rank. */
CT_API ct_status ct_group_leave(ct_group *group, ct_status status, const char *message);

/* Is told of processes that neither wait nor answer: they compute longer than the others, are stopped
 * (SIGSTOP), or their machine does not answer. `silent` has their ranks. */
typedef void (*ct_group_silence)(void *context, const int *silent, int count);

/* Lets `tell` know of silent processes when others have waited for them for `seconds` in a call. It is called
 * in the lowest of the processes that wait, once for each wait, and the wait goes on. All processes make this
 * call, with the same `seconds`. CT_ENOMEM, or CT_EINVAL for seconds that are not positive. */
CT_API ct_status ct_group_watch(ct_group *group, double seconds, ct_group_silence tell, void *context);

CT_END_DECLS
#endif
