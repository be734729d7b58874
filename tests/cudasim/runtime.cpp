/* The device and its calls: counting them, letting one fail, remembering errors. */
#include "sim.h"

#include <cstdlib>
#include <cstring>
#include <numeric>

namespace sim
{
std::recursive_mutex lock;
static int64_t calls, waits, fail_call;
static bool fail_broken, has_failed, broken;
static const char *failed_name = "", *first_wait;
static thread_local cudaError_t last_error;
static uint64_t draws;
static bool ended;
pace speed;
int64_t live;
int gpus = 1;
} // namespace sim

/* A GPU's primary context, which the runtime makes when it is first needed. */
struct CUctx_st {
    bool made;
};

namespace sim
{
static CUctx_st contexts[GPUS];
static thread_local CUctx_st *current;
static thread_local int chosen; /* by cudaSetDevice: whose context a thread without one gets */

static CUctx_st *context_of(int gpu)
{
    contexts[gpu].made = true;
    return &contexts[gpu];
}

int gpu_now()
{
    if (!current) current = context_of(chosen);
    return (int)(current - contexts);
}

static void reseed(uint64_t seed)
{
    draws = seed * 0x9e3779b97f4a7c15u;
    speed = seed == 0 ? LATE : seed % 2 ? SOMETIMES : AT_ONCE;
}

static bool read_environment()
{
    const char *seed = getenv("CUDASIM_SEED");
    reseed(seed ? strtoull(seed, nullptr, 10) : 0);
    return true;
}
static const bool environment_read = read_environment();

/* splitmix64 */
static uint64_t draw()
{
    uint64_t z = draws += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t random_below(uint64_t n) { return draw() % n; }

order::order(uint64_t count) : n(count), start(0), step(1)
{
    if (n < 2) return;
    start = random_below(n);
    do step = 1 + random_below(n - 1);
    while (std::gcd(step, n) != 1);
}

void count_wait(const char *name)
{
    if (!waits++) first_wait = name;
}

entry::entry(const char *name, unsigned kind) : refused(false), error(cudaSuccess), guard(lock)
{
    if (kind & UNSAFE && thread_captures()) {
        spoil_captures();
        refused = true, error = cudaErrorStreamCaptureUnsupported;
        return;
    }
    if (ended) {
        if (!strncmp(name, "cublas", 6) || !strncmp(name, "cusolver", 8))
            report("%s after the runtime has gone: the real one may crash", name);
        refused = true, error = cudaErrorCudartUnloading;
        return;
    }
    listen();
    if (kind) gpu_now(); /* it needs a context */
    calls++;
    if (kind & WAITS) count_wait(name);
    if (fail_call && calls == fail_call) {
        has_failed = true, failed_name = name;
        broken = fail_broken;
        error = broken ? cudaErrorIllegalAddress : cudaErrorUnknown;
    } else if (broken) {
        error = cudaErrorIllegalAddress;
    }
    refused = error && !(kind & RELEASES);
    if (!broken) drift();
}

cudaError_t fail(cudaError_t error) { return last_error = error; }
} // namespace sim

using namespace sim;

/* -- for tests ------------------------------------------------------------------------------------------- */

void cudasim_seed(uint64_t seed)
{
    std::lock_guard<std::recursive_mutex> guard(lock);
    reseed(seed);
}

void cudasim_gpus(int count)
{
    std::lock_guard<std::recursive_mutex> guard(lock);
    gpus = count;
    for (CUctx_st &c : contexts) c.made = false;
    current = nullptr, chosen = 0;
}

bool cudasim_has_context(int gpu) { return contexts[gpu].made; }
void cudasim_end_runtime(void) { ended = true; }

void cudasim_watch(void) { cudasim_fail_at(0, false); }

void cudasim_fail_at(int64_t k, bool lasting)
{
    std::lock_guard<std::recursive_mutex> guard(lock);
    calls = waits = 0;
    fail_call = k;
    fail_broken = lasting;
    if (broken) { /* the next calls are as in another process, whose first search succeeds */
        last_error = cudaSuccess;
        finish_in_order(); /* its streams could no longer be told to wait for each other */
    }
    has_failed = broken = false;
    failed_name = "";
    first_wait = nullptr;
}

int64_t cudasim_calls(void) { return calls; }
int64_t cudasim_waits(void) { return waits; }
const char *cudasim_first_wait(void) { return first_wait; }
bool cudasim_failed(void) { return has_failed; }
const char *cudasim_failed_call(void) { return failed_name; }

int64_t cudasim_live(void)
{
    std::lock_guard<std::recursive_mutex> guard(lock);
    finish_all();
    return live + blocks_held();
}

int64_t cudasim_live_bytes(void)
{
    std::lock_guard<std::recursive_mutex> guard(lock);
    finish_all();
    return (int64_t)bytes_held();
}

/* -- the device ------------------------------------------------------------------------------------------ */

cudaError_t cudaGetDeviceCount(int *count)
{
    entry e("cudaGetDeviceCount");
    if (e.refused) return fail(e.error);
    *count = gpus;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    entry e("cudaSetDevice");
    if (e.refused) return fail(e.error);
    if (device < 0 || device >= gpus) return fail(cudaErrorInvalidDevice);
    current = context_of(chosen = device);
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    entry e("cudaGetDevice");
    if (e.refused) return fail(e.error);
    *device = current ? gpu_now() : chosen;
    return cudaSuccess;
}

/* The driver's errors are not the runtime's last ones. */
static int current_context(CUctx_st **context)
{
    entry e("cuCtxGetCurrent");
    if (!e.refused) *context = current;
    return e.error;
}

static int make_current(CUctx_st *context)
{
    entry e("cuCtxSetCurrent");
    if (!e.refused) current = context;
    return e.error;
}

static int device_of(int *device, int ordinal)
{
    entry e("cuDeviceGet");
    if (!e.refused) *device = ordinal;
    return e.error ? e.error : ordinal < gpus ? cudaSuccess : cudaErrorInvalidDevice;
}

static int retain_primary(CUctx_st **context, int device)
{
    entry e("cuDevicePrimaryCtxRetain");
    if (e.refused) return e.error;
    *context = context_of(device);
    return cudaSuccess;
}

static int context_of_stream(cudaStream_t stream, CUctx_st **context)
{
    entry e("cuStreamGetCtx");
    if (e.refused) return e.error;
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    *context = context_of(gpu_of(stream));
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int,
                                             unsigned long long, enum cudaDriverEntryPointQueryResult *found)
{
    entry e("cudaGetDriverEntryPointByVersion");
    if (e.refused) return fail(e.error);
    *funcPtr = !strcmp(symbol, "cuCtxGetCurrent")            ? (void *)current_context
               : !strcmp(symbol, "cuCtxSetCurrent")          ? (void *)make_current
               : !strcmp(symbol, "cuStreamGetCtx")           ? (void *)context_of_stream
               : !strcmp(symbol, "cuDeviceGet")              ? (void *)device_of
               : !strcmp(symbol, "cuDevicePrimaryCtxRetain") ? (void *)retain_primary
                                                             : nullptr;
    if (found) *found = *funcPtr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    entry e("cudaGetDeviceProperties");
    if (e.refused) return fail(e.error);
    if (device < 0 || device >= gpus) return fail(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof *prop);
    strcpy(prop->name, "simulated GPU");
    prop->totalGlobalMem = device_bytes;
    prop->sharedMemPerBlock = 48 * 1024;
    prop->warpSize = 32;
    prop->maxThreadsPerBlock = 1024;
    prop->major = 9;
    prop->multiProcessorCount = 2;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    entry e("cudaDeviceGetAttribute");
    if (e.refused) return fail(e.error);
    if (device < 0 || device >= gpus) return fail(cudaErrorInvalidDevice);
    switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 * 1024; break;
    case cudaDevAttrMultiProcessorCount: *value = 2; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    default: return fail(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    entry e("cudaDeviceSynchronize", WAITS | UNSAFE);
    if (e.refused) return fail(e.error);
    finish_all();
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = ended ? cudaErrorCudartUnloading : broken ? cudaErrorIllegalAddress : last_error;
    last_error = cudaSuccess;
    return e;
}

#define ERRORS(E)                                                                                   \
    E(cudaSuccess, "no error")                                                                      \
    E(cudaErrorInvalidValue, "invalid argument")                                                    \
    E(cudaErrorMemoryAllocation, "out of memory")                                                   \
    E(cudaErrorCudartUnloading, "driver shutting down")                                             \
    E(cudaErrorInvalidConfiguration, "invalid configuration argument")                              \
    E(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                         \
    E(cudaErrorNoDevice, "no CUDA-capable device is detected")                                      \
    E(cudaErrorInvalidDevice, "invalid device ordinal")                                             \
    E(cudaErrorInvalidResourceHandle, "invalid resource handle")                                    \
    E(cudaErrorNotReady, "device not ready")                                                        \
    E(cudaErrorIllegalAddress, "an illegal memory access was encountered")                          \
    E(cudaErrorLaunchFailure, "unspecified launch failure")                                         \
    E(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")        \
    E(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture") \
    E(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began")      \
    E(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")                         \
    E(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream")   \
    E(cudaErrorUnknown, "unknown error")

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define NAME(code, text) \
    case code: return #code;
        ERRORS(NAME)
#undef NAME
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define TEXT(code, text) \
    case code: return text;
        ERRORS(TEXT)
#undef TEXT
    }
    return "unrecognized error code";
}
