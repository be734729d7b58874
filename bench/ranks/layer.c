/* A profiling layer for MPI, to be preloaded: it counts the bytes that this process receives and sends, and
 * slows broadcasts down to the speed of a network. [MPI 4.0, ch. 15]
 *
 * MPI_Pcontrol(1) resets the counts. MPI_Pcontrol(2, double counted[3]) gives the bytes received and sent
 * since then, and the CPU seconds outside these functions. A broadcast counts its payload as received by each
 * process but the root, and as sent by the root once for each of them; a reduction the other way round.
 * MPI_Allreduce counts its payload once in both.
 *
 * RANKS_LATENCY (seconds) and RANKS_BANDWIDTH (bytes per second) in the environment make a broadcast to s - 1
 * others take ceil(log2 s) latencies and the payload over the bandwidth, from when the root sends it. A
 * process receives one message at a time. */
#include <mpi.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 1 << 14 }; /* messages in transit */

static double received, sent, computing, entered; /* entered: when MPI was last entered */
static double latency, bandwidth;                 /* bandwidth = 0: no delays */
static double busy_until;
/* A message to slow down, with a second one that carries the time when the root sent it. */
static struct delayed {
    MPI_Request request, beside;
    double seconds, sent;
    bool used;
} delayed[MOST];

/* Reads the environment, once per process. */
static void read_environment(void)
{
    static bool done;
    const char *l = getenv("RANKS_LATENCY"), *b = getenv("RANKS_BANDWIDTH");
    if (!done && l && b) {
        latency = strtod(l, NULL);
        bandwidth = strtod(b, NULL);
    }
    done = true;
}

static double clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void) { return clock_of(CLOCK_MONOTONIC); }

/* These two enclose whatever is not the program's own computation. */
static void enter(void) { entered = clock_of(CLOCK_PROCESS_CPUTIME_ID); }
static int leave(int error)
{
    computing -= clock_of(CLOCK_PROCESS_CPUTIME_ID) - entered;
    return error;
}

static double bytes_of(int count, MPI_Datatype type)
{
    int size = 0;
    PMPI_Type_size(type, &size);
    return (double)count * size;
}

/* Counts a message from the root to all others, or from all others to the root. Returns the seconds that this
 * process takes to receive it. */
static double pass(double bytes, int root, MPI_Comm comm, bool from_root)
{
    int rank, size, steps = 0;
    read_environment();
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    const bool one = rank == root;
    *(one == from_root ? &sent : &received) += bytes * (one ? size - 1 : 1);
    while ((1 << steps) < size) steps++;
    return one || !(bandwidth > 0) ? 0 : steps * latency + bytes / bandwidth;
}

/* Waits until a message sent at `start` has arrived: `seconds` after it was sent, or after the previous
 * message arrived. Calls MPI meanwhile, since others may need this process for their messages. */
static void receive(double start, double seconds)
{
    if (!(seconds > 0)) return;
    busy_until = (busy_until > start ? busy_until : start) + seconds;
    while (now() < busy_until) {
        int flag;
        const long pause = busy_until - now() > 1e-4 ? 50000 : 1000;
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        nanosleep(&(struct timespec){ .tv_nsec = pause }, NULL);
    }
}

int MPI_Pcontrol(const int level, ...)
{
    va_list args;
    va_start(args, level);
    if (level == 1) received = sent = 0;
    if (level == 1) computing = -clock_of(CLOCK_PROCESS_CPUTIME_ID);
    if (level == 2) {
        double *counted = va_arg(args, double *);
        counted[0] = received;
        counted[1] = sent;
        counted[2] = computing + clock_of(CLOCK_PROCESS_CPUTIME_ID);
    }
    va_end(args);
    return MPI_SUCCESS;
}

int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    enter();
    const int error = PMPI_Ibcast(data, count, type, root, comm, request);
    const double seconds = pass(bytes_of(count, type), root, comm, true);
    struct delayed *d = delayed;
    while (bandwidth > 0 && d < delayed + MOST && d->used) d++;
    if (d == delayed + MOST) PMPI_Abort(comm, 1);
    if (bandwidth > 0) {
        *d = (struct delayed){ .request = *request, .seconds = seconds, .sent = now(), .used = true };
        PMPI_Ibcast(&d->sent, 1, MPI_DOUBLE, root, comm, &d->beside);
    }
    return leave(error);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    enter();
    const MPI_Request awaited = *request;
    const int error = PMPI_Wait(request, status);
    for (struct delayed *d = delayed; bandwidth > 0 && d < delayed + MOST; d++)
        if (d->used && d->request == awaited) {
            PMPI_Wait(&d->beside, MPI_STATUS_IGNORE);
            receive(d->sent, d->seconds);
            d->used = false;
            break;
        }
    return leave(error);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    enter();
    const int error = PMPI_Bcast(data, count, type, root, comm);
    receive(now(), pass(bytes_of(count, type), root, comm, true));
    return leave(error);
}

int MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    pass(bytes_of(count, type), root, comm, false);
    enter();
    return leave(PMPI_Reduce(from, to, count, type, op, root, comm));
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const double bytes = bytes_of(count, type);
    received += bytes;
    sent += bytes;
    enter();
    return leave(PMPI_Allreduce(from, to, count, type, op, comm));
}
