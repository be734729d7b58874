/* The module for MPI, which comm.c loads: implements transport.h by calls of MPI. */
#define OMPI_SKIP_MPICXX  1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "transport.h"

#ifndef CT__PIECE /* smaller in a test */
#    define CT__PIECE INT_MAX
#endif

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "64 bits hold MPI's handle of a message");

/* Takes over `comm` and makes its errors return. */
static int keep(MPI_Comm comm, ct__subcomm *sub)
{
    int error = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (!error) error = MPI_Comm_rank(comm, &sub->rank);
    if (!error) error = MPI_Comm_size(comm, &sub->size);
    sub->communicator = MPI_Comm_c2f(comm);
    return error;
}

static int split(const ct__subcomm *all, int colour, ct__subcomm *part)
{
    MPI_Comm own;
    const int error = MPI_Comm_split(MPI_Comm_f2c(all->communicator), colour, all->rank, &own);
    return error ? error : keep(own, part);
}

static int open_parts(int communicator, bool world, int *without, ct__subcomm sub[CT__SUBCOMMS],
                      bool *started)
{
    int already = 0, ended = 0, level, rows = 1, lowest = INT_MAX, error = MPI_Initialized(&already);
    ct__subcomm *all = &sub[CT__COMM_ALL];
    MPI_Comm own;
    if (!error) error = MPI_Finalized(&ended);
    if (error || ended || (!already && !world)) return MPI_ERR_OTHER;
    if (!already) error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    *started = !already && !error;
    if (!error) error = MPI_Comm_dup(world ? MPI_COMM_WORLD : MPI_Comm_f2c(communicator), &own);
    if (!error) error = keep(own, all);
    if (*without) lowest = all->rank;
    if (!error) error = MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, own);
    *without = lowest < all->size ? lowest : -1;
    for (int r = 1; r * r <= all->size; r++)
        if (all->size % r == 0) rows = r;
    const int cols = all->size / rows;
    if (!error) error = split(all, all->rank / cols, &sub[CT__COMM_ROW]);
    return error ? error : split(all, rows + all->rank % cols, &sub[CT__COMM_COLUMN]);
}

static void close_parts(ct__subcomm sub[CT__SUBCOMMS], bool started)
{
    for (int i = CT__SUBCOMMS - 1; i >= 0; i--) {
        MPI_Comm comm = MPI_Comm_f2c(sub[i].communicator);
        if (sub[i].communicator) MPI_Comm_free(&comm);
    }
    if (started) MPI_Finalize();
}

/* -- waiting --------------------------------------------------------------------------------------------- */

enum {
    CALL = 1,
    ANSWER = 2,
    TESTS = 64
}; /* tags of empty messages; tests of a message to a look at the clock */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int say(const ct__subcomm *all, int tag, int to)
{
    MPI_Request sent;
    const int error = MPI_Isend(NULL, 0, MPI_BYTE, to, tag, MPI_Comm_f2c(all->communicator), &sent);
    return error ? error : MPI_Request_free(&sent);
}

static int call_all(const ct__watch *w)
{
    int error = 0;
    for (int r = 0; r < w->all->size && !error; r++)
        if (!(w->heard[r] = r == w->all->rank)) error = say(w->all, CALL, r);
    return error;
}

/* Answers all calls, and notes all answers. */
static int listen(const ct__watch *w)
{
    const MPI_Comm comm = MPI_Comm_f2c(w->all->communicator);
    for (;;) {
        MPI_Status from;
        int any = 0, error = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &any, &from);
        if (error || !any) return error;
        error = MPI_Recv(NULL, 0, MPI_BYTE, from.MPI_SOURCE, from.MPI_TAG, comm, MPI_STATUS_IGNORE);
        if (error) return error;
        if (from.MPI_TAG == ANSWER)
            w->heard[from.MPI_SOURCE] = true;
        else if ((error = say(w->all, ANSWER, from.MPI_SOURCE)) != 0)
            return error;
    }
}

/* Reports the silent processes, unless a lower one also waits and reports. */
static void report(const ct__watch *w)
{
    int *silent = w->heard, count = 0;
    for (int r = 0; r < w->all->rank; r++)
        if (w->heard[r]) return;
    for (int r = 0; r < w->all->size; r++)
        if (!w->heard[r]) silent[count++] = r;
    if (count) w->report(w->context, silent, count);
}

/* Calls the others a tenth of the time before it reports. */
static int wait_for(const ct__watch *w, MPI_Request *message)
{
    enum { BEGUN, CALLED, REPORTED } state = BEGUN;
    double begin = 0, listened = 0;
    int done = 0, error = 0;
    if (!w) return MPI_Wait(message, MPI_STATUS_IGNORE);
    for (unsigned test = 0;; test++) {
        if (!error) error = MPI_Test(message, &done, MPI_STATUS_IGNORE);
        if (error || done) return error;
        if (test % TESTS) continue;
        const double t = now();
        if (!test) begin = t;
        if (t - listened > 0.01) error = listen(w), listened = t;
        if (!error && state == BEGUN && t - begin > 0.9 * w->seconds) error = call_all(w), state = CALLED;
        if (state == CALLED && t - begin > w->seconds) report(w), state = REPORTED;
    }
}

static int wait_all(ct__subcomm *sub)
{
    int error = 0;
    for (int i = 0; i < sub->messages; i++) {
        MPI_Request message;
        memcpy(&message, &sub->message[i], sizeof message);
        const int own = wait_for(sub->watch, &message);
        if (!error) error = own;
    }
    sub->messages = 0;
    return error;
}

/* -- messages -------------------------------------------------------------------------------------------- */

/* MPI's counts are int, so a large message is sent in pieces. Waits for all but the last. */
static int broadcast(ct__subcomm *sub, void *data, size_t bytes, int root)
{
    MPI_Request message;
    const MPI_Comm comm = MPI_Comm_f2c(sub->communicator);
    char *at = data;
    int error = sub->messages == CT__MOST_MESSAGES ? wait_all(sub) : 0;
    for (; bytes > CT__PIECE && !error; at += CT__PIECE, bytes -= CT__PIECE) {
        error = MPI_Ibcast(at, CT__PIECE, MPI_BYTE, root, comm, &message);
        if (!error) error = wait_for(sub->watch, &message);
    }
    if (!error) error = MPI_Ibcast(at, (int)bytes, MPI_BYTE, root, comm, &message);
    if (!error) memcpy(&sub->message[sub->messages++], &message, sizeof message);
    return error;
}

static int reduce(const ct__subcomm *sub, ct_dtype dtype, void *data, int64_t count, int root)
{
    const MPI_Datatype type = dtype == CT_I64 ? MPI_INT64_T : dtype == CT_F32 ? MPI_FLOAT : MPI_DOUBLE;
    const MPI_Op op = dtype == CT_I64 ? MPI_MAX : MPI_SUM;
    const size_t size = dtype == CT_F32 ? sizeof(float) : sizeof(double);
    const bool own = sub->rank == root;
    int error = 0;
    for (int64_t done = 0, some; done < count && !error; done += some) {
        some = count - done < CT__PIECE ? count - done : CT__PIECE;
        char *at = (char *)data + (size_t)done * size;
        MPI_Request message;
        error = MPI_Ireduce(own ? MPI_IN_PLACE : at, own ? at : NULL, (int)some, type, op, root,
                            MPI_Comm_f2c(sub->communicator), &message);
        if (!error) error = wait_for(sub->watch, &message);
    }
    return error;
}

static void describe(int error, char text[256])
{
    char own[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(error, own, &length)) length = 0;
    snprintf(text, 256, "%.*s", length, own);
}

extern CT_API const ct__transport ct__mpi_transport;
const ct__transport ct__mpi_transport = { .version = CT__TRANSPORT_VERSION,
                                          .open = open_parts,
                                          .close = close_parts,
                                          .broadcast = broadcast,
                                          .wait = wait_all,
                                          .reduce = reduce,
                                          .describe = describe };
