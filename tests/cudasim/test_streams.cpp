/* Streams run late and in order, events order them, copies behave as the kind of memory demands, graphs
 * replay. */
#include "check_sim.h"

#include <thread>

static cudaStream_t s, t;

static int setup(void **)
{
    cudasim_seed(0);
    return cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) ||
           cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
}

static int teardown(void **) { return cudaStreamDestroy(s) || cudaStreamDestroy(t) || cudasim_live(); }

static __global__ void add(int *p, int x) { *p = *p + x; }
static __global__ void twice(int *p) { *p = *p * 2; }
static __global__ void copy(const int *from, int *to) { *to = *from; }

static int read_int(const int *p, cudaStream_t stream)
{
    int x = -1;
    assert_cuda(cudaMemcpyAsync(&x, p, sizeof x, cudaMemcpyDeviceToHost, stream));
    return x;
}

static void late(void **)
{
    int *p, *pinned;
    assert_cuda(cudaMalloc((void **)&p, sizeof *p));
    assert_cuda(cudaMallocHost((void **)&pinned, sizeof *pinned));
    *pinned = 1;
    cudasim_watch();
    assert_cuda(cudaMemcpyAsync(p, pinned, sizeof *p, cudaMemcpyHostToDevice, s));
    CT__LAUNCH(add, 1, 1, s, p, 4);
    CT__LAUNCH(twice, 1, 1, s, p);
    *pinned = 7; /* the copy has not been made yet */
    assert_cuda(cudaMemcpyAsync(pinned, p, sizeof *p, cudaMemcpyDeviceToHost, s));
    assert_int_equal(*pinned, 7);
    assert_int_equal(cudasim_waits(), 0);
    assert_int_equal(cudasim_calls(), 4);
    assert_cuda(cudaStreamSynchronize(s));
    assert_int_equal(*pinned, 22);
    assert_int_equal(cudasim_waits(), 1);
    assert_string_equal(cudasim_first_wait(), "cudaStreamSynchronize");
    assert_cuda(cudaFree(p));
    assert_cuda(cudaFreeHost(pinned));
}

static void pageable_waits(void **)
{
    int *p, x = 3;
    assert_cuda(cudaMalloc((void **)&p, sizeof *p));
    cudasim_watch();
    assert_cuda(cudaMemcpyAsync(p, &x, sizeof x, cudaMemcpyHostToDevice, s));
    x = 5;
    assert_int_equal(read_int(p, s), 3);
    assert_int_equal(cudasim_waits(), 2);
    assert_cuda(cudaFree(p));
}

/* Without the event, the second stream reads NaN's bits; with it, what the first has written. */
static void events(void **)
{
    int *p, *q;
    cudaEvent_t e;
    assert_cuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    assert_cuda(cudaMalloc((void **)&p, sizeof *p));
    assert_cuda(cudaMalloc((void **)&q, sizeof *q));
    assert_cuda(cudaEventSynchronize(e)); /* never recorded: nothing to wait for */
    assert_cuda(cudaMemsetAsync(p, 0, sizeof *p, s));
    CT__LAUNCH(add, 1, 1, s, p, 9);
    CT__LAUNCH(copy, 1, 1, t, p, q);
    assert_int_equal(read_int(q, t), -1);
    assert_cuda(cudaEventRecord(e, s));
    assert_int_equal(cudaEventQuery(e), cudaErrorNotReady);
    assert_int_equal(cudaGetLastError(), cudaErrorNotReady); /* kept, as any other */
    assert_cuda(cudaStreamWaitEvent(t, e, 0));
    CT__LAUNCH(copy, 1, 1, t, p, q);
    assert_int_equal(read_int(q, t), 9);
    assert_cuda(cudaEventQuery(e));
    assert_cuda(cudaEventDestroy(e));
    assert_cuda(cudaFree(p));
    assert_cuda(cudaFree(q));
}

static void paces(void **)
{
    int *pinned, early[3] = { 0 };
    assert_cuda(cudaMallocHost((void **)&pinned, sizeof *pinned));
    int *p;
    assert_cuda(cudaMalloc((void **)&p, sizeof *p));
    for (uint64_t seed = 0; seed < 3; seed++)
        for (int i = 0; i < 200; i++) {
            cudasim_seed(seed ? 2 * (uint64_t)i + seed : 0);
            *pinned = 1;
            assert_cuda(cudaMemcpyAsync(p, pinned, sizeof *p, cudaMemcpyHostToDevice, s));
            assert_cuda(cudaMemsetAsync(p, 0, sizeof *p, s));
            assert_cuda(cudaMemcpyAsync(pinned, p, sizeof *p, cudaMemcpyDeviceToHost, s));
            int device;
            assert_cuda(cudaGetDevice(&device));
            early[seed] += *pinned == 0;
            assert_cuda(cudaStreamSynchronize(s));
            assert_int_equal(*pinned, 0);
        }
    cudasim_seed(0);
    assert_int_equal(early[0], 0);
    assert_in_range(early[1], 1, 199);
    assert_int_equal(early[2], 200);
    assert_cuda(cudaFree(p));
    assert_cuda(cudaFreeHost(pinned));
}

/* p <- (p + 1) 2, three times, with memory of the graph's own in between and a fork to a second stream. */
static void graph(void **)
{
    int *p, *q;
    cudaGraph_t g;
    cudaGraphExec_t run;
    cudaEvent_t e, f;
    assert_cuda(cudaMalloc((void **)&p, sizeof *p));
    assert_cuda(cudaEventCreateWithFlags(&e, 0));
    assert_cuda(cudaEventCreateWithFlags(&f, 0));
    assert_cuda(cudaMemsetAsync(p, 0, sizeof *p, s));
    assert_cuda(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CT__LAUNCH(add, 1, 1, s, p, 1);
    assert_cuda(cudaMallocAsync((void **)&q, sizeof *q, s));
    CT__LAUNCH(copy, 1, 1, s, (const int *)p, q);
    assert_cuda(cudaEventRecord(e, s));
    assert_cuda(cudaStreamWaitEvent(t, e, 0));
    CT__LAUNCH(twice, 1, 1, t, q);
    assert_cuda(cudaEventRecord(f, t));
    assert_cuda(cudaStreamWaitEvent(s, f, 0));
    CT__LAUNCH(copy, 1, 1, s, (const int *)q, p);
    assert_cuda(cudaFreeAsync(q, s));
    enum cudaStreamCaptureStatus status;
    assert_cuda(cudaStreamIsCapturing(s, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    assert_cuda(cudaStreamEndCapture(s, &g));
    assert_cuda(cudaStreamIsCapturing(s, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    assert_int_equal(read_int(p, s), 0); /* nothing has been done */
    assert_cuda(cudaGraphInstantiate(&run, g, 0));
    assert_cuda(cudaGraphDestroy(g));
    for (int i = 0; i < 3; i++) assert_cuda(cudaGraphLaunch(run, s));
    assert_int_equal(read_int(p, s), 14);
    assert_cuda(cudaGraphExecDestroy(run));
    assert_cuda(cudaEventDestroy(e));
    assert_cuda(cudaEventDestroy(f));
    assert_cuda(cudaFree(p));
}

static void not_capturable(void **)
{
    int *p, x = 0;
    void *q;
    cudaGraph_t g;
    assert_cuda(cudaMalloc((void **)&p, sizeof *p));
    for (int i = 0; i < 5; i++) {
        assert_cuda(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        CT__LAUNCH(twice, 1, 1, s, p);
        cudaError_t error = i == 0   ? cudaStreamSynchronize(s)
                            : i == 1 ? cudaMalloc(&q, 8)
                            : i == 2 ? cudaDeviceSynchronize()
                            : i == 3 ? cudaMemcpyAsync(p, &x, sizeof x, cudaMemcpyHostToDevice, s)
                                     : cudaMemcpy(p, &x, sizeof x, cudaMemcpyHostToDevice);
        assert_int_equal(error, cudaErrorStreamCaptureUnsupported);
        assert_int_equal(cudaMemsetAsync(p, 0, 4, s), cudaErrorStreamCaptureInvalidated);
        CT__LAUNCH(twice, 1, 1, s, p);
        assert_int_equal(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
        assert_int_equal(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
        assert_null(g);
    }
    cudaEvent_t e;
    assert_cuda(cudaEventCreateWithFlags(&e, 0));
    assert_cuda(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    assert_cuda(cudaEventRecord(e, s));
    assert_cuda(cudaStreamWaitEvent(t, e, 0));
    CT__LAUNCH(twice, 1, 1, t, p);
    assert_int_equal(cudaStreamEndCapture(t, &g), cudaErrorStreamCaptureUnmatched);
    assert_int_equal(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureUnjoined);
    assert_int_equal(cudaStreamEndCapture(s, &g), cudaErrorInvalidValue);
    assert_int_equal(cudaGraphInstantiate(NULL, NULL, 0), cudaErrorInvalidValue);
    cudaGetLastError();
    assert_cuda(cudaEventDestroy(e));
    assert_cuda(cudaFree(p));
}

/* The first launch of a kernel loads it, which cannot be captured. */
static void loading(void **)
{
    int *p;
    cudaGraph_t g;
    assert_cuda(cudaMalloc((void **)&p, sizeof *p));
    cudasim_forget_kernels();
    for (int loaded = 0; loaded < 2; loaded++) {
        assert_cuda(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        CT__LAUNCH(twice, 1, 1, s, p);
        assert_int_equal(cudaGetLastError(), loaded ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
        assert_int_equal(cudaStreamEndCapture(s, &g),
                         loaded ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
        cudaGetLastError();
        CT__LAUNCH(twice, 1, 1, s, p);
    }
    assert_cuda(cudaGraphDestroy(g));
    assert_cuda(cudaStreamSynchronize(s));
    assert_cuda(cudaFree(p));
}

/* A thread that captures gets memory from another stream only in the relaxed mode. */
static void memory_beside_a_capture(void **)
{
    void *p = NULL;
    cudaGraph_t g;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    assert_cuda(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    assert_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, cudaStreamCaptureModeGlobal);
    assert_cuda(cudaMallocAsync(&p, 8, t));
    assert_cuda(cudaFreeAsync(p, t));
    assert_cuda(cudaThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(cudaMallocAsync(&p, 8, t), cudaErrorStreamCaptureUnsupported);
    assert_int_equal(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
    assert_cuda(cudaStreamSynchronize(t));
}

/* Every call fails in turn; everything that was created is released. */
static int some_work(void)
{
    int *p = NULL, bad = 0;
    void *q = NULL;
    cudaStream_t own = NULL;
    bad += cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) != cudaSuccess;
    bad += cudaMalloc((void **)&p, sizeof *p) != cudaSuccess;
    if (own) bad += cudaMallocAsync(&q, 8, own) != cudaSuccess;
    if (own && p) {
        bad += cudaMemsetAsync(p, 0, sizeof *p, own) != cudaSuccess;
        cudaGetLastError();
        CT__LAUNCH(add, 1, 1, own, p, 1);
        bad += cudaGetLastError() != cudaSuccess;
    }
    if (q) bad += cudaFreeAsync(q, own) != cudaSuccess;
    if (p) bad += cudaFree(p) != cudaSuccess;
    if (own) bad += cudaStreamDestroy(own) != cudaSuccess;
    return bad;
}

static void failing(void **)
{
    int64_t before = cudasim_live();
    for (int broken = 0; broken < 2; broken++) {
        int64_t k = 1;
        for (;; k++) {
            cudasim_fail_at(k, broken);
            int bad = some_work();
            if (!cudasim_failed()) break;
            assert_true(broken ? bad >= 1 : bad == 1);
            assert_true(cudasim_failed_call()[0]);
            cudasim_fail_at(0, false);
            assert_int_equal(cudasim_live(), before);
        }
        assert_int_equal(k, 9);
    }
    cudasim_fail_at(0, false);
    assert_int_equal(some_work(), 0);
}

static int some_gpu(void)
{
    int gpu = -1;
    assert_cuda(cudaGetDevice(&gpu));
    return gpu;
}

/* Each thread has a current GPU. Streams, events and memory belong to one, s to GPU 0. */
static void two_gpus(void **)
{
    cudasim_gpus(2);
    assert_int_equal(some_gpu(), 0);
    assert_false(cudasim_has_context(0)); /* a question makes none */
    int *p, *q;
    cudaEvent_t e;
    assert_cuda(cudaSetDevice(1));
    std::thread([] { assert_int_equal(some_gpu(), 0); }).join();
    assert_true(cudasim_has_context(1) && !cudasim_has_context(0));
    assert_cuda(cudaMalloc((void **)&p, sizeof *p));
    assert_cuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    assert_int_equal(CT__LAUNCH_BLOCK(twice, 1, 1, s, p), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaEventRecord(e, s), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    assert_cuda(cudaEventRecord(e, NULL)); /* of GPU 1's default stream, for which others may wait */
    assert_cuda(cudaStreamWaitEvent(s, e, 0));
    assert_cuda(cudaSetDevice(0));
    assert_cuda(cudaMalloc((void **)&q, sizeof *q));
    EXPECT("argument 1 of kernel twice is memory of GPU 1, on GPU 0", CT__LAUNCH(twice, 1, 1, s, p));
    EXPECT("memory of GPU 1, on GPU 0",
           (cudaMemsetAsync(p, 0, sizeof *p, s), assert_cuda(cudaStreamSynchronize(s))));
    assert_cuda(cudaMemsetAsync(q, 0, sizeof *q, s));
    assert_cuda(cudaMemcpyAsync(p, q, sizeof *p, cudaMemcpyDeviceToDevice, s)); /* may cross */
    assert_int_equal(read_int(p, s), 0);
    cublasHandle_t blas;
    double *x, one = 1;
    assert_cuda(cudaMalloc((void **)&x, sizeof *x));
    assert_int_equal(cublasCreate(&blas), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetStream(blas, s), CUBLAS_STATUS_SUCCESS);
    assert_cuda(cudaSetDevice(1));
    assert_int_equal(cublasDtrsm_64(blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                    CUBLAS_DIAG_UNIT, 1, 1, &one, x, 1, x, 1),
                     CUBLAS_STATUS_INTERNAL_ERROR);
    assert_int_equal(cudaSetDevice(2), cudaErrorInvalidDevice);
    assert_int_equal(some_gpu(), 1);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
    assert_int_equal(cublasDestroy(blas), CUBLAS_STATUS_SUCCESS);
    assert_cuda(cudaEventDestroy(e));
    for (void *block : { (void *)p, (void *)q, (void *)x }) assert_cuda(cudaFree(block));
    cudasim_gpus(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late),
        cmocka_unit_test(pageable_waits),
        cmocka_unit_test(events),
        cmocka_unit_test(two_gpus),
        cmocka_unit_test(paces),
        cmocka_unit_test(graph),
        cmocka_unit_test(not_capturable),
        cmocka_unit_test(loading),
        cmocka_unit_test(memory_beside_a_capture),
        cmocka_unit_test(failing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
