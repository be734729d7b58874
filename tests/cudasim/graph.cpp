/* Graphs. The work given to a captured stream is kept instead of done, in order, and done at every launch;
 * that order fulfils every possible dependency. Memory that a graph allocates keeps its address and lives
 * from its allocation to its release within a launch. */
#include "sim.h"

#include <algorithm>

namespace sim
{
static std::vector<CUstream_st *> captured;

bool capturing(cudaStream_t s) { return s && s->graph; }

static bool is_mine(const CUstream_st *s)
{
    return s->mode == cudaStreamCaptureModeGlobal ||
           (s->mode == cudaStreamCaptureModeThreadLocal && s->thread == std::this_thread::get_id());
}

/* Refuses calls that are unsafe during this thread's capture, unless its mode is relaxed. */
static thread_local cudaStreamCaptureMode care = cudaStreamCaptureModeGlobal;

bool thread_captures()
{
    return care != cudaStreamCaptureModeRelaxed && std::any_of(captured.begin(), captured.end(), is_mine);
}

void spoil_captures()
{
    for (CUstream_st *s : captured)
        if (is_mine(s)) s->spoiled = true;
}

void spoil(cudaStream_t s) { s->origin->spoiled = true; }

void append(cudaStream_t s, work w)
{
    s->graph->nodes.push_back(std::move(w));
    if (s != s->origin) s->joined = false;
}

static void release(CUgraph_st *g)
{
    if (--g->users) return;
    for (block *b : g->blocks) {
        if (b->state == block::LIVE) retire(b);
        forget(b);
    }
    delete g;
}
} // namespace sim

using namespace sim;

struct CUgraphExec_st {
    CUgraph_st *graph;
};

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    entry e("cudaThreadExchangeStreamCaptureMode", RELEASES);
    std::swap(*mode, care);
    return done(e);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    entry e("cudaStreamBeginCapture");
    if (e.refused) return fail(e.error);
    if (!stream) return fail(cudaErrorStreamCaptureUnsupported); /* the legacy stream */
    if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    if (stream->graph) return fail(cudaErrorInvalidValue);
    stream->graph = new CUgraph_st();
    stream->origin = stream;
    stream->spoiled = false;
    stream->mode = mode;
    stream->thread = std::this_thread::get_id();
    captured.push_back(stream);
    live++;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    entry e("cudaStreamEndCapture", RELEASES);
    *pGraph = nullptr;
    if (!stream || !is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    if (!stream->graph) return fail(cudaErrorInvalidValue);
    if (stream->origin != stream) {
        spoil(stream);
        return fail(cudaErrorStreamCaptureUnmatched);
    }
    CUgraph_st *g = stream->graph;
    bool joined = end_forks(g);
    captured.erase(std::find(captured.begin(), captured.end(), stream));
    if (e.error || stream->spoiled || !joined) {
        release(g);
        live--;
        if (e.error) return fail(e.error);
        return fail(joined ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined);
    }
    *pGraph = g;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
    entry e("cudaStreamIsCapturing");
    if (e.refused) return fail(e.error);
    if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    *pCaptureStatus = !capturing(stream)        ? cudaStreamCaptureStatusNone
                      : stream->origin->spoiled ? cudaStreamCaptureStatusInvalidated
                                                : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

/* Gives their number only; the nodes themselves are not simulated. */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    entry e("cudaGraphGetNodes");
    if (e.refused) return fail(e.error);
    if (!graph || nodes || !numNodes) return fail(cudaErrorInvalidValue);
    *numNodes = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long)
{
    entry e("cudaGraphInstantiate");
    if (e.refused) return fail(e.error);
    if (!graph) return fail(cudaErrorInvalidValue);
    *pGraphExec = new CUgraphExec_st{ graph };
    graph->users++;
    live++;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    entry e("cudaGraphLaunch");
    if (e.refused) return fail(e.error);
    if (!graphExec || !is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    if (capturing(stream)) {
        spoil(stream);
        return fail(cudaErrorStreamCaptureUnsupported);
    }
    for (const work &w : graphExec->graph->nodes) enqueue(stream, w.name, w.run);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    entry e("cudaGraphDestroy", RELEASES);
    if (e.refused) return fail(e.error);
    if (!graph) return fail(cudaErrorInvalidValue);
    finish_all();
    release(graph);
    live--;
    return done(e);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    entry e("cudaGraphExecDestroy", RELEASES);
    if (e.refused) return fail(e.error);
    if (!graphExec) return fail(cudaErrorInvalidValue);
    finish_all();
    release(graphExec->graph);
    delete graphExec;
    live--;
    return done(e);
}
