/* Steps as CUDA graphs: the work queued between begin and end becomes a graph, launched as a whole. */
#include "cuda.h"

struct graph {
    cudaGraphExec_t exec;
    bool checks; /* the graph checks indices, so cuda->bad must be read */
};

/* -- recording ------------------------------------------------------------------------------------------- */

ct_status ct__cuda_capture_begin(ct_device *dev)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    if (!cuda->pool)
        return ct__fail(dev, CT_EUNSUPPORTED,
                        "%s: this GPU has no memory pools, which a graph needs: repeat the step itself",
                        dev->name);
    ct_status s = CT_OK;
    if (!cuda->aside)
        CT__TRY("making a stream", cudaStreamCreateWithFlags(&cuda->aside, cudaStreamNonBlocking));
    if (!s) s = ct__cuda_join(dev, cuda->aside, false); /* it follows the work queued on `stream` so far */
    CT__TRY("recording", cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeThreadLocal));
    cuda->recording = !s;
    return s;
}

ct_status ct__cuda_capture_status(ct_device *dev)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    if (!cuda->recording) return CT_OK;
    enum cudaStreamCaptureStatus state = cudaStreamCaptureStatusActive;
    ct_status s = ct__status(dev, "recording", cudaStreamIsCapturing(cuda->stream, &state));
    if (!s && state != cudaStreamCaptureStatusActive)
        s = ct__fail(dev, CT_EUNSUPPORTED, "%s: this cannot be part of a graph: leave it out of the step",
                     dev->name);
    return s;
}

void *ct__cuda_capture_end(ct_device *dev, size_t *nodes)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    cudaGraph_t recorded = NULL;
    cuda->recording = false;
    ct_status s = ct__status(dev, "recording", cudaStreamEndCapture(cuda->stream, &recorded));
    /* The memory must exist before the first launch. If there will be none, it must be free before others get
     * it. */
    const ct_status there = ct__status(dev, "memory for a graph", cudaStreamSynchronize(cuda->aside));
    if (!s) s = there;
    graph *made = s ? NULL : (graph *)ct__host_alloc(dev, sizeof *made);
    if (made) {
        *made = graph{ NULL, cuda->checked };
        CT__TRY("making a graph", cudaGraphGetNodes(recorded, NULL, nodes));
        CT__TRY("making a graph", cudaGraphInstantiate(&made->exec, recorded, 0));
        if (s) {
            ct__host_free(dev, made, sizeof *made);
            made = NULL;
        }
    }
    if (recorded) ct__done(cudaGraphDestroy(recorded));
    return made;
}

/* -- replaying ------------------------------------------------------------------------------------------- */

ct_status ct__cuda_graph_launch(ct_device *dev, void *which)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    const graph *g = (const graph *)which;
    cuda->checked = cuda->checked || g->checks;
    return ct__status(dev, "launching a graph", cudaGraphLaunch(g->exec, cuda->stream));
}

void ct__cuda_graph_free(ct_device *dev, void *which)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    graph *g = (graph *)which;
    ct__done(cudaStreamSynchronize(cuda->stream));
    ct__done(cudaGraphExecDestroy(g->exec));
    ct__host_free(dev, g, sizeof *g);
}
