/* Shared by the parts of the simulator.
 *
 *     report.cpp    mistakes of the program: said clearly, then the end
 *     runtime.cpp   counting calls, failing one, the device and its errors
 *     memory.cpp    the device's memory: tagged, poisoned, fenced, closed to the host
 *     stream.cpp    streams that run late, events, copies
 *     graph.cpp     capture and replay
 *     kernel.cpp    a grid of threads, one after another or as fibres, several blocks at a time
 *     blas.cpp, solver.cpp   cuBLAS and cuSOLVER on OpenBLAS and LAPACK
 *     cub.cpp       CUB's radix sort
 *
 * One lock guards all of it, from the entry of a call to its end; the work of streams is executed inside some
 * call. */
#ifndef CUDASIM_SIM_H
#define CUDASIM_SIM_H

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cudasim.h"
#include "cusolverDn.h"

namespace sim
{
/* -- report.cpp ------------------------------------------------------------------------------------------ */

/* Ends the program, or keeps the mistake for the test that expects it and returns. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What is being executed, for reports; NULL between. */
extern const char *running;

/* -- runtime.cpp ----------------------------------------------------------------------------------------- */

enum call_kind : unsigned {
    PLAIN = 0,
    WAITS = 1,    /* waits for the device, or may                                  */
    UNSAFE = 2,   /* must not be made while this thread captures a stream          */
    RELEASES = 4, /* does its work also where it is told to fail                   */
};

extern std::recursive_mutex lock;
/* Holds the lock, and decides whether a call fails. */
class entry
{
  public:
    entry(const char *name, unsigned kind = PLAIN);
    bool refused;      /* the call must do nothing and fail with this: */
    cudaError_t error; /* cudaSuccess where it may go on, and succeed  */

  private:
    std::lock_guard<std::recursive_mutex> guard;
};

/* Keeps a runtime error for cudaGetLastError; returns it. NotReady, too. */
cudaError_t fail(cudaError_t error);
/* The value that a call returns after its work. */
inline cudaError_t done(const entry &e) { return e.error ? fail(e.error) : cudaSuccess; }
void count_wait(const char *name);
uint64_t random_below(uint64_t n);
/* start, start + step, ... mod n, step prime to n: an order of n things, drawn anew each time. */
struct order {
    uint64_t n, start, step;
    explicit order(uint64_t count);
    uint64_t after(uint64_t i) const { return i < n - step ? i + step : i - (n - step); }
};
enum { GPUS = 4 }; /* at most */
extern int gpus;
/* The GPU that is current in this thread; where none is it becomes cudaSetDevice's. */
int gpu_now();
enum pace { LATE, SOMETIMES, AT_ONCE };
extern pace speed;
extern int64_t live; /* handles */

/* -- memory.cpp ------------------------------------------------------------------------------------------ */

struct block {
    char *begin;
    size_t bytes;
    int64_t serial;
    enum state { PROMISED, LIVE, GONE } state; /* as the streams see it */
    bool freed;                                /* as the host sees it   */
    bool graph;                                /* a graph's, made anew by each replay */
    bool pooled;
    int gpu;
};

extern const size_t device_bytes;
/* NULL where the GPU is full. */
block *reserve(size_t bytes, bool pooled, int gpu);
void commit(block *b); /* uninitialised: NaN */
void retire(block *b); /* freed: another NaN */
void forget(block *b);
block *find_block(const void *p);
bool is_device(const void *p);
bool is_pinned(const void *p);
void pin(void *p, size_t bytes);
size_t unpin(void *p);
size_t bytes_held();
int64_t blocks_held();
/* Reports unless [p, p + bytes) lies in one live block; call it where the work is executed. */
bool check(const void *p, size_t bytes, const char *what);
/* The same for `batch` column-major matrices of that many elements, `stride` elements apart. */
bool check_matrix(const void *p, int64_t rows, int64_t cols, int64_t ld, int64_t stride, int64_t batch,
                  size_t element, const char *what);
/* Poison, as freshly allocated. */
void poison(void *p, size_t bytes);
void check_fences();
/* Makes sure that a host access is reported, whatever signal handler was set meanwhile. */
void listen();
/* The host may touch device memory between these; they nest. */
void open_memory();
void close_memory();

/* -- stream.cpp, graph.cpp ------------------------------------------------------------------------------- */

struct work {
    std::string name;
    std::function<void()> run;
    uint64_t issued = 0; /* its place among the work of all streams */
};
bool is_stream(cudaStream_t s);
/* The reason why it takes no work, or cudaSuccess. */
cudaError_t usable(cudaStream_t s);
/* The same of a kernel: the stream must be of the current GPU. */
cudaError_t launchable(cudaStream_t s);
int gpu_of(cudaStream_t s);
/* The GPU of the work that is being executed, or -1. */
extern int gpu_running;
/* The name of a piece of work, with its extents. */
std::string called(const char *name, std::initializer_list<int64_t> extents);
/* Adds the work to the stream's queue, or to the graph it is captured into; CUDASIM_TRACE prints it. */
void enqueue(cudaStream_t s, std::string name, std::function<void()> run);
void finish(cudaStream_t s, uint64_t ticket);
void finish_all();
/* The same in the order in which the work was issued, whatever its streams wait for. */
void finish_in_order();
/* At random moments runs some work although the host does not wait. */
void drift();
bool capturing(cudaStream_t s);
bool thread_captures();
/* Invalidates all captures of this thread: they cannot become graphs. */
void spoil_captures();
void spoil(cudaStream_t s);
void append(cudaStream_t s, work w);
/* Ends the capture; returns whether all streams that it had spread to had joined again. */
bool end_forks(CUgraph_st *g);
} // namespace sim

struct CUgraph_st {
    std::vector<sim::work> nodes;
    std::vector<sim::block *> blocks;
    int users = 1; /* the graph, and what was instantiated from it */
};

struct CUstream_st {
    CUstream_st(bool blocks, int of) : blocking(blocks), gpu(of) {}
    bool blocking, destroyed = false;
    int gpu;
    std::deque<sim::work> queue;
    uint64_t queued = 0, finished = 0;
    /* capture */
    CUgraph_st *graph = nullptr;
    CUstream_st *origin = nullptr;
    bool spoiled = false, joined = true;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    std::thread::id thread;
};

struct CUevent_st {
    int gpu = 0;
    CUstream_st *stream = nullptr;
    uint64_t ticket = 0;
    CUgraph_st *graph = nullptr; /* recorded in a capture */
    bool destroyed = false;
};

#endif
