/* The module for MPI, which group.c loads: the functions of transport.h, each a call of MPI. */
#define OMPI_SKIP_MPICXX  1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "transport.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(ct__request) && sizeof(MPI_Comm) <= sizeof(uint64_t),
               "numbers of 64 bits hold MPI's handles");

static MPI_Comm comm_of(const ct__line *line)
{
    MPI_Comm comm;
    memcpy(&comm, &line->communicator, sizeof comm);
    return comm;
}

/* Takes `comm` over, whose errors are returned from now on. */
static int keep(MPI_Comm comm, ct__line *line)
{
    int error = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (!error) error = MPI_Comm_rank(comm, &line->rank);
    if (!error) error = MPI_Comm_size(comm, &line->size);
    memcpy(&line->communicator, &comm, sizeof comm);
    return error;
}

static int open_all(int communicator, bool world, bool fine, ct__line *all, bool *started)
{
    int already = 0, ended = 0, level, all_fine = fine, error = MPI_Initialized(&already);
    *started = false;
    if (!error) error = MPI_Finalized(&ended);
    if (error || ended || (!already && !world)) return MPI_ERR_OTHER;
    if (!already) {
        error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
        *started = !error;
    }
    MPI_Comm own = MPI_COMM_NULL;
    if (!error) error = MPI_Comm_dup(world ? MPI_COMM_WORLD : MPI_Comm_f2c(communicator), &own);
    if (!error) error = MPI_Allreduce(MPI_IN_PLACE, &all_fine, 1, MPI_INT, MPI_MIN, own);
    if (error) return error;
    error = keep(own, all);
    return all_fine ? error : MPI_ERR_NO_MEM;
}

static int split(const ct__line *all, int colour, ct__line *part)
{
    MPI_Comm own = MPI_COMM_NULL;
    int error = MPI_Comm_split(comm_of(all), colour, all->rank, &own);
    return error ? error : keep(own, part);
}

static void close_line(ct__line *line, bool started)
{
    MPI_Comm comm = comm_of(line);
    if (line->communicator) MPI_Comm_free(&comm);
    line->communicator = 0;
    if (started) MPI_Finalize();
}

/* Counts of MPI are int: a large message goes as one of rows of numbers, and the numbers beside them. */
static int broadcast(const ct__line *line, void *data, size_t bytes, int root, ct__request *request)
{
    enum { ROW = 1 << 16 };
    MPI_Request begun = MPI_REQUEST_NULL;
    int error;
    if (bytes <= INT_MAX) {
        error = MPI_Ibcast(data, (int)bytes, MPI_BYTE, root, comm_of(line), &begun);
    } else {
        MPI_Datatype row;
        const size_t rows = bytes / ROW;
        error = rows > INT_MAX ? MPI_ERR_COUNT : MPI_Type_contiguous(ROW, MPI_BYTE, &row);
        if (error) return error;
        error = MPI_Type_commit(&row);
        if (!error)
            error = MPI_Bcast((char *)data + rows * ROW, (int)(bytes % ROW), MPI_BYTE, root, comm_of(line));
        if (!error) error = MPI_Ibcast(data, (int)rows, row, root, comm_of(line), &begun);
        MPI_Type_free(&row);
    }
    memcpy(request, &begun, sizeof begun);
    return error;
}

static int wait_all(ct__request *request, int count)
{
    int error = 0;
    for (int i = 0; i < count; i++) {
        MPI_Request begun;
        memcpy(&begun, &request[i], sizeof begun);
        const int own = MPI_Wait(&begun, MPI_STATUS_IGNORE);
        if (!error) error = own;
    }
    return error;
}

static int sum(const ct__line *line, ct_dtype dtype, void *data, int64_t count, int root)
{
    const MPI_Datatype type = dtype == CT_F32 ? MPI_FLOAT : MPI_DOUBLE;
    const size_t size = dtype == CT_F32 ? sizeof(float) : sizeof(double);
    int error = 0;
    for (int64_t done = 0, some; done < count && !error; done += some) {
        some = count - done < INT_MAX ? count - done : INT_MAX;
        char *at = (char *)data + (size_t)done * size;
        const bool own = line->rank == root;
        error = MPI_Reduce(own ? MPI_IN_PLACE : at, own ? at : NULL, (int)some, type, MPI_SUM, root,
                           comm_of(line));
    }
    return error;
}

static int largest(const ct__line *line, int64_t *values, int count)
{
    return MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX, comm_of(line));
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
                                          .open = open_all,
                                          .split = split,
                                          .close = close_line,
                                          .broadcast = broadcast,
                                          .wait = wait_all,
                                          .sum = sum,
                                          .largest = largest,
                                          .describe = describe };
