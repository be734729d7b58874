/* The internals of a communicator: its parts, and how its processes stay in step when one of them fails.
 *
 * A collective call consists of agreements and of messages between them. In an agreement all processes
 * exchange their status; if one has failed, all leave the call with its message. Messages are sent only after
 * an agreement in which no process had failed, and a process that fails after it still sends its messages. A
 * process that fails elsewhere returns early to ct__comm_leave, the last agreement of each call, and waits
 * there for the others. If it fails between two calls, it waits in ct_comm_leave, where the program's common
 * work ends. */
#ifndef CT_GP_COMM_H
#define CT_GP_COMM_H

#include <cotangent/device.h>
#include <cotangent/gp/comm.h>

#include "transport.h"

struct ct_comm {
    const ct__transport *transport; /* NULL: one process, which sends no messages */
    ct__subcomm sub[CT__SUBCOMMS];
    bool started; /* ct_comm_world has started MPI */
    int depth;    /* nesting of public calls */
    bool ahead;   /* for tests: all sweeps have memory for two panels (grid.h) */
    ct__watch watch;
    ct_status status; /* lost contact; nothing is sent any more */
    bool reported;    /* the last failure was another process's, and `message` names that */
    char message[512];
};

static inline bool ct__comm_is_one(const ct_comm *g) { return !g || g->sub[CT__COMM_ALL].size == 1; }

/* Refuses a communicator that has failed, and a communicator of several processes on a device other than a
 * CPU. */
ct_status ct__comm_usable(const ct_comm *g, ct_device *device);
/* Messages; they return false after an error of MPI. Then nothing more is sent, and all agreements fail,
 * because the processes are out of step. `begin` starts to copy data from process `root` of a part
 * (transport.h) to all of it, and `wait` waits for all that has begun; `broadcast` does both for all
 * processes. */
void ct__comm_begin(ct_comm *g, int part, void *data, size_t bytes, int root);
bool ct__comm_wait(ct_comm *g);
bool ct__comm_broadcast(ct_comm *g, void *data, size_t bytes, int root);
/* data on process `root` of a part, or on all, = the sum of all processes' data; for integers the largest */
bool ct__comm_reduce(ct_comm *g, int part, ct_dtype dtype, void *data, int64_t count, int root);
bool ct__comm_allreduce(ct_comm *g, ct_dtype dtype, void *data, int64_t count);
/* Begin and end of a collective call. `leave` returns `status`, or that of a process that has failed, and
 * gives the device its message. A NULL communicator returns `status`. */
void ct__comm_enter(ct_comm *g);
ct_status ct__comm_leave(ct_comm *g, ct_device *device, ct_status status);
/* Returns the common status. *value (may be NULL) = the largest of all processes. */
ct_status ct__comm_agree(ct_comm *g, ct_device *device, ct_status status, int64_t *value);
/* The same, then a copy of `bytes` bytes at data from process 0. */
ct_status ct__comm_agree_broadcast(ct_comm *g, ct_device *device, ct_status status, void *data, size_t bytes);
/* The same; it fails unless all processes have the same bytes; `what` names them in the message. */
ct_status ct__comm_same(ct_comm *g, ct_device *device, const void *data, size_t bytes, const char *what);

#endif
