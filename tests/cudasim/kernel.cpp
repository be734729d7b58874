/* A launch runs its threads one at a time. Up to BESIDE blocks are under way at once. They begin in a random
 * order and take turns of random length; the threads of a block run in a random order, too. Where threads
 * meet at barriers each is a fibre: it runs until the barrier, then another runs; when all of its block have
 * arrived they go on in a new random order. A thread that relies on another without a barrier between them,
 * or on another block of the same launch, reads a NaN or an old value in some of these orders. Fibres are
 * used again by later threads.
 *
 * Each block under way has shared memory of its own. It holds NaN at first, and so does a fence behind every
 * variable. */
#include "sim.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

#ifdef WITH_ASAN
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#    define CLOSE(p, n) __asan_poison_memory_region(p, n)
#    define OPEN(p, n)  __asan_unpoison_memory_region(p, n)
#else
#    define CLOSE(p, n) ((void)(p), (void)(n))
#    define OPEN(p, n)  ((void)(p), (void)(n))
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

/* -- blocks under way ------------------------------------------------------------------------------------ */

struct parked {
    fibre *on;
    uint3 thread;
    const char *file;
    int line;
};

/* A variable in shared memory, known by an address in its kernel. */
struct variable {
    const void *key;
    char *data;
    size_t bytes;
};

/* What a warp's threads do together: each has done so much of it. */
struct warp {
    std::vector<std::pair<const void *, size_t>> done;
    size_t count[32] = {};
};

enum { BESIDE = 3, VARIABLES = 16 };
static const size_t SHARED = 48 * 1024, FENCE = 64; /* what a block has of it, as on the real device */

struct block_under_way {
    uint3 place = {};
    order thread_order = order(0);
    uint64_t next = 0, begun = 0, ended = 0; /* threads */
    std::vector<parked> ready, waiting;
    std::vector<variable> shared;
    std::vector<warp> warps; /* none before the first has done something */
    char *room = nullptr;
};

static block_under_way *under_way = new block_under_way[BESIDE]; /* reachable until the end */
static block_under_way *now;                                     /* whose turn it is        */
static int beside;                                               /* how many there are      */
static uint64_t turn;                                            /* threads until another's */

static const std::function<void()> *kernel;
static uint64_t threads, blocks_left, next_block;
static size_t asked; /* bytes of shared memory that the launch gave */
static const order *block_order;
static std::vector<fibre *> &idle = *new std::vector<fibre *>;

static uint3 unravel(uint64_t i, dim3 d)
{
    if (d.y == 1 && d.z == 1) return { (unsigned)i, 0, 0 };
    return { (unsigned)(i % d.x), (unsigned)(i / d.x % d.y), (unsigned)(i / d.x / d.y) };
}

static void begin_block(block_under_way *b)
{
    b->place = unravel(next_block, here.grid_dim);
    next_block = block_order->after(next_block);
    blocks_left--;
    b->thread_order = order(threads);
    b->next = b->thread_order.start;
    b->begun = b->ended = 0;
    b->shared.clear();
    b->warps.clear();
}

/* All threads have come to a barrier, or to the end. */
static void check_warps(const block_under_way *b)
{
    for (const warp &w : b->warps)
        for (size_t n : w.count)
            if (n != w.done.size()) {
                report("%zu of a warp's calls of tensor cores, and %zu by another of its threads",
                       w.done.size(), n);
                return;
            }
}

static void end_block(const block_under_way *b)
{
    check_warps(b);
    for (const variable &v : b->shared)
        for (size_t i = 0; i < FENCE; i++)
            if (v.data[v.bytes + i] != (char)0xff) {
                report("block (%u, %u, %u) wrote behind a shared variable of %zu bytes, at byte %zu",
                       b->place.x, b->place.y, b->place.z, v.bytes, v.bytes + i);
                return;
            }
}

/* Chooses the block whose turn it is. One that has ended makes room for the next. False: there is none. */
static bool choose_block()
{
    while (now->ended == threads) {
        end_block(now);
        if (blocks_left) {
            begin_block(now);
        } else {
            std::swap(*now, under_way[--beside]);
            if (!beside) return false;
            now = under_way;
        }
    }
    if (!--turn) {
        turn = 1 + random_below(2 * threads);
        now = &under_way[random_below((uint64_t)beside)];
    }
    return true;
}

static void begin_thread()
{
    here.block = now->place;
    here.thread = unravel(now->next, here.block_dim);
    now->next = now->thread_order.after(now->next);
    now->begun++;
    (*kernel)();
    now->ended++;
}

/* All threads of the block that still run have arrived at a barrier. */
static void release_barrier(block_under_way *b)
{
    check_warps(b);
    const parked &first = b->waiting[0];
    if (b->ended)
        report("%zu threads of block (%u, %u, %u) wait at %s:%d, but %llu have ended", b->waiting.size(),
               b->place.x, b->place.y, b->place.z, first.file, first.line, (unsigned long long)b->ended);
    for (const parked &p : b->waiting)
        if (p.line != first.line)
            report("thread (%u, %u, %u) waits at %s:%d, but thread (%u, %u, %u) at line %d", first.thread.x,
                   first.thread.y, first.thread.z, first.file, first.line, p.thread.x, p.thread.y, p.thread.z,
                   p.line);
    order o(b->waiting.size());
    for (uint64_t i = 0, at = o.start; i < o.n; i++, at = o.after(at)) b->ready.push_back(b->waiting[at]);
    b->waiting.clear();
}

/* Chooses what runs next: a fibre that a barrier has released, one that begins a thread, the given one if
 * that has nothing else to do, or, at the end, the caller. */
static fibre *next_fibre(fibre *free)
{
    if (!choose_block()) return &caller;
    if (now->ready.empty() && now->begun == threads) release_barrier(now);
    if (!now->ready.empty()) {
        const parked p = now->ready.back();
        now->ready.pop_back();
        here.block = now->place;
        here.thread = p.thread;
        return p.on;
    }
    if (free) return free;
    if (!idle.empty()) {
        fibre *f = idle.back();
        idle.pop_back();
        return f;
    }
    fibre *f = make_fibre();
    if (!f) report("no memory for a fibre");
    return f ? f : &caller;
}

static void fibre_main()
{
    for (;;) {
        begin_thread();
        fibre *next = next_fibre(current);
        if (next == current) continue;
        idle.push_back(current);
        switch_to(next);
    }
}

static void run_grid(bool shares, dim3 grid, dim3 block, size_t room, const std::function<void()> &thread)
{
    asked = room;
    here.grid_dim = grid;
    here.block_dim = block;
    kernel = &thread;
    threads = (uint64_t)block.x * block.y * block.z;
    const order blocks((uint64_t)grid.x * grid.y * grid.z);
    block_order = &blocks;
    next_block = blocks.start;
    blocks_left = blocks.n;
    beside = (int)std::min(blocks.n, 1 + random_below(BESIDE));
    for (int i = 0; i < beside; i++) begin_block(&under_way[i]);
    now = under_way;
    turn = 1 + random_below(2 * threads);
    if (shares)
        switch_to(next_fibre(nullptr));
    else
        while (choose_block()) begin_thread();
}
} // namespace sim

/* -- what kernels call, and launching -------------------------------------------------------------------- */

void cudasim::barrier(const char *file, int line)
{
    using namespace sim;
    if (current == &caller)
        return report("%s:%d is a barrier, but the kernel was not launched as one with any", file, line);
    now->waiting.push_back({ current, here.thread, file, line });
    fibre *next = next_fibre(nullptr);
    if (next != current) switch_to(next);
}

/* At its first use in a block a variable gets its place, behind the others. */
void *cudasim::shared_memory(const void *key, size_t bytes)
{
    using namespace sim;
    static const size_t all = SHARED + VARIABLES * (FENCE + 32);
    block_under_way &b = *now;
    size_t sum = bytes;
    char *to = b.room;
    for (const variable &v : b.shared) {
        if (v.key == key) return v.data;
        sum += v.bytes;
        to = v.data + (v.bytes + 31) / 32 * 32 + FENCE;
    }
    if (sum > SHARED || b.shared.size() == VARIABLES) {
        report("a block has %zu bytes of shared memory, in %zu variables", sum, b.shared.size() + 1);
        abort();
    }
    /* not by malloc, which tests may let fail */
    if (!b.room) to = b.room = (char *)::operator new(all, std::align_val_t(64));
    if (b.shared.empty()) CLOSE(b.room, all);
    OPEN(to, bytes + FENCE);
    memset(to, 0xff, bytes + FENCE);
    CLOSE(to + bytes, FENCE);
    b.shared.push_back({ key, to, bytes });
    return to;
}

void *cudasim::shared_dynamic() { return shared_memory(&sim::asked, sim::asked); }

void cudasim::check_block(int threads)
{
    if (here.block_dim.x != (unsigned)threads)
        sim::report("a block of %u threads adds up what %d threads have", here.block_dim.x, threads);
}

void cudasim::check_tile(const void *at, size_t row)
{
    if ((uintptr_t)at % 32 || row % 16)
        sim::report("tensor cores read from %p, rows of %zu bytes: not multiples of 32 and 16", at, row);
    sim::block_under_way &b = *sim::now;
    const unsigned t = here.thread.x;
    b.warps.resize(here.block_dim.x / 32);
    sim::warp &w = b.warps[t / 32];
    const size_t k = w.count[t % 32]++;
    if (k == w.done.size())
        w.done.push_back({ at, row });
    else if (w.done[k] != std::make_pair(at, row))
        sim::report("threads of a warp give tensor cores %p and %p", w.done[k].first, at);
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

/* A kernel is loaded at its first launch on a GPU. That may wait, so it is no part of a capture. */
static std::set<std::pair<int, const void *>> loaded;

void cudasim_forget_kernels(void) { loaded.clear(); }

cudaError_t cudasim::enqueue_kernel(const char *name, const void *kernel, bool shares, dim3 grid, dim3 block,
                                    size_t room, cudaStream_t stream, std::function<void()> thread)
{
    using namespace sim;
    entry e(name);
    if (e.refused) return fail(e.error);
    if (cudaError_t error = launchable(stream)) return fail(error);
    if (capturing(stream) && !loaded.count({ gpu_now(), kernel })) {
        spoil(stream);
        return fail(cudaErrorStreamCaptureUnsupported);
    }
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 ||
        !block.x || !block.y || !block.z || block.x > 1024 || block.y > 1024 || block.z > 64 ||
        (uint64_t)block.x * block.y * block.z > 1024)
        return fail(cudaErrorInvalidConfiguration);
    if (room > SHARED) return fail(cudaErrorInvalidValue);
    loaded.insert({ gpu_now(), kernel });
    enqueue(stream, called(name, { grid.x, block.x }), [=] { run_grid(shares, grid, block, room, thread); });
    return cudaSuccess;
}
