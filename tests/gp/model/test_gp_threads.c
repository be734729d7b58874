/* Host programs that limit OpenMP, use it themselves, fork, or share the machine. Each must end with the
 * numbers of an undisturbed run, to rounding, because the number of threads may differ. A case that hangs is
 * killed by its alarm. */
#include "gp_support.h"

#include <cotangent/ops.h>

#include "tensor/cpu/team.h"

#include <omp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 320, RESULTS = 12, IN_F16 = 6, PATIENCE = 600 /* seconds */ };

/* -- the work -------------------------------------------------------------------------------------------- */

static double size_of(ct_var x) { return ct_item(ct_sum(ct_square(x), CT_ALL, false)); }

static int gp_work(ct_device *dev, double *v)
{
    gp_data s = gp_data_new(dev, CT_F64, N, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
    const double u[8] = { 0.1, 0.2, 0.3, -2, 0 };
    double gradient[8] = { 0 };
    assert_ok(ct_gp_objective(gp, u, &v[0], gradient), ct_message(dev));
    v[1] = gradient[0] + gradient[1];
    ct_gp_free(gp);
    gp_data_free(&s);
    return 2;
}

/* Computes with everything that calls OpenBLAS or has parallel regions; v receives RESULTS numbers. */
static void work(ct_device *dev, double *v)
{
    int k = 0;
    ct_tape *tape = ct_tape_new(dev);
    ct_tensor *data = ct_rand_normal(dev, CT_F64, ct_shape2(N, N), 1, 0),
              *many = ct_rand_normal(dev, CT_F64, ct_shape3(16, 64, 64), 1, 1),
              *wide = ct_rand_normal(dev, CT_F64, ct_shape1(200000), 1, 2);
    ct_var one = ct_scalar(tape, CT_F64, 1), X = ct_leaf(tape, data), M = ct_constant(tape, many);
    ct_var A = ct_add_diag(ct_scale(ct_matmul(X, ct_t(X)), 1.0 / N), one);
    v[k++] = size_of(A);
    v[k++] = size_of(ct_inverse(ct_add_diag(X, ct_scalar(tape, CT_F64, N))));
    v[k++] = size_of(ct_inverse_spd(A));
    v[k++] = size_of(ct_solve(A, X));
    v[k++] = size_of(ct_lstsq(A, ct_slice(X, 1, 0, 9, 1)));
    v[k++] = size_of(ct_inverse(ct_add_diag(M, ct_scalar(tape, CT_F64, 64))));
    assert_int_equal(k, IN_F16);
    v[k++] = size_of(ct_cast(ct_matmul(ct_cast(A, CT_F16), ct_cast(A, CT_F16)), CT_F64));
    v[k++] = size_of(ct_exp(ct_constant(tape, wide)));
    ct_var L = ct_cholesky(A),
           y = ct_add(ct_cholesky_logdet(L), ct_sum(ct_cholesky_solve(L, X), CT_ALL, false));
    v[k++] = ct_item(y);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    v[k++] = ct_item(ct_sum(ct_square(ct_constant(tape, ct_cotangent(X))), CT_ALL, false));
    k += gp_work(dev, v + k);
    assert_int_equal(k, RESULTS);
    ct_tape_free(tape);
    ct_release(data), ct_release(many), ct_release(wide);
}

static void work_of(int threads, double *v)
{
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = threads });
    work(dev, v);
    ct_device_close(dev);
}

/* An element of the product in f16 is rounded once, by up to u = 2^-11 of its size (docs/half.md). With
 * another number of threads it may be rounded the other way, and its square then differs by some 4 u. */
static void assert_same(const double *v, const double *wanted, const char *what)
{
    for (int k = 0; k < RESULTS; k++)
        check_close_at(v[k], wanted[k], k == IN_F16 ? 5 * 0x1p-11 : 1e-9, 0, what, __FILE__, __LINE__);
}

/* -- hosts ----------------------------------------------------------------------------------------------- */

static void plain(double *v) { work_of(0, v); }

static void dynamic(double *v)
{
    omp_set_dynamic(1);
    work_of(0, v);
    assert_true(omp_get_dynamic());
}

static void dynamic_later(double *v)
{
    ct_device *dev = ct_device_open("cpu");
    omp_set_dynamic(1), omp_set_num_threads(3);
    work(dev, v);
    assert_int_equal(omp_get_max_threads(), 3);
    ct_device_close(dev);
}

static void no_levels(double *v)
{
    omp_set_max_active_levels(0);
    work_of(4, v);
}

/* In a parallel region of the host: threads take turns with a device opened outside, then each opens its own.
 */
static void in_a_region(double *v)
{
    double own[4][RESULTS];
    ct_device *dev = ct_device_open("cpu");
#pragma omp parallel num_threads(4)
    {
#pragma omp critical
        work(dev, v);
        work_of(0, own[omp_get_thread_num()]);
#pragma omp barrier
#pragma omp single
        for (int k = 0; k < omp_get_num_threads(); k++) assert_same(own[k], v, "of a thread of its own");
    }
    ct_device_close(dev);
}

static void in_nested_regions(double *v)
{
    omp_set_max_active_levels(3);
    in_a_region(v);
}

static void in_a_region_of_one(double *v)
{
#pragma omp parallel num_threads(1)
    in_a_region(v);
}

typedef struct host_thread {
    pthread_t thread;
    int threads;
    double v[RESULTS];
} host_thread;

static void *multiply_often(void *context)
{
    host_thread *h = context;
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = h->threads });
    ct_tensor *x = ct_rand_normal(dev, CT_F64, ct_shape2(160, 160), 1, 0);
    ct_tape *tape = ct_tape_new(dev);
    for (int i = 0; i < 500; i++) {
        ct_tape_reset(tape);
        ct_var a = ct_constant(tape, x);
        h->v[0] = ct_item(ct_sum(ct_inverse(ct_matmul(a, a)), CT_ALL, false));
    }
    ct_tape_free(tape), ct_release(x);
    work(dev, h->v);
    ct_device_close(dev);
    return NULL;
}

/* Devices with different numbers of threads at the same time. */
static void in_threads(double *v)
{
    host_thread h[4];
    for (int i = 0; i < 4; i++) {
        h[i].threads = 5 - i;
        assert_int_equal(pthread_create(&h[i].thread, NULL, multiply_often, &h[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(h[i].thread, NULL);
    memcpy(v, h[0].v, sizeof h[0].v);
    for (int i = 1; i < 4; i++) assert_same(h[i].v, v, "of another thread");
}

/* Forks before there is a second thread: the child may have any number. */
static void forked_early(double *v)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    if (fork()) {
        assert_int_equal(read(pipes[0], v, RESULTS * sizeof *v), RESULTS * sizeof *v);
        wait(NULL);
        return;
    }
    alarm(PATIENCE);
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 2 });
    assert_int_equal(ct_device_threads(dev), 2);
    work(dev, v);
    ct_device_close(dev);
    _exit(write(pipes[1], v, RESULTS * sizeof *v) < 0);
}

/* Stacks of sixteen threads do not fit in the address space. */
static void without_room_for_threads(double *v)
{
    struct rlimit all, less;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_true(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    const rlim_t used = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    if (used >> 40) { /* a sanitizer needs more */
        plain(v);
        return;
    }
    assert_int_equal(getrlimit(RLIMIT_AS, &all), 0);
    less = (struct rlimit){ used + (40 << 20), all.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 16 });
    assert_int_equal(setrlimit(RLIMIT_AS, &all), 0);
    assert_ok(ct_device_status(dev), ct_message(dev));
    assert_true(ct_device_threads(dev) < 16);
    work(dev, v);
    ct_device_close(dev);
}

static const struct host {
    const char *name;
    void (*run)(double *v);
    const char *threads, *limit, *dynamic; /* of OpenMP; NULL: as they are */
} hosts[] = {
    { "a thread limit of 2", plain, "4", "2", NULL },
    { "a thread limit of 1", plain, "4", "1", NULL },
    { "OMP_DYNAMIC", plain, "4", NULL, "true" },
    { "dynamic teams", dynamic, "4", NULL, NULL },
    { "dynamic teams later", dynamic_later, "4", NULL, NULL },
    { "no active levels", no_levels, "4", NULL, NULL },
    { "a region", in_a_region, "4", NULL, NULL },
    { "a region with a thread limit", in_a_region, "4", "2", NULL },
    { "nested regions", in_nested_regions, "4,3,2", NULL, NULL },
    { "nested regions with a thread limit", in_nested_regions, "4,3,2", "5", NULL },
    { "a region of one", in_a_region_of_one, "3", NULL, "true" },
    { "threads", in_threads, "4", NULL, NULL },
    { "a fork before all", forked_early, "4", NULL, NULL },
    { "no room for threads", without_room_for_threads, "2", NULL, NULL },
};

static void set(const char *name, const char *value)
{
    if (value) setenv(name, value, 1);
}

/* Runs the case in a process of its own, as OpenMP reads its settings when it starts. */
static void run_host(const struct host *h, double *v)
{
    int pipes[2], status;
    assert_int_equal(pipe(pipes), 0);
    const pid_t child = fork();
    if (!child) {
        dup2(pipes[1], 3);
        set("OMP_NUM_THREADS", h->threads), set("OMP_THREAD_LIMIT", h->limit), set("OMP_DYNAMIC", h->dynamic);
        alarm(PATIENCE);
        execl("/proc/self/exe", "test", h->name, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    const ssize_t got = read(pipes[0], v, RESULTS * sizeof *v);
    close(pipes[0]);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) print_error("%s: hangs (signal %d)\n", h->name, WTERMSIG(status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(got, RESULTS * sizeof *v);
}

static void every_host_gets_an_end(void **state)
{
    (void)state;
    double wanted[RESULTS], v[RESULTS];
    work_of(1, wanted);
    for (int k = 0; k < RESULTS; k++) assert_true(isfinite(wanted[k]));
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        run_host(&hosts[i], v);
        assert_same(v, wanted, hosts[i].name);
    }
}

/* -- forks ----------------------------------------------------------------------------------------------- */

static void *work_in_a_thread(void *v)
{
    work_of(2, v);
    return NULL;
}

/* The device from before the fork, a new one, one in a thread, and those of a grandchild. */
static int child(ct_device *dev, const double *wanted, int generations)
{
    double v[RESULTS];
    int status = 0;
    alarm(PATIENCE);
    work(dev, v);
    assert_same(v, wanted, "of the device of before the fork");
    work_of(2, v);
    assert_same(v, wanted, "of a device of the child");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, work_in_a_thread, v), 0);
    pthread_join(thread, NULL);
    assert_same(v, wanted, "of a thread of the child");
    if (!generations) return 0;
    const pid_t next = fork();
    if (!next) _exit(child(dev, wanted, generations - 1));
    waitpid(next, &status, 0);
    return status != 0;
}

static void a_fork_works_on_one_thread(void **state)
{
    (void)state;
    double wanted[RESULTS], v[RESULTS];
    int status;
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 2 });
    work(dev, wanted);
    const pid_t forked = fork();
    if (!forked) _exit(child(dev, wanted, 1));
    work(dev, v); /* and the parent goes on */
    assert_same(v, wanted, "of the parent");
    waitpid(forked, &status, 0);
    if (WIFSIGNALED(status)) print_error("the child hangs (signal %d)\n", WTERMSIG(status));
    assert_int_equal(status, 0);
    ct_device_close(dev);
}

/* -- a busy machine -------------------------------------------------------------------------------------- */

/* A device whose regions have one thread computes the same bits. */
static void a_busy_machine_gives_the_same_bits(void **state)
{
    (void)state;
    double idle[RESULTS], busy[RESULTS];
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 3 });
    work(dev, idle);
    dev->pace.alone_until = INFINITY;
    assert_int_equal(ct__team(dev, 3), 1);
    work(dev, busy);
    assert_memory_equal(busy, idle, sizeof idle);
    ct_device_close(dev);
}

/* Elapsed time beyond processor time belongs to other programs, until they end. */
static void a_busy_machine_is_noticed(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 2 });
    ct__stopwatch waited = ct__pace_begin(dev->threads), worked = waited;
    waited.wall -= 1000, waited.cpu -= 300;
    worked.wall -= 1e6, worked.cpu -= 0.9e6;
    ct__pace_end(dev, &waited);
    assert_int_equal(ct__team(dev, 2), 1);
    dev->pace.alone_until = 1; /* long ago */
    assert_int_equal(ct__team(dev, 2), 2);
    ct__pace_end(dev, &worked);
    assert_int_equal(ct__team(dev, 2), 2);
    assert_true(dev->pace.alone_until == 0);
    ct_device_close(dev);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof hosts / sizeof *hosts; i++) {
        if (strcmp(argv[1], hosts[i].name)) continue;
        double v[RESULTS] = { 0 };
        hosts[i].run(v);
        return write(3, v, sizeof v) != sizeof v;
    }
    /* Not under a sanitizer that does not know OpenMP's threads. */
    const bool teams = omp_get_thread_limit() > 1;
    const struct CMUnitTest tests[] = {
        check_test_if(teams, cmocka_unit_test(every_host_gets_an_end)),
        cmocka_unit_test(a_fork_works_on_one_thread),
        cmocka_unit_test(a_busy_machine_gives_the_same_bits),
        check_test_if(teams, cmocka_unit_test(a_busy_machine_is_noticed)),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
