/* The internals of a communicator: its lines, and how its processes stay in step when one of them fails.
 *
 * A collective call consists of meetings and of messages between them. At a meeting all processes exchange
 * their status; if one has failed, all leave the call with its message. Messages are sent only after a
 * meeting at which no process had failed, and a process that fails after it still sends its messages. A
 * process that fails elsewhere returns early to ct__comm_leave, the last meeting of each call, and waits
 * there for the others. If it fails between two calls, it waits in ct_comm_leave, where the program's common
 * work ends. */
#ifndef CT_GP_COMM_H
#define CT_GP_COMM_H

#include <cotangent/device.h>
#include <cotangent/gp/comm.h>

#include "transport.h"

struct ct_comm {
    const ct__transport *transport; /* NULL: one process, which sends no messages */
    ct__subcomm line[CT__SUBCOMMS];
    bool started; /* ct_comm_world has started MPI */
    int depth;    /* nesting of public calls */
    bool ahead;   /* for tests: all sweeps have room for two panels (grid.h) */
    ct__watch watch;
    ct_status status; /* lost contact; nothing is sent any more */
    bool told;        /* the last failure was another process's, and `message` names that */
    char message[512];
};

static inline bool ct__comm_is_one(const ct_comm *g) { return !g || g->line[CT__ALL].size == 1; }

/* Refuses a communicator that has failed, and a communicator of several processes on a device other than a
 * CPU. */
ct_status ct__comm_usable(const ct_comm *g, ct_device *device);
/* Messages; they return false after an error of MPI. Then nothing more is sent, and all meetings fail,
 * because the processes are out of step. `begin` starts to copy data from process `root` of a line to the
 * whole line, and `arrive` waits for it; `tell` copies a process's data to all, and waits. */
void ct__comm_begin(ct_comm *g, int line, void *data, size_t bytes, int root);
bool ct__comm_arrive(ct_comm *g);
bool ct__comm_broadcast(ct_comm *g, void *data, size_t bytes, int root);
/* data on process `root` of a line, or on all, = the sum of all processes' data; for integers the largest */
bool ct__comm_reduce(ct_comm *g, int line, ct_dtype dtype, void *data, int64_t count, int root);
bool ct__comm_allreduce(ct_comm *g, ct_dtype dtype, void *data, int64_t count);
/* Begin and end of a collective call. `leave` returns `status`, or that of a process that has failed, and
 * gives the device its message. A NULL communicator returns `status`. */
void ct__comm_enter(ct_comm *g);
ct_status ct__comm_leave(ct_comm *g, ct_device *device, ct_status status);
/* A meeting: returns the common status. *value (may be NULL) = the largest of all processes. */
ct_status ct__comm_agree(ct_comm *g, ct_device *device, ct_status status, int64_t *value);
/* A meeting, then a copy of `bytes` bytes at data from process 0. */
ct_status ct__comm_agree_broadcast(ct_comm *g, ct_device *device, ct_status status, void *data, size_t bytes);
/* A meeting that fails unless all processes have the same bytes; `what` names them in the message. */
ct_status ct__comm_same(ct_comm *g, ct_device *device, const void *data, size_t bytes, const char *what);

#endif
