/* Streams: queues of work that runs in order, when the host waits for it or at a random moment before. Events
 * mark a place in a queue. Copies, the most common work of streams, are here, too.
 *
 * A copy between the device and pageable host memory may wait for the stream, as the real one may: it is
 * counted as a wait, and done at once. Pinned memory is read and written when the copy's turn comes. */
#include "sim.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

namespace sim
{
static CUstream_st legacy[GPUS] = { { true, 0 }, { true, 1 }, { true, 2 }, { true, 3 } };
static std::vector<CUstream_st *> &streams =
    *new std::vector<CUstream_st *>{ &legacy[0] }; /* reachable until the end; other GPUs' follow when used */
static std::set<CUevent_st *> events;
int gpu_running = -1;

static CUstream_st *of(cudaStream_t s)
{
    if (s) return s;
    s = &legacy[gpu_now()];
    if (std::find(streams.begin(), streams.end(), s) == streams.end()) streams.push_back(s);
    return s;
}

bool is_stream(cudaStream_t s)
{
    return !s || (std::find(streams.begin(), streams.end(), s) != streams.end() && !s->destroyed);
}

cudaError_t usable(cudaStream_t s)
{
    if (!is_stream(s)) return cudaErrorInvalidResourceHandle;
    return s && s->graph && s->origin->spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

int gpu_of(cudaStream_t s) { return of(s)->gpu; }

cudaError_t launchable(cudaStream_t s)
{
    if (cudaError_t error = usable(s)) return error;
    return gpu_of(s) == gpu_now() ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

static void run_one(CUstream_st *s)
{
    work w = std::move(s->queue.front());
    s->queue.pop_front();
    const char *outer = running;
    const int outer_gpu = gpu_running;
    running = w.name.c_str();
    gpu_running = s->gpu;
    open_memory();
    w.run();
    close_memory();
    running = outer;
    gpu_running = outer_gpu;
    s->finished++;
}

void finish(cudaStream_t stream, uint64_t ticket)
{
    CUstream_st *s = of(stream);
    if (std::find(streams.begin(), streams.end(), s) == streams.end()) return; /* gone, so it has finished */
    if (s->finished >= ticket || s->queue.empty()) return;
    open_memory();
    while (s->finished < ticket && !s->queue.empty()) run_one(s);
    check_fences();
    close_memory();
}

static void bury_destroyed()
{
    for (size_t i = 0; i < streams.size(); i++)
        if (streams[i]->destroyed && streams[i]->queue.empty()) {
            for (CUevent_st *e : events)
                if (e->stream == streams[i]) e->stream = nullptr;
            delete streams[i];
            streams.erase(streams.begin() + (std::ptrdiff_t)i--);
        }
}

void finish_all()
{
    order o(streams.size());
    std::vector<CUstream_st *> all = streams;
    for (size_t i = 0, at = o.start; i < all.size(); i++, at = o.after(at)) finish(all[at], all[at]->queued);
    bury_destroyed();
}

void finish_in_order()
{
    for (;;) {
        CUstream_st *next = nullptr;
        for (CUstream_st *s : streams)
            if (!s->queue.empty() && (!next || s->queue.front().issued < next->queue.front().issued))
                next = s;
        if (!next) return bury_destroyed();
        finish(next, next->finished + 1);
    }
}

void drift()
{
    if (running || speed == LATE) return;
    if (speed == AT_ONCE) {
        finish_all();
    } else if (random_below(8) == 0) {
        CUstream_st *s = streams[random_below(streams.size())];
        if (!s->queue.empty()) finish(s, s->finished + 1 + random_below(s->queue.size()));
    }
}

std::string called(const char *name, std::initializer_list<int64_t> extents)
{
    std::string text = name;
    const char *between = " ";
    for (int64_t extent : extents) {
        text += between + std::to_string(extent);
        between = " x ";
    }
    return text;
}

/* Prints a line for each piece of work. With `dry` the work is not done, unless it copies data from the host.
 */
static void trace(const std::string &name, std::function<void()> *run)
{
    static const char *const how = getenv("CUDASIM_TRACE");
    if (!how) return;
    fprintf(stderr, "cudasim: %s\n", name.c_str());
    if (strcmp(how, "dry")) return;
    for (const char *done : { "cuda", "put_kernel", "fill_kernel" })
        if (name.rfind(done, 0) == 0) return;
    *run = [] {};
}

/* The legacy stream waits for all blocking streams, and they wait for it. */
void enqueue(cudaStream_t stream, std::string name, std::function<void()> run)
{
    CUstream_st *s = of(stream);
    trace(name, &run);
    if (s->graph) {
        append(s, { std::move(name), std::move(run) });
        return;
    }
    if (s == &legacy[s->gpu]) {
        for (CUstream_st *other : streams)
            if (other != s && other->blocking && other->gpu == s->gpu) finish(other, other->queued);
    } else if (s->blocking) {
        finish(&legacy[s->gpu], legacy[s->gpu].queued);
    }
    static uint64_t issued;
    s->queue.push_back({ std::move(name), std::move(run), ++issued });
    s->queued++;
    if (s->queue.size() > 4096) finish(s, s->finished + 2048);
}

bool end_forks(CUgraph_st *g)
{
    bool joined = true;
    for (CUstream_st *s : streams) {
        if (s->graph != g) continue;
        joined = joined && (s == s->origin || s->joined);
        s->graph = nullptr;
        s->origin = nullptr;
    }
    for (CUevent_st *e : events)
        if (e->graph == g) e->stream = nullptr, e->graph = nullptr;
    return joined;
}

static bool unfinished(const CUevent_st *e)
{
    return e->stream && std::find(streams.begin(), streams.end(), e->stream) != streams.end() &&
           e->stream->finished < e->ticket;
}
} // namespace sim

using namespace sim;

/* -- streams --------------------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    entry e("cudaStreamCreateWithFlags");
    if (e.refused) return fail(e.error);
    if (flags > cudaStreamNonBlocking) return fail(cudaErrorInvalidValue);
    *pStream = new CUstream_st(flags == cudaStreamDefault, gpu_now());
    streams.push_back(*pStream);
    live++;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    entry e("cudaStreamDestroy", RELEASES);
    if (e.refused) return fail(e.error);
    if (!stream || !is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    if (stream->graph) report("a stream is destroyed while it is captured");
    stream->destroyed = true; /* its work is still done */
    live--;
    return done(e);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    entry e("cudaStreamSynchronize", WAITS);
    if (e.refused) return fail(e.error);
    if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    if (capturing(stream)) {
        spoil(stream);
        return fail(cudaErrorStreamCaptureUnsupported);
    }
    finish(stream, of(stream)->queued);
    bury_destroyed();
    return cudaSuccess;
}

/* -- events ---------------------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int)
{
    entry e("cudaEventCreateWithFlags");
    if (e.refused) return fail(e.error);
    events.insert(*event = new CUevent_st());
    (*event)->gpu = gpu_now();
    live++;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    entry e("cudaEventDestroy", RELEASES);
    if (e.refused) return fail(e.error);
    if (!events.erase(event)) return fail(cudaErrorInvalidResourceHandle);
    delete event;
    live--;
    return done(e);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    entry e("cudaEventRecord");
    if (e.refused) return fail(e.error);
    if (!events.count(event)) return fail(cudaErrorInvalidResourceHandle);
    if (cudaError_t error = usable(stream)) return fail(error);
    CUstream_st *s = of(stream);
    if (event->gpu != s->gpu) return fail(cudaErrorInvalidResourceHandle);
    if (s->graph) {
        event->graph = s->graph;
        event->stream = s;
        return cudaSuccess;
    }
    enqueue(stream, "cudaEventRecord", [] {});
    event->graph = nullptr;
    event->stream = s;
    event->ticket = s->queued;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int)
{
    entry e("cudaStreamWaitEvent");
    if (e.refused) return fail(e.error);
    if (!events.count(event)) return fail(cudaErrorInvalidResourceHandle);
    if (cudaError_t error = usable(stream)) return fail(error);
    CUstream_st *s = of(stream);
    if (event->graph) { /* the event's capture spreads to this stream, or this one joins it again */
        CUstream_st *from = event->stream;
        if (!s->graph) {
            s->graph = event->graph;
            s->origin = from->origin;
            s->joined = false;
            s->mode = from->mode;
            s->thread = from->thread;
        } else if (from != s) {
            from->joined = true;
        }
        return cudaSuccess;
    }
    if (s->graph) {
        spoil(s);
        return fail(cudaErrorStreamCaptureIsolation);
    }
    if (!unfinished(event)) return cudaSuccess;
    CUstream_st *other = event->stream;
    uint64_t ticket = event->ticket;
    enqueue(stream, "cudaStreamWaitEvent", [other, ticket] { finish(other, ticket); });
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    entry e("cudaEventSynchronize", UNSAFE);
    if (e.refused) return fail(e.error);
    if (!events.count(event)) return fail(cudaErrorInvalidResourceHandle);
    if (unfinished(event)) {
        count_wait("cudaEventSynchronize");
        finish(event->stream, event->ticket);
    }
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    entry e("cudaEventQuery", UNSAFE);
    if (e.refused) return fail(e.error);
    if (!events.count(event)) return fail(cudaErrorInvalidResourceHandle);
    if (!unfinished(event)) return cudaSuccess;
    if (random_below(4) == 0)
        finish(event->stream, event->ticket); /* a caller that polls must succeed in the end */
    return fail(cudaErrorNotReady);
}

/* -- copies ---------------------------------------------------------------------------------------------- */

static void copy_now(void *dst, const void *src, size_t bytes)
{
    if (is_device(dst) && !check(dst, bytes, "copy to")) return;
    if (is_device(src) && !check(src, bytes, "copy from")) return;
    memcpy(dst, src, bytes);
}

/* Whether addresses and direction agree. */
static bool right_way(const void *dst, const void *src, enum cudaMemcpyKind kind)
{
    bool to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
         from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return kind == cudaMemcpyDefault || (is_device(dst) == to && is_device(src) == from);
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    entry e("cudaMemcpy", WAITS | UNSAFE);
    if (e.refused) return fail(e.error);
    if (!count) return cudaSuccess;
    if (!right_way(dst, src, kind)) return fail(cudaErrorInvalidMemcpyDirection);
    for (CUstream_st *s : streams)
        if (s->blocking) finish(s, s->queued);
    open_memory();
    copy_now(dst, src, count);
    close_memory();
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    entry e("cudaMemcpyAsync");
    if (e.refused) return fail(e.error);
    if (cudaError_t error = usable(stream)) return fail(error);
    if (!count) return cudaSuccess;
    if (!right_way(dst, src, kind)) return fail(cudaErrorInvalidMemcpyDirection);
    bool pageable = (!is_device(dst) && !is_pinned(dst)) || (!is_device(src) && !is_pinned(src));
    if (pageable && capturing(stream)) {
        spoil(stream);
        return fail(cudaErrorStreamCaptureUnsupported);
    }
    enqueue(stream, "cudaMemcpyAsync", [=] {
        gpu_running = -1; /* it may go from GPU to GPU */
        copy_now(dst, src, count);
    });
    if (pageable) {
        count_wait("cudaMemcpyAsync of pageable memory");
        finish(stream, of(stream)->queued);
    }
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    entry e("cudaMemsetAsync");
    if (e.refused) return fail(e.error);
    if (cudaError_t error = usable(stream)) return fail(error);
    if (!count) return cudaSuccess;
    if (!is_device(devPtr)) return fail(cudaErrorInvalidValue);
    enqueue(stream, "cudaMemsetAsync", [=] {
        if (check(devPtr, count, "memset")) memset(devPtr, value, count);
    });
    return cudaSuccess;
}
