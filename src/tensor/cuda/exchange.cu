/* Device memory, transfers between host and GPU, and waiting. */
#include "cuda.h"

#include <inttypes.h>

/* Fails during a recording, when nothing may wait; `what` is the operation that would. */
static ct_status not_recording(ct_device *dev, const char *what)
{
    if (!ct__cuda_of(dev)->recording) return CT_OK;
    return ct__fail(dev, CT_EUNSUPPORTED, "%s: %s cannot be part of a graph: do it after ct_step_replay",
                    dev->name, what);
}

/* -- memory ---------------------------------------------------------------------------------------------- */

/* A recording thread may not allocate memory from the driver unless it declares, as here, that the call is
 * not part of the graph. */
struct unrecorded {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    unrecorded() { exchange(); }
    ~unrecorded() { exchange(); }
    void exchange() { ct__done(cudaThreadExchangeStreamCaptureMode(&mode)); }
};

void *ct__cuda_allocate(ct_device *dev, size_t bytes)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    const unrecorded now;
    cudaStream_t stream = cuda->recording ? cuda->aside : cuda->stream;
    void *data = NULL;
    return ct__done(cuda->pool ? cudaMallocFromPoolAsync(&data, bytes, cuda->pool, stream)
                               : cudaMalloc(&data, bytes))
               ? data
               : NULL;
}

void ct__cuda_release(ct_device *dev, void *data, size_t)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    const unrecorded now;
    cudaStream_t stream = cuda->recording ? cuda->aside : cuda->stream;
    ct__done(cuda->pool ? cudaFreeAsync(data, stream) : cudaFree(data));
}

/* Memory is free only after the streams have reached its release. */
void ct__cuda_trim(ct_device *dev)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    if (!cuda->pool || cuda->recording) return;
    ct__done(cudaStreamSynchronize(cuda->stream));
    if (cuda->aside) ct__done(cudaStreamSynchronize(cuda->aside));
    ct__done(cudaMemPoolTrimTo(cuda->pool, 0));
}

void *ct__cuda_host_workspace(ct_device *dev, size_t bytes)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    ct__host_workspace *workspace = cuda->host_workspace;
    if (!workspace || workspace->bytes < bytes) {
        if (workspace && bytes < 2 * workspace->bytes) bytes = 2 * workspace->bytes;
        workspace = (ct__host_workspace *)ct__host_alloc(dev, CT__ALIGNMENT + bytes);
        if (!workspace) return NULL;
        workspace->older = cuda->host_workspace;
        workspace->bytes = bytes;
        cuda->host_workspace = workspace;
    }
    return (char *)workspace + CT__ALIGNMENT;
}

/* -- transfers between host and GPU ---------------------------------------------------------------------- */

/* The first place that the earliest failing check found, or NULL. */
static const ct__bad *first_bad(const ct__bad *found)
{
    const ct__bad *first = NULL;
    for (const ct__bad *f = found; f < found + CT__CHECKERS; f++)
        if (f->order &&
            (!first || f->order < first->order || (f->order == first->order && f->at < first->at)))
            first = f;
    return first;
}

/* Waits, and reports an index that a check found. */
ct_status ct__cuda_synchronize(ct_device *dev)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    ct__bad found[CT__CHECKERS] = {};
    ct_status s = not_recording(dev, "waiting");
    if (cuda->checked)
        CT__TRY("reading the errors",
                cudaMemcpyAsync(found, cuda->bad, sizeof found, cudaMemcpyDeviceToHost, cuda->stream));
    CT__TRY("computing", cudaStreamSynchronize(cuda->stream));
    if (s) return s;
    cuda->checked = false;
    const ct__bad *bad = first_bad(found);
    if (!bad) return CT_OK;
    CT__TRY("clearing the errors", cudaMemsetAsync(cuda->bad, 0, sizeof found, cuda->stream));
    if (s) return s;
    const bool twice = bad->extent < 0;
    return ct__fail(dev, CT_EINDEX, "%s: index[%" PRId64 "] = %" PRId64 " is %s [0, %" PRId64 ")",
                    (const char *)(uintptr_t)-bad->what, bad->at, bad->value,
                    twice ? "there twice, it must be a permutation of" : "outside",
                    twice ? -bad->extent : bad->extent);
}

/* The caller may change src as soon as this returns: short data are copied into kernel arguments, longer data
 * are waited for. */
ct_status ct__cuda_upload(ct_device *dev, void *dst, const void *src, size_t bytes)
{
    if (!bytes) return CT_OK;
    ct__cuda *cuda = ct__cuda_of(dev);
    if (bytes <= CT__UPLOAD_BYTES) return ct__cuda_put(dev, "uploading", dst, src, bytes);
    if (cuda->recording)
        return ct__fail(dev, CT_EUNSUPPORTED,
                        "%s: %zu bytes of the host's cannot be part of a graph: upload them before the step",
                        dev->name, bytes);
    ct_status s = CT_OK;
    CT__TRY("uploading", cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, cuda->stream));
    return CT__TRY("uploading", cudaStreamSynchronize(cuda->stream));
}

ct_status ct__cuda_download(ct_device *dev, void *dst, const void *src, size_t bytes)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    ct_status s = not_recording(dev, "downloading");
    if (bytes) CT__TRY("downloading", cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, cuda->stream));
    return s ? s : ct__cuda_synchronize(dev);
}

/* -- foreign streams ------------------------------------------------------------------------------------- */

void *ct__cuda_stream(ct_device *dev) { return ct__cuda_of(dev)->stream; }

ct_status ct__cuda_join(ct_device *dev, void *stream, bool ours)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    cudaStream_t theirs = (cudaStream_t)stream, first = ours ? theirs : cuda->stream,
                 second = ours ? cuda->stream : theirs;
    CUctx_st *context = cuda->context;
    cudaEvent_t now = NULL;
    ct_status s = not_recording(dev, "joining streams");
    if (!s && ours && first)
        s = ct__driver_status(dev, "joining streams", cuda->driver.context_of(first, &context));
    const ct__current there(cuda, context); /* an event must be of the stream's own GPU */
    CT__TRY("making an event", cudaEventCreateWithFlags(&now, cudaEventDisableTiming));
    if (s) return s;
    CT__TRY("joining streams", cudaEventRecord(now, first));
    CT__TRY("joining streams", cudaStreamWaitEvent(second, now, 0));
    ct_status destroyed = ct__status(dev, "joining streams", cudaEventDestroy(now));
    return s ? s : destroyed;
}
