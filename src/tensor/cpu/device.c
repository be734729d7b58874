/* The CPU as a device: memory, description, and the table of primitives. */
#include "blas.h"
#include "cpu.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MODEL = 128 };

/* The first CPU's model name according to Linux; "CPU" if it is unknown. */
static void read_model(char model[MODEL])
{
    char line[8192];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(model, MODEL, "CPU");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %127[^\n]", model) == 1) break;
    if (file) fclose(file);
}

/* The number in a file; UINT64_MAX if there is none, as in "max". */
static uint64_t read_limit(const char *path)
{
    unsigned long long limit;
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%llu", &limit) != 1) limit = UINT64_MAX;
    if (file) fclose(file);
    return limit;
}

/* The smallest memory.max from this process's control group (version 2) up to the root. */
static uint64_t cgroup_limit(void)
{
    char line[1024], path[1200];
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4)) continue;
        char *group = line + 3;
        for (char *end = group + strcspn(group, "\n"); end; end = strrchr(group, '/')) {
            *end = 0;
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
            const uint64_t here = read_limit(path);
            if (here < limit) limit = here;
        }
    }
    if (file) fclose(file);
    return limit;
}

static uint64_t physical_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t physical = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX,
                   limit = cgroup_limit();
    return limit < physical ? limit : physical;
}

/* Remarks on a core that uses fewer instructions than the CPU has. */
static void remark_on_core(ct_device *dev, const char *core)
{
    static const struct {
        const char *name;
        int isa;
    } cores[] = {
        { "SkylakeX", CT__ISA_AVX512 },
        { "Cooperlake", CT__ISA_AVX512 },
        { "SapphireRapids", CT__ISA_AVX512 },
        { "Haswell", CT__ISA_AVX2 },
        { "Zen", CT__ISA_AVX2 },
        { "Excavator", CT__ISA_AVX2 },
    };
    int used_isa = CT__ISA_BASE;
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        if (!strcasecmp(core, cores[i].name)) used_isa = cores[i].isa;
    if (used_isa >= dev->isa) return;
    ct__remark(dev,
               "slow: OpenBLAS runs its %s kernels although this CPU has %s, probably because "
               "OPENBLAS_CORETYPE is set: unset it",
               core, dev->isa == CT__ISA_AVX512 ? "AVX-512" : "AVX2");
}

static void remark_on_threads(ct_device *dev)
{
    if (openblas_get_parallel() != 1) return;
    ct__remark(dev,
               "slow: this OpenBLAS is a pthread build, whose threads compete with OpenMP's: install the "
               "OpenMP build (libopenblas-openmp-dev)");
}

/* Remarks on too many processes. An MPI launcher tells each process how many it has started on this
 * machine. */
static void remark_on_processes(ct_device *dev)
{
    const char *told = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (!told) told = getenv("MPI_LOCALNRANKS");
    const long many = told ? strtol(told, NULL, 10) : 1, cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (many < 2 || many <= cores / dev->threads) return;
    ct__remark(dev,
               "slow: %ld processes on this machine, of %d thread%s each, have %ld cores: start fewer, or "
               "with fewer threads (OMP_NUM_THREADS)",
               many, dev->threads, dev->threads == 1 ? "" : "s", cores);
}

static ct_status open_cpu(ct_device *dev, int ordinal)
{
    static const char *const kinds[] = { "serial", "pthreads", "OpenMP" };
    if (ordinal > 0)
        return ct__fail(dev, CT_EDEVICE, "cpu:%d: there is one CPU device; open \"cpu\"", ordinal);
    char model[MODEL];
    read_model(model);
    snprintf(dev->name, sizeof dev->name, "cpu");
    const int most = ct__team_most(), asked = dev->threads;
    if (asked > most)
        return ct__fail(dev, CT_EINVAL, "threads must be at most %d on %d processors, not %d", most,
                        omp_get_num_procs(), asked);
    const int usual = omp_get_max_threads();
    dev->threads = ct__team_trial(asked ? asked : usual < most ? usual : most);
    dev->isa = ct__best_isa();
    dev->tuning = ct__tuning_of(ct__this_processor(), dev->isa);
    dev->amx = dev->isa == CT__ISA_AVX512 && ct__has_amx();
    uint64_t memory = physical_memory();
    if (!dev->memory.limit) dev->memory.limit = memory;
    const char *config = openblas_get_config(), *core = openblas_get_corename();
    char version[32] = "";
    sscanf(config, "OpenBLAS %31s", version);
    int parallel = openblas_get_parallel();
    ct__print(dev->description, sizeof dev->description,
              "cpu: %s, %d thread%s, tuned for %s, OpenBLAS %s (%s, %s), %.1f GiB", model, dev->threads,
              dev->threads == 1 ? "" : "s", dev->tuning->name, version,
              parallel >= 0 && parallel <= 2 ? kinds[parallel] : "?", core, (double)memory / (1 << 30));
    remark_on_core(dev, core);
    remark_on_threads(dev);
    remark_on_processes(dev);
    return CT_OK;
}

static void close_cpu(ct_device *dev) { (void)dev; }

static void *allocate(ct_device *dev, size_t bytes)
{
    return dev->allocator.alloc(dev->allocator.context, bytes, CT__ALIGNMENT);
}

static void release(ct_device *dev, void *data, size_t bytes)
{
    dev->allocator.release(dev->allocator.context, data, bytes);
}

static ct_status transfer(ct_device *dev, void *dst, const void *src, size_t bytes)
{
    (void)dev;
    if (bytes) memcpy(dst, src, bytes);
    return CT_OK;
}

static ct_status synchronize(ct_device *dev)
{
    (void)dev;
    return CT_OK;
}

/* A free thread takes the next k. */
static void spread(ct_device *dev, int64_t count, void (*run)(void *context, int64_t k), void *context)
{
    const int threads = ct__team_limit(count < dev->threads ? (int)count : dev->threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t k = 0; k < count; k++) run(context, k);
}

/* clang-format off */
#define ENTRY(name)             .name = ct__cpu_##name,
#define CT_PRIMITIVE(name, ...) ENTRY(name)
#define CT_FLAGGING             CT_PRIMITIVE
const ct_backend ct__cpu_backend = {
    .name = "cpu",
    .host_memory = true,
    .open = open_cpu,
    .close = close_cpu,
    .allocate = allocate,
    .release = release,
    .upload = transfer,
    .download = transfer,
    .synchronize = synchronize,
    .spread = spread,
#include <cotangent/primitives.inc>
    CT__MORE_ENTRIES(ENTRY)
    ENTRY(sweep_bytes)
    ENTRY(number1)
    ENTRY(number1_bar)
    ENTRY(number2)
    ENTRY(number2_bar)
    ENTRY(affine)
    ENTRY(packed_sweep)
    ENTRY(gaussians)
    ENTRY(keeps_root)
    ENTRY(potri_root)
    ENTRY(inverse_root_bar)
};
