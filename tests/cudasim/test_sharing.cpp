/* A program that uses CUDA itself beside the library: its errors, its current GPU, its streams, and its end.
 */
#include "check_sim.h"

#include <thread>

extern "C" {
#include <cotangent/io.h>
#include <cotangent/ops.h>
#include <cotangent/step.h>
}

/* -- what a program does --------------------------------------------------------------------------------- */

enum { N = 40 };

struct model {
    ct_tensor *A;
    ct_var loss;
};

static ct_status train(ct_tape *tape, void *context)
{
    model *m = (model *)context;
    ct_var A = ct_leaf(tape, m->A), L = ct_cholesky(ct_matmul(A, ct_t(A)));
    ct_var rows = ct_slice(A, 0, 0, 2, 1);
    m->loss = ct_add(ct_cholesky_logdet(L), ct_sum(rows, CT_ALL, false));
    return ct_backward(m->loss);
}

/* `same` is called after each call of the library. */
static void work(const char *name, void (*same)(void))
{
    double x[N * N];
    for (int i = 0; i < N * N; i++) x[i] = (i % (N + 1) == 0 ? 2 : 0) + i * 37 % 101 / 1e3;
    ct_device *d = ct_device_open(name);
    assert_ok(ct_device_status(d), ct_message(d));
    same();
    ct_tensor *large = ct_zeros(d, CT_F64, ct_shape1(10000));
    same();
    double zeros[10000] = { 0 };
    assert_ok(ct_write(large, zeros, sizeof zeros), ct_message(d));
    same();
    model m = { ct_from(d, CT_F64, ct_shape2(N, N), x), {} };
    same();
    double loss = NAN;
    ct_step *step = NULL;
    for (int i = 0; i < 4; i++) {
        if (!step)
            assert_non_null(step = ct_step_capture(d, train, &m));
        else
            assert_ok(ct_step_replay(step), ct_message(d));
        same();
        const double now = ct_item(m.loss);
        same();
        assert_true(isfinite(now) && (i == 0 || now == loss));
        loss = now;
    }
    ct_step_free(step);
    same();
    assert_ok(ct_stream_wait_device(ct_device_stream(d), d), ct_message(d));
    same();
    ct_release(large);
    ct_memory_trim(d);
    same();
    ct_release(m.A);
    ct_device_close(d);
    same();
}

/* -- errors ---------------------------------------------------------------------------------------------- */

static cudaError_t pending;
static cudaEvent_t event;
static cudaStream_t stream;

/* Leaves the error behind, as a program's own calls do. */
static void leave(void)
{
    void *p;
    if (pending == cudaErrorMemoryAllocation)
        assert_int_equal(cudaMalloc(&p, (size_t)1 << 50), pending);
    else
        do assert_cuda(cudaEventRecord(event, stream));
        while (cudaEventQuery(event) != pending);
}

static void still_there(void)
{
    assert_int_equal(cudaGetLastError(), pending);
    leave();
}

static void errors_of_others(void **)
{
    cudasim_seed(0); /* streams run late: an event is not ready */
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (cudaError_t error : { cudaErrorMemoryAllocation, cudaErrorNotReady }) {
        pending = error;
        leave();
        work("cuda:0", still_there);
        assert_int_equal(cudaGetLastError(), pending);
    }
    assert_cuda(cudaEventDestroy(event));
    assert_cuda(cudaStreamDestroy(stream));
    assert_int_equal(cudasim_live(), 0);
}

/* A call of ours that fails is reported by us, and not once more to the program. */
static void errors_of_ours(void **)
{
    for (int64_t k = 1, failed = 1; failed; k++) {
        cudasim_fail_at(k, false);
        ct_device *d = ct_device_open("cuda:0");
        ct_tensor *A = ct_full(d, CT_F64, ct_shape2(N, N), 1), *B = ct_tensor_cast(A, CT_F32);
        ct_tape *tape = ct_tape_new(d);
        ct_item(ct_sum(ct_matmul(ct_leaf(tape, A), ct_leaf(tape, A)), CT_ALL, false));
        ct_tape_free(tape);
        ct_release(A), ct_release(B);
        ct_memory_trim(d);
        ct_device_close(d);
        failed = cudasim_failed();
        const cudaError_t left = cudaGetLastError();
        if (left) print_error("%s leaves an error\n", cudasim_failed_call());
        assert_cuda(left);
        cudasim_fail_at(0, false);
        assert_int_equal(cudasim_live(), 0);
    }
}

/* -- the current GPU ------------------------------------------------------------------------------------- */

static struct CUctx_st *context_now(void)
{
    int (*current)(struct CUctx_st **) = NULL;
    struct CUctx_st *context = NULL;
    assert_cuda(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", (void **)&current, 12000, 0));
    assert_int_equal(current(&context), 0);
    return context;
}

static thread_local struct CUctx_st *context;
static void same_context(void) { assert_ptr_equal(context_now(), context); }

static void on(const char *name, int gpu)
{
    if (gpu >= 0) assert_cuda(cudaSetDevice(gpu));
    context = context_now();
    work(name, same_context);
}

/* With GPU 0 or 1 current, or with none, which must not become one. */
static void current_gpu(void **)
{
    for (const char *name : { "cuda:0", "cuda:1" })
        for (int gpu = -1; gpu < 2; gpu++) {
            cudasim_gpus(2);
            on(name, gpu);
            int now = -1;
            assert_cuda(cudaGetDevice(&now));
            assert_int_equal(now, gpu > 0);
            for (int k = 0; k < 2; k++)
                assert_int_equal(cudasim_has_context(k), k == gpu || k == name[5] - '0');
        }
    cudasim_gpus(2);
    std::thread threads[] = { std::thread(on, "cuda:0", -1), std::thread(on, "cuda:0", 1),
                              std::thread(on, "cuda:1", -1), std::thread(on, "cuda:1", 0) };
    for (std::thread &t : threads) t.join();
    cudasim_gpus(1);
    assert_int_equal(cudasim_live(), 0);
}

/* -- streams of another GPU ------------------------------------------------------------------------------ */

static void streams_of_another(void **)
{
    cudasim_gpus(2);
    double *pinned;
    ct_device *d = ct_device_open("cuda:0");
    assert_cuda(cudaSetDevice(1));
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaMallocHost((void **)&pinned, 2 * sizeof *pinned));
    ct_tensor *t = ct_full(d, CT_F64, ct_shape1(1), 3);
    void *data = ct_tensor_data(t);
    pinned[0] = 4, pinned[1] = 0;
    assert_ok(ct_stream_wait_device(stream, d), ct_message(d));
    assert_cuda(cudaMemcpyAsync(pinned + 1, data, sizeof *pinned, cudaMemcpyDeviceToHost, stream));
    assert_cuda(cudaMemcpyAsync(data, pinned, sizeof *pinned, cudaMemcpyHostToDevice, stream));
    assert_ok(ct_device_wait_stream(d, stream), ct_message(d));
    double x = 0;
    assert_ok(ct_read(t, &x, sizeof x), ct_message(d));
    assert_true(x == 4 && pinned[1] == 3);
    int gpu = -1;
    assert_cuda(cudaGetDevice(&gpu));
    assert_int_equal(gpu, 1);
    ct_release(t);
    ct_device_close(d);
    assert_cuda(cudaFreeHost(pinned));
    assert_cuda(cudaStreamDestroy(stream));
    cudasim_gpus(1);
    assert_int_equal(cudasim_live(), 0);
}

/* -- the end --------------------------------------------------------------------------------------------- */

static int64_t held;

static void *counting_alloc(void *, size_t bytes, size_t alignment)
{
    held++;
    return aligned_alloc(alignment, bytes);
}

static void counting_release(void *, void *p, size_t)
{
    held -= p != NULL;
    free(p);
}

/* A device, its tensors and a step are given back when the runtime has gone: the host's memory
 * is free. */
static void after_the_runtime(void **)
{
    const pid_t child = fork();
    if (!child) {
        const ct_allocator counting = { counting_alloc, counting_release, NULL };
        ct_device_options options = {};
        options.allocator = &counting;
        ct_device *d = ct_device_open_with("cuda:0", &options);
        model m = { ct_full(d, CT_F64, ct_shape2(2, 2), 3), {} };
        ct_step *step = ct_step_capture(d, train, &m);
        if (!step || ct_step_replay(step)) _exit(2);
        cudasim_end_runtime();
        ct_step_free(step);
        ct_release(m.A);
        ct_device_close(d);
        _exit(held ? 3 : 0);
    }
    int how = -1;
    waitpid(child, &how, 0);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(errors_of_others), cmocka_unit_test(errors_of_ours),
                                        cmocka_unit_test(current_gpu), cmocka_unit_test(streams_of_another),
                                        cmocka_unit_test(after_the_runtime) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
