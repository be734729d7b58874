/* Exchanging memory with another library on the same GPU, which has its own stream: the host does not wait.
 */
#include "check_sim.h"

#include <vector>

extern "C" {
#include <cotangent/io.h>
#include <cotangent/ops.h>
}
#include "tensor/io/dlpack.h"

enum { N = 300 };

/* What the other library has. */
struct other {
    cudaStream_t stream;
    double *data, *host; /* the device's, pinned */
    int deleted;
};

static void deleter(ct__dl_managed *m) { ((other *)m->context)->deleted++; }

static void fill(double *x, double first)
{
    for (int i = 0; i < N; i++) x[i] = first + i;
}

static other open_other(void)
{
    other o = {};
    assert_cuda(cudaStreamCreateWithFlags(&o.stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc((void **)&o.data, N * sizeof(double)));
    assert_cuda(cudaMallocHost((void **)&o.host, N * sizeof(double)));
    return o;
}

static void close_other(other *o)
{
    assert_cuda(cudaStreamSynchronize(o->stream));
    assert_cuda(cudaFree(o->data));
    assert_cuda(cudaFreeHost(o->host));
    assert_cuda(cudaStreamDestroy(o->stream));
}

static void taken(void **)
{
    ct_device *d = ct_device_open("cuda:0");
    other o = open_other();
    int64_t shape[2] = { N / 3, 3 };
    ct__dl_managed m = {};
    m.tensor.data = o.data;
    m.tensor.device_type = CT__DL_CUDA;
    m.tensor.ndim = 2;
    m.tensor.code = CT__DL_FLOAT;
    m.tensor.bits = 64;
    m.tensor.lanes = 1;
    m.tensor.shape = shape;
    m.context = &o;
    m.deleter = deleter;
    fill(o.host, 1);
    cudasim_watch();
    assert_cuda(cudaMemcpyAsync(o.data, o.host, N * sizeof(double), cudaMemcpyHostToDevice, o.stream));
    assert_ok(ct_device_wait_stream(d, o.stream), ct_message(d));
    ct_tensor *t = ct_from_dlpack(d, (DLManagedTensor *)&m);
    assert_non_null(t);
    ct_tape *tape = ct_tape_new(d);
    ct_var sum = ct_sum(ct_leaf(tape, t), CT_ALL, false);
    assert_int_equal(cudasim_waits(), 0);
    assert_close(ct_item(sum), N * (N + 1) / 2., 1e-14, 0);
    ct_tape_free(tape);
    ct_release(t);
    assert_int_equal(o.deleted, 1);
    m.tensor.device_id = 1;
    assert_null(ct_from_dlpack(d, (DLManagedTensor *)&m));
    close_other(&o);
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

static void handed(void **)
{
    ct_device *d = ct_device_open("cuda:0");
    other o = open_other();
    double x[N];
    fill(x, 5);
    ct_tensor *t = ct_from(d, CT_F64, ct_shape1(N), x);
    assert_non_null(t);
    cudasim_watch();
    ct__dl_managed *m = (ct__dl_managed *)ct_to_dlpack(t);
    assert_non_null(m);
    assert_int_equal(m->tensor.device_type, CT__DL_CUDA);
    assert_ok(ct_stream_wait_device(o.stream, d), ct_message(d));
    assert_cuda(cudaMemcpyAsync(o.data, m->tensor.data, sizeof x, cudaMemcpyDeviceToDevice, o.stream));
    assert_cuda(cudaMemcpyAsync(o.host, o.data, sizeof x, cudaMemcpyDeviceToHost, o.stream));
    /* and back: later work on this memory comes after */
    assert_ok(ct_device_wait_stream(d, o.stream), ct_message(d));
    m->deleter(m);
    ct_release(t);
    ct_tensor *next = ct_full(d, CT_F64, ct_shape1(N), -1);
    assert_int_equal(cudasim_waits(), 0);
    assert_cuda(cudaStreamSynchronize((cudaStream_t)ct_device_stream(d)));
    assert_memory_equal(o.host, x, sizeof x);
    ct_release(next);
    close_other(&o);
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

/* The host may run many steps ahead: uploads of batches and parameters wait for none of them. */
static void uploads_without_waiting(void **)
{
    ct_device *d = ct_device_open("cuda:0");
    /* One kernel's arguments, or several's. */
    for (int64_t n : { 1, 256, 8192 }) {
        std::vector<double> x((size_t)n);
        ct_tensor *t = ct_zeros(d, CT_F64, ct_shape1(n)), *sum = ct_zeros(d, CT_F64, ct_shape1(n));
        ct_tape *tape = ct_tape_new(d);
        const int times = 100;
        cudasim_watch();
        for (int i = 1; i <= times; i++) {
            for (double &e : x) e = i;
            assert_ok(ct_write(t, &x[0], x.size() * sizeof x[0]), ct_message(d));
            assert_ok(ct_copy(ct_value(ct_add(ct_constant(tape, t), ct_constant(tape, sum))), sum),
                      ct_message(d));
            ct_tape_reset(tape);
        }
        assert_int_equal(cudasim_waits(), 0);
        assert_ok(ct_read(sum, &x[0], x.size() * sizeof x[0]), ct_message(d));
        for (double e : x) assert_true(e == times * (times + 1) / 2);
        ct_tape_free(tape);
        ct_release(t), ct_release(sum);
    }
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

static size_t free_bytes(void)
{
    size_t free = 0, total = 0;
    assert_cuda(cudaMemGetInfo(&free, &total));
    return free;
}

/* Released memory stays with the device for its next tensor, until a trim. */
static void trimmed_memory_is_for_others(void **)
{
    ct_device *d = ct_device_open("cuda:0");
    const size_t before = free_bytes();
    ct_release(ct_zeros(d, CT_F64, ct_shape1(1 << 20)));
    assert_true(free_bytes() <= before - (8 << 20));
    ct_memory_trim(d);
    assert_int_equal(ct_memory(d).bytes_pooled, 0);
    assert_int_equal(free_bytes(), before);
    for (int64_t k = 1, failed = 1; failed; k++) {
        ct_release(ct_zeros(d, CT_F64, ct_shape1(1 << 20)));
        cudasim_fail_at(k, false);
        ct_memory_trim(d);
        failed = cudasim_failed();
        cudasim_fail_at(0, false);
        ct_tensor *t = ct_full(d, CT_F64, ct_shape1(2), 1);
        double x[2] = { 0 };
        assert_ok(ct_read(t, x, sizeof x), ct_message(d));
        assert_true(x[0] == 1 && x[1] == 1);
        ct_release(t);
    }
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

static void nothing_to_wait_for(void **)
{
    ct_device *cpu = ct_device_open("cpu");
    assert_null(ct_device_stream(cpu));
    assert_ok(ct_device_wait_stream(cpu, NULL), "");
    assert_ok(ct_stream_wait_device(NULL, cpu), "");
    ct_device_close(cpu);
    assert_int_equal(ct_device_wait_stream(NULL, NULL), CT_EINVAL);
    ct_device *d = ct_device_open("cuda:0");
    for (int64_t k = 1, failed = 1; failed; k++) {
        cudasim_fail_at(k, false);
        ct_status s = ct_device_wait_stream(d, NULL);
        failed = cudasim_failed();
        const bool choice = !strcmp(cudasim_failed_call(), "cuCtxGetCurrent") ||
                            !strcmp(cudasim_failed_call(), "cuCtxSetCurrent");
        cudasim_fail_at(0, false);
        assert_true(!failed || s || choice); /* of the GPU */
    }
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(taken), cmocka_unit_test(handed),
                                        cmocka_unit_test(uploads_without_waiting),
                                        cmocka_unit_test(trimmed_memory_is_for_others),
                                        cmocka_unit_test(nothing_to_wait_for) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
