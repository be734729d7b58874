/* A launch runs its blocks one after another in a random order, and the threads of a block likewise. Where
 * threads meet at barriers each is a fibre: it runs until the barrier, then another runs; when all have
 * arrived they go on in a new random order. A thread that relies on another without a barrier between them
 * reads a NaN or an old value in some of these orders. The fibres of a block are reused by the next. */
#include "sim.h"

#include <sys/mman.h>
#include <unistd.h>

#ifdef WITH_ASAN
#    include <sanitizer/common_interface_defs.h>
#endif
#ifndef __x86_64__
#    include <ucontext.h>
#endif

namespace cudasim
{
place here;
}

namespace sim
{
using cudasim::here;

/* -- fibres: a stack each, and a switch ------------------------------------------------------------------ */

static const size_t STACK = 256 * 1024, GUARD = 4096;

struct fibre {
    char *stack = nullptr; /* nullptr: the caller's own */
#ifdef __x86_64__
    void *sp = nullptr;
#else
    ucontext_t context;
#endif
    void *fake = nullptr; /* the sanitizers' own */
    const void *bottom = nullptr;
    size_t size = 0;
};

#ifdef __x86_64__
/* Saves the registers that a callee must preserve, switches the stack, and continues where `to` was left. */
extern "C" void cudasim_switch(void **from, void *to);
asm(R"(
    .text
    .globl cudasim_switch
    .type cudasim_switch, @function
cudasim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cudasim_switch, . - cudasim_switch
)");
#endif

static fibre caller;
static fibre *current = &caller;

static void arrived()
{
#ifdef WITH_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(current->fake, &bottom, &size);
    if (!caller.bottom) caller.bottom = bottom, caller.size = size;
#endif
}

static void switch_to(fibre *to)
{
    fibre *from = current;
    current = to;
#ifdef WITH_ASAN
    if (from == &caller) caller.bottom = nullptr; /* it may belong to another thread than last time */
    __sanitizer_start_switch_fiber(&from->fake, to->bottom, to->size);
#endif
#ifdef __x86_64__
    cudasim_switch(&from->sp, to->sp);
#else
    swapcontext(&from->context, &to->context);
#endif
    arrived();
}

static void fibre_main();

static void first_steps()
{
    arrived();
    fibre_main();
}

static fibre *make_fibre()
{
    fibre *f = new fibre();
    char *p = (char *)mmap(nullptr, STACK + GUARD, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    mprotect(p, GUARD, PROT_NONE);
    f->stack = p + GUARD;
    f->bottom = f->stack;
    f->size = STACK;
#ifdef __x86_64__
    /* Stacks that begin at different offsets in their pages do not compete for the same cache lines. */
    static size_t made;
    void **sp = (void **)(f->stack + STACK - made++ * 17 % 1024 * 64);
    sp--; /* a return address that is never used: calls expect 16 n + 8 */
    *--sp = (void *)first_steps;
    f->sp = sp - 6; /* six registers to pop */
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK;
    makecontext(&f->context, first_steps, 0);
#endif
    return f;
}

/* -- one block ------------------------------------------------------------------------------------------- */

struct parked {
    fibre *on;
    uint3 thread;
    const char *file;
    int line;
};

static const std::function<void()> *kernel;
static uint64_t threads, begun, ended, next_thread;
static const order *thread_order;
static std::vector<fibre *> &idle = *new std::vector<fibre *>; /* reachable until the process ends */
static std::vector<parked> ready, waiting;

static uint3 unravel(uint64_t i, dim3 d)
{
    if (d.y == 1 && d.z == 1) return { (unsigned)i, 0, 0 };
    return { (unsigned)(i % d.x), (unsigned)(i / d.x % d.y), (unsigned)(i / d.x / d.y) };
}

static void begin_thread()
{
    here.thread = unravel(next_thread, here.block_dim);
    next_thread = thread_order->after(next_thread);
    begun++;
    (*kernel)();
    ended++;
}

/* All threads that still run have arrived at a barrier. */
static void release_barrier()
{
    const parked &first = waiting[0];
    if (ended)
        report("%zu threads of block (%u, %u, %u) wait at %s:%d, but %llu have ended", waiting.size(),
               here.block.x, here.block.y, here.block.z, first.file, first.line, (unsigned long long)ended);
    for (const parked &p : waiting)
        if (p.line != first.line)
            report("thread (%u, %u, %u) waits at %s:%d, but thread (%u, %u, %u) at line %d", first.thread.x,
                   first.thread.y, first.thread.z, first.file, first.line, p.thread.x, p.thread.y, p.thread.z,
                   p.line);
    order o(waiting.size());
    for (uint64_t i = 0, at = o.start; i < o.n; i++, at = o.after(at)) ready.push_back(waiting[at]);
    waiting.clear();
}

/* Chooses what runs next: a fibre that a barrier has released, one that starts threads, or, at the end, the
 * caller. */
static fibre *next_fibre()
{
    if (ready.empty() && begun == threads && !waiting.empty()) release_barrier();
    if (!ready.empty()) {
        fibre *f = ready.back().on;
        here.thread = ready.back().thread;
        ready.pop_back();
        return f;
    }
    if (begun == threads) return &caller;
    if (idle.empty()) {
        fibre *f = make_fibre();
        if (f) return f;
        report("no memory for a fibre");
        return &caller;
    }
    fibre *f = idle.back();
    idle.pop_back();
    return f;
}

static void go_on()
{
    fibre *next = next_fibre();
    if (next != current) switch_to(next);
}

static void fibre_main()
{
    for (;;) {
        while (begun < threads) begin_thread();
        idle.push_back(current);
        go_on();
    }
}

static void run_grid(bool shares, dim3 grid, dim3 block, const std::function<void()> &thread)
{
    here.grid_dim = grid;
    here.block_dim = block;
    kernel = &thread;
    threads = (uint64_t)block.x * block.y * block.z;
    order blocks((uint64_t)grid.x * grid.y * grid.z);
    for (uint64_t i = 0, at = blocks.start; i < blocks.n; i++, at = blocks.after(at)) {
        order o(threads);
        thread_order = &o;
        next_thread = o.start;
        begun = ended = 0;
        here.block = unravel(at, grid);
        if (shares)
            go_on();
        else
            while (begun < threads) begin_thread();
    }
}
} // namespace sim

/* -- what kernels call, and launching -------------------------------------------------------------------- */

void cudasim::barrier(const char *file, int line)
{
    using namespace sim;
    if (current == &caller)
        return report("%s:%d is a barrier, but the kernel was not launched as one with any", file, line);
    waiting.push_back({ current, here.thread, file, line });
    go_on();
}

void cudasim::check_block(int threads)
{
    if (here.block_dim.x != (unsigned)threads)
        sim::report("a block of %u threads adds up what %d threads have", here.block_dim.x, threads);
}

/* A word that points into memory of this process, but not into the device's: 47 bits, and there. */
void cudasim::check_addresses(const char *name, int number, const void *bytes, size_t size)
{
    static const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const std::lock_guard<std::recursive_mutex> guard(sim::lock);
    const uint64_t *word = (const uint64_t *)bytes;
    if (size % 8 || (uintptr_t)bytes % 8) return;
    for (size_t i = 0; i < size / 8; i++) {
        void *p = (void *)word[i];
        if (word[i] >> 44 == 0 || word[i] >> 47) continue;
        if (sim::is_device(p)) {
            const sim::block *b = sim::find_block(p);
            if (b && b->gpu != sim::gpu_now())
                sim::report("argument %d of kernel %s is memory of GPU %d, on GPU %d", number, name, b->gpu,
                            sim::gpu_now());
            continue;
        }
        unsigned char resident;
        if (!mincore((void *)(word[i] / page * page), 1, &resident) && !sim::is_pinned(p))
            sim::report("argument %d of kernel %s holds a host address, %p", number, name, p);
    }
}

cudaError_t cudasim::enqueue_kernel(const char *name, bool shares, dim3 grid, dim3 block, cudaStream_t stream,
                                    std::function<void()> thread)
{
    using namespace sim;
    entry e(name);
    if (e.refused) return fail(e.error);
    if (cudaError_t error = launchable(stream)) return fail(error);
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 ||
        !block.x || !block.y || !block.z || block.x > 1024 || block.y > 1024 || block.z > 64 ||
        (uint64_t)block.x * block.y * block.z > 1024)
        return fail(cudaErrorInvalidConfiguration);
    enqueue(stream, called(name, { grid.x, block.x }), [=] { run_grid(shares, grid, block, thread); });
    return cudaSuccess;
}
