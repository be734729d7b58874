/* A group's inside: its lines, and how its processes stay together when one of them fails.
 *
 * A call that is collective consists of meetings and of messages between them. At a meeting all processes
 * tell their status; if one has failed, all leave the call, with its message. Messages are sent only after a
 * meeting where nobody had failed, and what fails between them sends its messages all the same. A process
 * that fails elsewhere returns early to ct__group_leave, the last meeting of each call, and waits there for
 * the others. */
#ifndef CT_GP_GROUP_H
#define CT_GP_GROUP_H

#include <cotangent/device.h>
#include <cotangent/group.h>

#include "transport.h"

struct ct_group {
    const ct__transport *transport; /* NULL: one process, which talks to nobody */
    ct__line line[CT__LINES];
    bool started; /* MPI, by ct_group_world */
    int depth;    /* of public calls in each other */
    bool ahead;   /* for tests: all sweeps have room for two panels (grid.h) */
    ct_status status;
    char message[512];
};

static inline bool ct__group_is_one(const ct_group *g) { return !g || g->line[CT__ALL].size == 1; }

/* Refuses a group that has failed, and one of many processes on a device that is no CPU. */
ct_status ct__group_usable(const ct_group *g, ct_device *device);
/* Messages. They tell whether MPI has made no error. After one nothing more is sent, and all meetings fail,
 * since the processes no longer stand at the same place. `begin` copies data from process `root` of a line to
 * all of it, and `arrive` waits for that; `tell` copies data of a process to all, and waits. */
void ct__group_begin(ct_group *g, int line, void *data, size_t bytes, int root);
bool ct__group_arrive(ct_group *g);
bool ct__group_tell(ct_group *g, void *data, size_t bytes, int root);
/* data of process `root` of a line, or of all processes, = the sum of that of all, of integers the largest */
bool ct__group_reduce(ct_group *g, int line, ct_dtype dtype, void *data, int64_t count, int root);
bool ct__group_total(ct_group *g, ct_dtype dtype, void *data, int64_t count);
/* Begins and ends a collective call. `leave` returns `status`, or that of a process that has failed. NULL:
 * not a group, and status is returned. The device gets the message. */
void ct__group_enter(ct_group *g);
ct_status ct__group_leave(ct_group *g, ct_device *device, ct_status status);
/* A meeting: the status of all. *value (may be NULL) = the largest of all processes. */
ct_status ct__group_meet(ct_group *g, ct_device *device, ct_status status, int64_t *value);
/* A meeting, then `bytes` bytes at data are those of process 0. */
ct_status ct__group_take(ct_group *g, ct_device *device, ct_status status, void *data, size_t bytes);
/* A meeting that fails unless all processes have the same bytes; `what` they are, for the message. */
ct_status ct__group_same(ct_group *g, ct_device *device, const void *data, size_t bytes, const char *what);

#endif
