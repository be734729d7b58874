/* The stream that carries everything: what may be queued while it is recorded, and those of others. */
#include "cuda.h"

ct_status ct__cuda_not_recording(ct_device *dev, const char *what)
{
    if (!((const ct__cuda *)dev->backend_state)->recording) return CT_OK;
    return ct__fail(dev, CT_EUNSUPPORTED, "%s: %s cannot be part of a graph: do it after ct_step_replay",
                    dev->name, what);
}

/* -- what the host hands over ---------------------------------------------------------------------------- */

/* A kernel's arguments are part of the graph, as memory of the host is not. */
struct literal {
    unsigned char byte[CT__LITERAL];
};

static __global__ void put_kernel(literal from, int64_t n, unsigned char *to)
{
    CT__EACH(i, n) to[i] = from.byte[i];
}

ct_status ct__cuda_load_put(ct_device *dev, const char *what)
{
    return CT__RUN_EACH(dev, what, put_kernel, 1, literal{}, 0, (unsigned char *)NULL);
}

ct_status ct__cuda_put(ct_device *dev, void *dst, const void *src, size_t bytes)
{
    literal from = {};
    ct_status s = CT_OK;
    for (size_t at = 0; at < bytes && !s; at += CT__LITERAL) {
        size_t n = bytes - at < CT__LITERAL ? bytes - at : (size_t)CT__LITERAL;
        memcpy(from.byte, (const char *)src + at, n);
        s = CT__RUN_EACH(dev, "uploading", put_kernel, (int64_t)n, from, (int64_t)n,
                         (unsigned char *)dst + at);
    }
    return s;
}

/* -- streams of others ----------------------------------------------------------------------------------- */

void *ct__cuda_stream(ct_device *dev) { return ct__cuda_of(dev)->stream; }

ct_status ct__cuda_join(ct_device *dev, void *stream, bool ours)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    cudaStream_t theirs = (cudaStream_t)stream, first = ours ? theirs : cuda->stream,
                 second = ours ? cuda->stream : theirs;
    CUctx_st *context = cuda->context;
    cudaEvent_t now = NULL;
    ct_status s = ct__cuda_not_recording(dev, "joining streams");
    if (!s && ours && first)
        s = ct__driver_status(dev, "joining streams", cuda->driver.context_of(first, &context));
    const ct__current there(cuda, context); /* a stream is marked by events of its own GPU alone */
    if (!s) s = ct__status(dev, "making an event", cudaEventCreateWithFlags(&now, cudaEventDisableTiming));
    if (s) return s;
    s = ct__status(dev, "joining streams", cudaEventRecord(now, first));
    if (!s) s = ct__status(dev, "joining streams", cudaStreamWaitEvent(second, now, 0));
    ct_status destroyed = ct__status(dev, "joining streams", cudaEventDestroy(now));
    return s ? s : destroyed;
}
