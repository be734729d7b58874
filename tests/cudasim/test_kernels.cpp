/* Kernels: every thread runs once, barriers hold, a missing one is seen, and each misuse is reported. */
#include "check_sim.h"

static cudaStream_t s;
static int *device, host[4096];

static int setup(void **)
{
    return cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) || cudaMalloc((void **)&device, sizeof host);
}

static int teardown(void **) { return cudaFree(device) || cudaStreamDestroy(s) || cudasim_live(); }

static void fetch(void)
{
    assert_cuda(cudaGetLastError());
    assert_cuda(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, s));
}

static __global__ void count(int *p)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z),
             thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    p[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1;
}

static void every_thread_once(void **)
{
    for (int blocks = 0; blocks < 2; blocks++) {
        assert_cuda(cudaMemsetAsync(device, 0, sizeof host, s));
        if (blocks)
            CT__LAUNCH_BLOCK(count, dim3(4, 3, 2), dim3(8, 4, 2), s, device);
        else
            CT__LAUNCH(count, dim3(4, 3, 2), dim3(8, 4, 2), s, device);
        fetch();
        for (int i = 0; i < 4096; i++) assert_int_equal(host[i], i < 4 * 3 * 2 * 8 * 4 * 2);
    }
}

/* Each block reverses its 256 numbers. */
template <bool WITH_BARRIER> static __global__ void turn(int *p)
{
    CT__SHARED(int, shared, [256]);
    int t = (int)threadIdx.x, *mine = p + 256 * blockIdx.x;
    shared[t] = mine[t];
    if (WITH_BARRIER) __syncthreads();
    mine[t] = shared[255 - t];
}

static int wrong_after(void (*kernel)(int *))
{
    for (int i = 0; i < 4096; i++) host[i] = i;
    assert_cuda(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, s));
    CT__LAUNCH_BLOCK(kernel, 16, 256, s, device);
    fetch();
    int wrong = 0;
    for (int i = 0; i < 4096; i++) wrong += host[i] != i / 256 * 256 + 255 - i % 256;
    return wrong;
}

static void barriers(void **)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        cudasim_seed(seed);
        assert_int_equal(wrong_after(turn<true>), 0);
        assert_true(wrong_after(turn<false>) > 256);
    }
    cudasim_seed(0);
}

/* Sum of 256, level by level: nine barriers a block. */
static __global__ void tree(const double *x, double *sum, int skip)
{
    CT__SHARED(double, part, [256]);
    int t = (int)threadIdx.x;
    part[t] = x[256 * blockIdx.x + threadIdx.x];
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (t < half) part[t] += part[t + half];
        if (half != skip) __syncthreads();
    }
    if (t == 0) sum[blockIdx.x] = part[0];
}

static void reductions(void **)
{
    enum { BLOCKS = 500 };
    double *x, *sum, *values = (double *)malloc(BLOCKS * 256 * sizeof(double)), got[BLOCKS];
    for (int i = 0; i < BLOCKS * 256; i++) values[i] = i;
    assert_cuda(cudaMalloc((void **)&x, BLOCKS * 256 * sizeof(double)));
    assert_cuda(cudaMalloc((void **)&sum, sizeof got));
    assert_cuda(cudaMemcpy(x, values, BLOCKS * 256 * sizeof(double), cudaMemcpyHostToDevice));
    for (int skip = 0; skip <= 64; skip += 64) {
        CT__LAUNCH_BLOCK(tree, BLOCKS, 256, s, (const double *)x, sum, skip);
        assert_cuda(cudaMemcpyAsync(got, sum, sizeof got, cudaMemcpyDeviceToHost, s));
        int wrong = 0;
        for (int b = 0; b < BLOCKS; b++) wrong += got[b] != 256. * 256 * b + 255 * 128;
        if (skip)
            assert_true(wrong > BLOCKS / 2);
        else
            assert_int_equal(wrong, 0);
    }
    free(values);
    assert_cuda(cudaFree(x));
    assert_cuda(cudaFree(sum));
}

/* Each block reverses 64 numbers by way of global memory: its own, or the same as all others, where a block
 * under way beside it overwrites them. */
static __global__ void turn_outside(int *p, int *room, int apart)
{
    int t = (int)threadIdx.x, *mine = room + apart * (int)blockIdx.x;
    mine[t] = p[64 * blockIdx.x + threadIdx.x];
    __syncthreads();
    p[64 * blockIdx.x + threadIdx.x] = mine[63 - t];
}

static void blocks_side_by_side(void **)
{
    enum { BLOCKS = 32, COUNT = 64 * BLOCKS };
    int *room, wrong[2] = { 0, 0 };
    assert_cuda(cudaMalloc((void **)&room, COUNT * sizeof *room));
    for (uint64_t seed = 0; seed < 8; seed++)
        for (int own = 0; own < 2; own++) {
            cudasim_seed(seed);
            for (int i = 0; i < COUNT; i++) host[i] = i;
            assert_cuda(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, s));
            CT__LAUNCH_BLOCK(turn_outside, BLOCKS, 64, s, device, room, own ? 64 : 0);
            fetch();
            for (int i = 0; i < COUNT; i++) wrong[own] += host[i] != i / 64 * 64 + 63 - i % 64;
        }
    cudasim_seed(0);
    assert_int_equal(wrong[1], 0);
    assert_true(wrong[0] > COUNT);
    assert_cuda(cudaFree(room));
}

static __global__ void before_it_is_written(int *p)
{
    CT__SHARED(int, shared, [64]);
    p[threadIdx.x] = shared[threadIdx.x];
    shared[threadIdx.x] = 1;
}

static __global__ void behind(int *p, int at)
{
    CT__SHARED(int, shared, [4]);
    int *first = shared;
    first[at] = 1;
    p[0] = first[0];
}

static __global__ void too_much(int *p)
{
    CT__SHARED(int, first, [6 * 1024]);
    CT__SHARED(int, second, [6 * 1024 + 1]);
    p[0] = first[0] + second[0];
}

static __global__ void in_shared_memory(int *p, int at)
{
    CT__SHARED_DYNAMIC(shared);
    shared[at] = 1;
    p[0] = shared[at];
}

static void shared_memory(void **)
{
    CT__LAUNCH_BLOCK(before_it_is_written, 3, 64, s, device);
    fetch();
    for (int i = 0; i < 64; i++) assert_int_equal(host[i], -1); /* the bits of a NaN */
    CT__LAUNCH_BLOCK(behind, 1, 1, s, device, 3);
    EXPECT("", cudaStreamSynchronize(s));
    DIES("wrote behind a shared variable of 16 bytes, at byte 20",
         (CT__LAUNCH_BLOCK(behind, 1, 1, s, device, 5), cudaStreamSynchronize(s)));
    DIES("49156 bytes of shared memory",
         (CT__LAUNCH_BLOCK(too_much, 1, 1, s, device), cudaStreamSynchronize(s)));
    assert_cuda(CT__LAUNCH_SHARED(in_shared_memory, 3, 4, 64, s, device, 63));
    EXPECT("", cudaStreamSynchronize(s));
    DIES("wrote behind a shared variable of 64 bytes, at byte 64",
         (CT__LAUNCH_SHARED(in_shared_memory, 1, 1, 64, s, device, 64), cudaStreamSynchronize(s)));
    assert_int_equal(CT__LAUNCH_SHARED(in_shared_memory, 1, 1, 48 * 1024 + 1, s, device, 0),
                     cudaErrorInvalidValue);
}

static __global__ void half_of_them(int *p)
{
    if (threadIdx.x % 2) __syncthreads();
    p[threadIdx.x] = 1;
}

static __global__ void elsewhere(int *p)
{
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
    p[threadIdx.x] = 1;
}

struct two {
    int *there;
    int64_t n;
};
static __global__ void through(two t) { t.there[0] = (int)t.n; }

struct letters {
    unsigned char byte[16];
};
static __global__ void first_letter(letters from, int *to) { to[0] = from.byte[0]; }

static void misuse(void **)
{
    CT__LAUNCH_BLOCK(half_of_them, 1, 64, s, device);
    EXPECT("have ended", cudaStreamSynchronize(s));
    CT__LAUNCH_BLOCK(elsewhere, 1, 64, s, device);
    EXPECT("at line", cudaStreamSynchronize(s));
    CT__LAUNCH(half_of_them, 1, 64, s, device);
    EXPECT("not launched as one", cudaStreamSynchronize(s));
    EXPECT("argument 1 of kernel count holds a host address", CT__LAUNCH(count, 1, 1, s, &host[0]));
    two bad = { host, 3 }, good = { device, 3 };
    EXPECT("host address", CT__LAUNCH(through, 1, 1, s, bad));
    EXPECT("", CT__LAUNCH(through, 1, 1, s, good));
    alignas(8) letters data = {};
    memcpy(data.byte, &bad, sizeof bad); /* bytes are data, even if they look like an address */
    EXPECT("", CT__LAUNCH(first_letter, 1, 1, s, data, device));
    cudasim_expect_report();
    cudaStreamSynchronize(s);
    cudasim_take_report();
    cudaGetLastError();
}

static void configurations(void **)
{
    const dim3 grid[] = { 0, dim3(1, 65536), 1, 1, 1, 1 },
               block[] = { 32, 32, 0, 1025, dim3(32, 33), dim3(1, 1, 65) };
    for (int i = 0; i < 6; i++) {
        CT__LAUNCH(count, grid[i], block[i], s, device);
        assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
    }
    assert_cuda(cudaGetLastError());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_once),
        cmocka_unit_test(barriers),
        cmocka_unit_test(reductions),
        cmocka_unit_test(blocks_side_by_side),
        cmocka_unit_test(shared_memory),
        cmocka_unit_test(configurations),
        cmocka_unit_test(misuse),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
