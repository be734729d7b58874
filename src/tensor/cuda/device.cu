/* A GPU as a device: its errors, opening and closing. */
#include "cuda.h"

#include <inttypes.h>
#include <stdio.h>

/* -- errors ---------------------------------------------------------------------------------------------- */

static ct_status cuda_error(ct_device *dev, const char *what, const char *whose, cudaError_t error)
{
    return ct__fail(dev, error == cudaErrorMemoryAllocation ? CT_ENOMEM : CT_EDEVICE, "%s: %s: %s%s (%s)",
                    dev->name, what, whose, cudaGetErrorString(error), cudaGetErrorName(error));
}

ct_status ct__status(ct_device *dev, const char *what, cudaError_t error)
{
    return ct__done(error) ? CT_OK : cuda_error(dev, what, "", error);
}

/* An error of the driver does not touch the runtime's last error. */
ct_status ct__driver_status(ct_device *dev, const char *what, int error)
{
    return error ? cuda_error(dev, what, "the driver: ", (cudaError_t)error) : CT_OK;
}

ct_status ct__status(ct_device *dev, const char *what, cublasStatus_t error)
{
    if (error == CUBLAS_STATUS_SUCCESS) return CT_OK;
    return ct__fail(dev, error == CUBLAS_STATUS_ALLOC_FAILED ? CT_ENOMEM : CT_EDEVICE, "%s: %s: cuBLAS: %s",
                    dev->name, what, cublasGetStatusString(error));
}

ct_status ct__status(ct_device *dev, const char *what, cusolverStatus_t error)
{
    if (error == CUSOLVER_STATUS_SUCCESS) return CT_OK;
    return ct__fail(dev, error == CUSOLVER_STATUS_ALLOC_FAILED ? CT_ENOMEM : CT_EDEVICE,
                    "%s: %s: cuSOLVER: status %d", dev->name, what, (int)error);
}

ct_status ct__zero(ct_device *dev, const char *what, int64_t *x, int64_t n)
{
    return ct__status(dev, what, cudaMemsetAsync(x, 0, (size_t)n * sizeof *x, ct__cuda_of(dev)->stream));
}

/* -- opening and closing --------------------------------------------------------------------------------- */

/* If the runtime has ended before the device, at the program's end, it has freed everything. */
static void destroy(ct__cuda *cuda)
{
    const ct__current now(cuda);
    const cudaError_t ended = cudaStreamSynchronize(cuda->stream);
    if (!ct__done(ended) && ended == cudaErrorCudartUnloading) return;
    if (cuda->params) cusolverDnDestroyParams(cuda->params);
    if (cuda->solver) cusolverDnDestroy(cuda->solver);
    if (cuda->blas) cublasDestroy(cuda->blas);
    ct__done(cudaFree(cuda->blas_workspace));
    ct__done(cudaFree(cuda->bad));
    if (cuda->aside) ct__done(cudaStreamDestroy(cuda->aside));
    ct__done(cudaStreamDestroy(cuda->stream));
    if (cuda->pool) ct__done(cudaMemPoolDestroy(cuda->pool));
}

/* Keeps the GPU's primary context, as the runtime does: making it again, and loading the libraries' kernels
 * into it, takes a large part of a second. */
void ct__cuda_close(ct_device *dev)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    if (cuda->stream) destroy(cuda);
    for (ct__host_workspace *w = cuda->host_workspace, *older; w; w = older) {
        older = w->older;
        ct__host_free(dev, w, CT__ALIGNMENT + w->bytes);
    }
    dev->backend_state = NULL;
    ct__host_free(dev, cuda, sizeof *cuda);
}

/* The pool keeps freed memory instead of returning it to the driver. */
static ct_status open_pool(ct_device *dev, ct__cuda *cuda)
{
    int supported = 0;
    ct_status s = CT_OK;
    CT__TRY("opening", cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, cuda->ordinal));
    if (s || !supported) return s;
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = cuda->ordinal;
    uint64_t threshold = UINT64_MAX;
    CT__TRY("making a memory pool", cudaMemPoolCreate(&cuda->pool, &props));
    return CT__TRY("keeping freed memory",
                   cudaMemPoolSetAttribute(cuda->pool, cudaMemPoolAttrReleaseThreshold, &threshold));
}

static ct_status open_libraries(ct_device *dev, ct__cuda *cuda)
{
    ct_status s = CT_OK;
    CT__TRY("opening", cublasCreate(&cuda->blas));
    CT__TRY("opening", cublasSetStream(cuda->blas, cuda->stream));
    /* Partial sums of bf16 and f16 products are also f32. */
    CT__TRY("opening", cublasSetMathMode(cuda->blas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    CT__TRY("opening", cudaMalloc(&cuda->blas_workspace, CT__BLAS_WORKSPACE));
    CT__TRY("opening", cublasSetWorkspace(cuda->blas, cuda->blas_workspace, CT__BLAS_WORKSPACE));
    CT__TRY("opening", cusolverDnCreate(&cuda->solver));
    CT__TRY("opening", cusolverDnSetStream(cuda->solver, cuda->stream));
    return CT__TRY("opening", cusolverDnCreateParams(&cuda->params));
}

static ct_status describe(ct_device *dev, ct__cuda *cuda)
{
    cudaDeviceProp props;
    size_t free_bytes = 0, total = 0;
    ct_status s = CT_OK;
    CT__TRY("asking its name", cudaGetDeviceProperties(&props, cuda->ordinal));
    if (CT__TRY("asking its memory", cudaMemGetInfo(&free_bytes, &total))) return s;
    cuda->processors = props.multiProcessorCount;
    if (!dev->memory.limit) dev->memory.limit = total;
    dev->threads = 1;
    ct__print(dev->description, sizeof dev->description,
              "%s: %s, compute capability %d.%d, %d processors, %.1f GiB, %.1f free", dev->name, props.name,
              props.major, props.minor, props.multiProcessorCount, (double)total / (1 << 30),
              (double)free_bytes / (1 << 30));
    return CT_OK;
}

#if CUDART_VERSION >= 12050
#    define DRIVERS(name, to) cudaGetDriverEntryPointByVersion(name, (void **)(to), 12000, cudaEnableDefault)
#else
#    define DRIVERS(name, to) cudaGetDriverEntryPoint(name, (void **)(to), cudaEnableDefault)
#endif

static ct_status find_driver(ct_device *dev, ct__driver *driver)
{
    cudaError_t error = DRIVERS("cuCtxGetCurrent", &driver->current);
    if (!error) error = DRIVERS("cuCtxSetCurrent", &driver->make_current);
    if (!error) error = DRIVERS("cuStreamGetCtx", &driver->context_of);
    if (!error) error = DRIVERS("cuDeviceGet", &driver->device_of);
    if (!error) error = DRIVERS("cuDevicePrimaryCtxRetain", &driver->retain);
    return ct__status(dev, "asking the driver", error);
}

/* A graph copies a kernel's arguments, but not host memory. */
struct literal {
    unsigned char byte[CT__LITERAL];
};

static __global__ void put_kernel(literal from, int64_t n, unsigned char *to)
{
    CT__EACH(i, n) to[i] = from.byte[i];
}

ct_status ct__cuda_put(ct_device *dev, const char *what, void *dst, const void *src, size_t bytes)
{
    literal from = {};
    ct_status s = CT_OK;
    for (size_t at = 0; at < bytes && !s; at += CT__LITERAL) {
        size_t n = bytes - at < CT__LITERAL ? bytes - at : (size_t)CT__LITERAL;
        memcpy(from.byte, (const char *)src + at, n);
        s = CT__RUN_EACH(dev, what, put_kernel, (int64_t)n, from, (int64_t)n, (unsigned char *)dst + at);
    }
    return s;
}

/* Finally launches the kernel of uploads. This shows whether the module has code for this GPU and the GPU
 * runs it. It also loads the kernel, which may wait and so must not happen during a recording. */
static ct_status open_all(ct_device *dev, ct__cuda *cuda)
{
    const ct__current now(cuda);
    static const char START[] = "starting a kernel (is this GPU among -Dgpu_capabilities?)";
    const ct__bad none[CT__CHECKERS] = {};
    ct_status s = CT_OK;
    CT__TRY("making a stream", cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking));
    if (!s) s = describe(dev, cuda);
    if (!s) s = open_pool(dev, cuda);
    if (!s) s = open_libraries(dev, cuda);
    CT__TRY("memory for errors", cudaMalloc((void **)&cuda->bad, sizeof none));
    if (!s) s = ct__cuda_put(dev, START, cuda->bad, none, sizeof none);
    return CT__TRY("running a kernel", cudaStreamSynchronize(cuda->stream));
}

ct_status ct__cuda_open(ct_device *dev, int ordinal)
{
    int count = 0;
    snprintf(dev->name, sizeof dev->name, "cuda:%d", ordinal);
    cudaError_t error = cudaGetDeviceCount(&count);
    if (!ct__done(error))
        return ct__fail(dev, CT_EDEVICE, "cuda:%d: %s: install a newer driver, or open \"cpu\"", ordinal,
                        cudaGetErrorString(error));
    if (ordinal >= count)
        return ct__fail(dev, CT_EDEVICE,
                        "cuda:%d: there %s %d GPU%s, counted from 0: open one of these, or \"cpu\"", ordinal,
                        count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
    ct__cuda *cuda = (ct__cuda *)ct__host_alloc(dev, sizeof *cuda);
    if (!cuda) return CT_ENOMEM;
    memset(cuda, 0, sizeof *cuda);
    cuda->ordinal = ordinal;
    dev->backend_state = cuda;
    ct_status s = find_driver(dev, &cuda->driver);
    if (!s) s = ct__driver_status(dev, "finding the GPU", cuda->driver.device_of(&cuda->gpu, cuda->ordinal));
    if (!s) s = ct__driver_status(dev, "choosing the GPU", cuda->driver.retain(&cuda->context, cuda->gpu));
    if (!s) s = open_all(dev, cuda);
    if (s) ct__cuda_close(dev);
    return s;
}
