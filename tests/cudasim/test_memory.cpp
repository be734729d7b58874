/* The simulated device's memory: its contents when new and when freed, and the report of each misuse. */
#include "check_sim.h"

static void new_is_nan(void **)
{
    double *p, x[4];
    assert_cuda(cudaMalloc((void **)&p, sizeof x));
    assert_cuda(cudaMemcpy(x, p, sizeof x, cudaMemcpyDeviceToHost));
    for (double v : x) assert_true(isnan(v));
    assert_int_equal((uintptr_t)p % 256, 0);
    assert_cuda(cudaFree(p));
}

static void copies(void **)
{
    double *p, x[3] = { 1, 2, 3 }, y[3] = { 0 };
    assert_cuda(cudaMalloc((void **)&p, sizeof x));
    assert_cuda(cudaMemcpy(p, x, sizeof x, cudaMemcpyHostToDevice));
    assert_cuda(cudaMemcpy(y, p, sizeof y, cudaMemcpyDeviceToHost));
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(cudaMemcpy(p, x, sizeof x, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    assert_int_equal(cudaMemcpy(p, x, sizeof x, cudaMemcpyDeviceToDevice), cudaErrorInvalidMemcpyDirection);
    cudaGetLastError();
    assert_cuda(cudaFree(p));
}

static void too_far(void **)
{
    char *p, x[200] = { 0 };
    assert_cuda(cudaMalloc((void **)&p, 100));
    EXPECT("block", cudaMemcpy(p, x, 101, cudaMemcpyHostToDevice));
    EXPECT("block", cudaMemcpy(p + 50, x, 51, cudaMemcpyHostToDevice));
    EXPECT("no block", cudaMemcpy(p + 128, x, 1, cudaMemcpyHostToDevice));
    EXPECT("no block", cudaMemcpy(p - 1, x, 1, cudaMemcpyHostToDevice));
    assert_cuda(cudaFree(p));
    EXPECT("freed", cudaMemcpy(p, x, 1, cudaMemcpyHostToDevice));
    EXPECT("freed before", cudaFree(p));
}

[[maybe_unused]] static __global__ void write_at(char *p, int64_t i)
{
    if (threadIdx.x == 0) *(volatile char *)(p + i) = 0;
}

/* Not under the address sanitizer, which stops at the write itself. */
static void fences(void **)
{
#ifndef WITH_ASAN
    char *p;
    assert_cuda(cudaMalloc((void **)&p, 100));
    cudaStream_t s;
    assert_cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CT__LAUNCH(write_at, 1, 32, s, p, (int64_t)100);
    EXPECT("past the end", cudaStreamSynchronize(s));
    cudasim_expect_report();
    cudaFree(p);
    cudasim_take_report();
    assert_cuda(cudaMalloc((void **)&p, 100));
    CT__LAUNCH(write_at, 1, 32, s, p, (int64_t)-1);
    EXPECT("before block", cudaStreamSynchronize(s));
    cudasim_expect_report();
    cudaFree(p);
    cudasim_take_report();
    assert_cuda(cudaStreamDestroy(s));
#endif
}

static void full(void **)
{
    void *p = NULL, *q = NULL;
    size_t free_bytes, total;
    assert_cuda(cudaMemGetInfo(&free_bytes, &total));
    assert_int_equal(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
    assert_null(p);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_cuda(cudaMalloc(&q, 1000));
    size_t less;
    assert_cuda(cudaMemGetInfo(&less, &total));
    assert_int_equal(free_bytes - less, 1000);
    assert_cuda(cudaFree(q));
}

/* Allocated, used and freed in a stream's order; use that is too early or too late is reported. */
static void in_order(void **)
{
    cudaStream_t s, other;
    assert_cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    assert_cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    void *p, *q;
    assert_cuda(cudaMallocAsync(&p, 64, s));
    assert_cuda(cudaMemsetAsync(p, 1, 64, s));
    assert_cuda(cudaFreeAsync(p, s));
    EXPECT("", cudaStreamSynchronize(s));
    assert_cuda(cudaMallocAsync(&p, 64, s));
    assert_cuda(cudaMemsetAsync(p, 1, 64, other));
    EXPECT("before its allocation", cudaStreamSynchronize(other));
    assert_cuda(cudaFreeAsync(p, s));
    assert_cuda(cudaMemsetAsync(p, 1, 64, s));
    EXPECT("no block", cudaStreamSynchronize(s));
    EXPECT("freed before", cudaFreeAsync(p, s));
    assert_cuda(cudaMalloc(&q, 8));
    EXPECT("came from cudaMalloc", cudaFreeAsync(q, s));
    assert_cuda(cudaStreamDestroy(s));
    assert_cuda(cudaStreamDestroy(other));
}

static void leaks_are_counted(void **)
{
    int64_t before = cudasim_live();
    void *p;
    cudaStream_t s;
    assert_cuda(cudaMalloc(&p, 10));
    assert_cuda(cudaStreamCreateWithFlags(&s, 0));
    assert_int_equal(cudasim_live(), before + 2);
    assert_int_equal(cudasim_live_bytes(), 10);
    assert_cuda(cudaFree(p));
    assert_cuda(cudaStreamDestroy(s));
    assert_int_equal(cudasim_live(), before);
}

/* A host that follows a device address ends with a report, so a child process tries it. */
static void closed_to_the_host(void **)
{
    double *p;
    assert_cuda(cudaMalloc((void **)&p, 8));
    DIES("the host touched device memory", *(volatile double *)p = 1);
    DIES("the host touched device memory", printf("%g", *(volatile double *)p));
    assert_cuda(cudaFree(p));
}

/* Places are reused after a while, and all of the device's memory can be allocated again and again. */
static void room(void **)
{
    void *p[8];
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 8; i++) assert_cuda(cudaMalloc(&p[i], (size_t)(round % 7 + 1) << 17));
        for (int i = 0; i < 8; i++) assert_cuda(cudaFree(p[i]));
    }
    for (int round = 0; round < 4000; round++) {
        assert_cuda(cudaMalloc(&p[0], (size_t)(round % 100 + 1)));
        assert_cuda(cudaFree(p[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_is_nan),
        cmocka_unit_test(copies),
        cmocka_unit_test(too_far),
        cmocka_unit_test(fences),
        cmocka_unit_test(full),
        cmocka_unit_test(in_order),
        cmocka_unit_test(room),
        cmocka_unit_test(leaks_are_counted),
        cmocka_unit_test(closed_to_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
