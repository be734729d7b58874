/* Models over a communicator of threads, each with a device and a view of it of its own, beside a model of
 * one process: the same numbers and the same failures. The threads exchange messages as transport.h says,
 * without MPI. */
#include "gp_support.h"

#include "gp/comm/comm.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- a transport over threads ---------------------------------------------------------------------------- */

enum { MOST = 6, POSTS = 1 << 12 };

/* The n-th call of a part: what its processes have posted. */
typedef struct post {
    char *from[MOST];
    int taken;
} post;

/* A part of a communicator: all processes, a row or a column of their grid. Each counts its own calls. */
typedef struct part {
    int size, calls[MOST];
    post posts[POSTS];
    struct {
        int call, root;
        void *data;
        size_t bytes;
    } pending[MOST][CT__MOST_MESSAGES];
} part;

static part parts[1 + 2 * MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
static int broken = -1; /* the rank whose next message fails */

static void send(part *l, int call, int rank, const void *data, size_t bytes)
{
    char *copy = malloc(bytes + 1);
    if (bytes) memcpy(copy, data, bytes);
    pthread_mutex_lock(&lock);
    l->posts[call].from[rank] = copy;
    pthread_cond_broadcast(&posted);
    pthread_mutex_unlock(&lock);
}

/* Waits for what `rank` posts; the last of `readers` frees it. */
static const char *receive(part *l, int call, int rank)
{
    pthread_mutex_lock(&lock);
    while (!l->posts[call].from[rank]) pthread_cond_wait(&posted, &lock);
    pthread_mutex_unlock(&lock);
    return l->posts[call].from[rank];
}

static void done(part *l, int call, int rank, int readers)
{
    pthread_mutex_lock(&lock);
    if (++l->posts[call].taken == readers) {
        free(l->posts[call].from[rank]);
        l->posts[call] = (post){ .taken = 0 };
    }
    pthread_mutex_unlock(&lock);
}

static int wait_all(ct__subcomm *own)
{
    part *l = &parts[own->communicator];
    for (int i = 0; i < own->messages; i++) {
        const int call = l->pending[own->rank][i].call, root = l->pending[own->rank][i].root;
        const char *from = receive(l, call, root);
        if (l->pending[own->rank][i].bytes)
            memcpy(l->pending[own->rank][i].data, from, l->pending[own->rank][i].bytes);
        done(l, call, root, own->size - 1);
    }
    own->messages = 0;
    return 0;
}

/* Until it has arrived, the data are noise. */
static int broadcast(ct__subcomm *own, void *data, size_t bytes, int root)
{
    part *l = &parts[own->communicator];
    if (broken == own->rank) return 1;
    if (own->messages == CT__MOST_MESSAGES) wait_all(own);
    const int call = l->calls[own->rank]++ % POSTS;
    if (own->rank == root) {
        send(l, call, root, data, bytes);
        return 0;
    }
    if (bytes) memset(data, 0x5a, bytes);
    l->pending[own->rank][own->messages].call = call;
    l->pending[own->rank][own->messages].root = root;
    l->pending[own->rank][own->messages].data = data;
    l->pending[own->rank][own->messages++].bytes = bytes;
    return 0;
}

static void add(ct_dtype dtype, void *to, const void *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (dtype == CT_F64)
            ((double *)to)[i] += ((const double *)from)[i];
        else if (dtype == CT_F32)
            ((float *)to)[i] += ((const float *)from)[i];
        else if (((const int64_t *)from)[i] > ((int64_t *)to)[i])
            ((int64_t *)to)[i] = ((const int64_t *)from)[i];
}

static int reduce(const ct__subcomm *own, ct_dtype dtype, void *data, int64_t count, int root)
{
    part *l = &parts[own->communicator];
    const size_t bytes = (size_t)count * ct_dtype_size(dtype);
    if (broken == own->rank) return 1;
    const int call = l->calls[own->rank]++ % POSTS;
    if (own->rank != root) {
        send(l, call, own->rank, data, bytes);
        return 0;
    }
    for (int r = 0; r < own->size; r++)
        if (r != root) {
            add(dtype, data, receive(l, call, r), count);
            free(l->posts[call].from[r]);
            l->posts[call].from[r] = NULL;
        }
    return 0;
}

static void describe(int error, char text[256]) { snprintf(text, 256, "error %d of the threads", error); }
static void close_parts(ct__subcomm own[CT__SUBCOMMS], bool started) { (void)own, (void)started; }

static const ct__transport transport = { .version = CT__TRANSPORT_VERSION,
                                         .close = close_parts,
                                         .broadcast = broadcast,
                                         .wait = wait_all,
                                         .reduce = reduce,
                                         .describe = describe };

static ct_comm *comm_of(int rank, int size)
{
    int rows = 1;
    for (int r = 1; r * r <= size; r++)
        if (size % r == 0) rows = r;
    const int cols = size / rows, row = rank / cols, col = rank % cols;
    ct_comm *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->transport = &transport;
    g->sub[CT__COMM_ALL] = (ct__subcomm){ .rank = rank, .size = size };
    g->sub[CT__COMM_ROW] = (ct__subcomm){ .communicator = 1 + row, .rank = col, .size = cols };
    g->sub[CT__COMM_COLUMN] = (ct__subcomm){ .communicator = 1 + MOST + col, .rank = row, .size = rows };
    return g;
}

/* -- processes ------------------------------------------------------------------------------------------- */

enum { NUMBERS = 20000 };

/* What a process does with its communicator (NULL: alone), and what it finds. */
typedef struct process {
    void (*run)(struct process *p);
    int rank, size;
    ct_device *device;
    ct_comm *comm;
    int64_t n;        /* rows */
    const char *path; /* of a model file, or NULL */
    bool ahead;       /* all sweeps have room for two panels */
    const char *kernel;
    ct_dtype dtype;
    ct_status status;
    char message[512];
    int64_t count;
    double *number;
} process;

static void *start(void *p_)
{
    process *p = p_;
    p->device = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
    p->number = calloc(NUMBERS, sizeof *p->number);
    p->run(p);
    snprintf(p->message, sizeof p->message, "%s", ct_message(p->device));
    ct_device_close(p->device);
    return NULL;
}

/* Runs `like` in `size` processes; with 1 alone. */
static void run_all(process like, int size, process p[MOST])
{
    pthread_t thread[MOST];
    memset(parts, 0, sizeof parts);
    for (int r = 0; r < size; r++) {
        p[r] = like;
        p[r].rank = r, p[r].size = size;
        p[r].comm = size > 1 ? comm_of(r, size) : NULL;
        if (size > 1) p[r].comm->ahead = like.ahead;
    }
    for (int r = 0; r < size; r++) assert_int_equal(pthread_create(&thread[r], NULL, start, &p[r]), 0);
    for (int r = 0; r < size; r++) assert_int_equal(pthread_join(thread[r], NULL), 0);
    for (int r = 0; r < size; r++) ct_comm_free(p[r].comm);
}

static void drop(process *p, int size)
{
    for (int r = 0; r < size; r++) free(p[r].number);
}

static void keep(process *p, const double *x, int64_t count)
{
    if (p->status || p->count + count > NUMBERS) return;
    if (count) memcpy(p->number + p->count, x, (size_t)count * sizeof *x);
    p->count += count;
}

static void keep_tensor(process *p, ct_status status, ct_tensor *t)
{
    if (!p->status) p->status = status;
    double *x = p->status ? NULL : gp_host(t);
    if (x) keep(p, x, ct_tensor_count(t));
    free(x);
    ct_release(t);
}

static ct_tensor *table(process *p, ct_shape shape, uint64_t seed)
{
    ct_tensor *wide = ct_rand_uniform(p->device, CT_F64, shape, seed, 0), *t = ct_tensor_cast(wide, p->dtype);
    ct_release(wide);
    return t;
}

static ct_tensor *zeros(process *p, ct_shape shape) { return ct_zeros(p->device, p->dtype, shape); }

/* -- the same numbers ------------------------------------------------------------------------------------ */

/* All that a model computes from its covariance matrix. */
static void model(process *p)
{
    enum { M = 7 };
    ct_tensor *X = table(p, ct_shape2(p->n, 3), 1), *y = table(p, ct_shape1(p->n), 2),
              *Xs = table(p, ct_shape2(M, 3), 3);
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse(p->kernel),
                          &(ct_gp_options){ .mean = CT_MEAN_CONSTANT, .comm = p->comm });
    p->status = gp ? CT_OK : ct_last_status(p->device);
    if (gp) {
        const int64_t params = ct_gp_params(gp);
        double u[32], value, slope[32];
        for (int64_t i = 0; i < params; i++) {
            const ct_param *q = ct_gp_param(gp, i);
            u[i] = q->lower < 0 ? q->value : log(q->value);
        }
        p->status = ct_gp_objective(gp, u, &value, slope);
        keep(p, &value, 1);
        keep(p, slope, params);
        value = ct_gp_nlml_value(gp);
        keep(p, &value, 1);
        ct_tensor *mean = zeros(p, ct_shape1(M)), *variance = zeros(p, ct_shape1(M)),
                  *full = zeros(p, ct_shape2(M, M)), *drawn = zeros(p, ct_shape2(2, M)),
                  *loo = zeros(p, ct_shape1(p->n)), *folds = zeros(p, ct_shape1(p->n));
        ct_status s = ct_gp_predict(gp, Xs, mean, variance);
        keep_tensor(p, s, mean);
        keep_tensor(p, s, variance);
        keep_tensor(p, ct_gp_predict_full(gp, Xs, true, NULL, full), full);
        keep_tensor(p, ct_gp_sample(gp, Xs, true, 5, drawn), drawn);
        keep_tensor(p, ct_gp_loo(gp, loo, NULL, NULL), loo);
        int64_t *fold = calloc((size_t)p->n, sizeof *fold);
        for (int64_t i = 0; i < p->n && fold; i++) fold[i] = i * 7 % 4;
        keep_tensor(p, ct_gp_cross_validate(gp, fold, folds, NULL, NULL), folds);
        free(fold);
        if (p->path) {
            if (!p->status) p->status = ct_gp_save(gp, p->path);
            ct_gp *loaded = ct_gp_load_for(p->device, p->path, p->comm);
            if (!p->status && !loaded) p->status = ct_last_status(p->device);
            value = ct_gp_nlml_value(loaded);
            keep(p, &value, 1);
            ct_gp_free(loaded);
        }
    }
    ct_gp_free(gp);
    ct_release(X), ct_release(y), ct_release(Xs);
}

static void expect_the_same(process like, int size, double tolerance)
{
    process alone[MOST], many[MOST];
    run_all(like, 1, alone);
    run_all(like, size, many);
    assert_ok(alone->status, alone->message);
    for (int r = 0; r < size; r++) {
        assert_ok(many[r].status, many[r].message);
        assert_int_equal(many[r].count, alone->count);
        for (int64_t i = 0; i < alone->count; i++)
            if (!check_close(many[r].number[i], alone->number[i], tolerance, tolerance))
                fail_msg("%lld rows, process %d of %d: number %lld is %.17g, not %.17g", (long long)like.n, r,
                         size, (long long)i, many[r].number[i], alone->number[i]);
    }
    drop(alone, 1), drop(many, size);
}

/* Grids of one to two rows, and matrices that end anywhere in a tile. */
static void every_grid(void **state)
{
    (void)state;
    static const int64_t n[] = { 1, 2, 25, 48, 100, 257 };
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (int size = 2; size <= MOST; size += 2)
            expect_the_same(
                (process){ .run = model, .n = n[i], .kernel = "scale * rbf(ard)", .dtype = CT_F64 }, size,
                1e-9);
}

/* Process 0 writes what all have, and all read it. */
static void a_file(void **state)
{
    (void)state;
    char path[256];
    gp_temporary(path);
    expect_the_same(
        (process){ .run = model, .n = 100, .kernel = "scale * rbf", .dtype = CT_F64, .path = path }, 6, 1e-9);
    unlink(path);
}

static void two_panels(void **state)
{
    (void)state;
    expect_the_same(
        (process){ .run = model, .n = 200, .kernel = "scale * rbf", .dtype = CT_F64, .ahead = true }, 4,
        1e-9);
}

static void other_kernels(void **state)
{
    (void)state;
    static const char *const kernels[] = { "linear + matern52", "scale * periodic * rbf + white" };
    for (int k = 0; k < 2; k++)
        expect_the_same((process){ .run = model, .n = 90, .kernel = kernels[k], .dtype = CT_F64 }, 3, 1e-9);
    expect_the_same((process){ .run = model, .n = 90, .kernel = "scale * rbf", .dtype = CT_F32 }, 4, 3e-3);
}

/* -- the same failures ----------------------------------------------------------------------------------- */

/* The last process has another number in X. */
static void different_data(process *p)
{
    ct_tensor *X = table(p, ct_shape2(p->n, 3), 1), *y = table(p, ct_shape1(p->n), 2);
    if (p->rank == p->size - 1) ((double *)ct_tensor_data(X))[5] = 0.5;
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("rbf"), &(ct_gp_options){ .comm = p->comm });
    p->status = gp ? CT_OK : ct_last_status(p->device);
    ct_gp_free(gp);
    ct_release(X), ct_release(y);
}

static void data_that_differ(void **state)
{
    (void)state;
    process p[MOST];
    run_all((process){ .run = different_data, .n = 30, .dtype = CT_F64 }, 3, p);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(p[r].status, CT_EINVAL);
        assert_non_null(strstr(p[r].message, "differ between the processes: give all of them the same"));
        if (r != 2) assert_non_null(strstr(p[r].message, "process 2 of 3: "));
    }
    drop(p, 3);
}

/* Process 1 leaves a call in which the others still meet. */
static void different_calls(process *p)
{
    ct__comm_enter(p->comm);
    if (p->rank != 1) p->status = ct__comm_agree(p->comm, p->device, CT_OK, NULL);
    p->status = ct__comm_leave(p->comm, p->device, p->status);
}

static void calls_that_differ(void **state)
{
    (void)state;
    process p[MOST];
    run_all((process){ .run = different_calls }, 3, p);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(p[r].status, CT_EINVAL);
        assert_non_null(strstr(p[r].message, "the processes make different calls"));
    }
    drop(p, 3);
}

/* Process 1 has points of another width. */
static void other_points(process *p)
{
    ct_tensor *X = table(p, ct_shape2(p->n, 3), 1), *y = table(p, ct_shape1(p->n), 2),
              *Xs = zeros(p, ct_shape2(4, p->rank == 1 ? 2 : 3)), *mean = zeros(p, ct_shape1(4));
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("rbf"), &(ct_gp_options){ .comm = p->comm });
    p->status = gp ? ct_gp_predict(gp, Xs, mean, NULL) : ct_last_status(p->device);
    ct_gp_free(gp);
    ct_release(X), ct_release(y), ct_release(Xs), ct_release(mean);
}

static void a_failure_is_everyones(void **state)
{
    (void)state;
    process p[MOST];
    run_all((process){ .run = other_points, .n = 30, .dtype = CT_F64 }, 4, p);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(p[r].status, CT_ESHAPE);
        if (r != 1) assert_non_null(strstr(p[r].message, "process 1 of 4: "));
    }
    drop(p, 4);
}

/* A transport that fails ends every later call with its words, and the communicator stays unusable. */
static void lost_contact(void **state)
{
    (void)state;
    ct_comm *g = comm_of(0, 2);
    ct_device *device = ct_device_open("cpu");
    double number = 1;
    broken = 0;
    assert_int_equal(ct_comm_share(g, &number, sizeof number), CT_EIO);
    assert_string_equal(ct_comm_message(g), "the processes have lost contact: error 1 of the threads");
    broken = -1;
    assert_int_equal(ct_comm_status(g), CT_EIO);
    ct_tensor *X = ct_zeros(device, CT_F64, ct_shape2(3, 1)), *y = ct_zeros(device, CT_F64, ct_shape1(3));
    assert_refused(ct_gp_new(X, y, ct_kernel_parse("rbf"), &(ct_gp_options){ .comm = g }), device, CT_EIO,
                   "lost contact");
    ct_release(X), ct_release(y);
    ct_device_close(device);
    ct_comm_free(g);
}

/* -- communicators --------------------------------------------------------------------------------------- */

static void shared_numbers(process *p)
{
    int64_t number = 41 + p->rank;
    p->status = ct_comm_share(p->comm, &number, sizeof number);
    const double got[] = { (double)number, ct_comm_rank(p->comm), ct_comm_size(p->comm) };
    keep(p, got, 3);
}

static void sharing(void **state)
{
    (void)state;
    process p[MOST];
    run_all((process){ .run = shared_numbers, .dtype = CT_F64 }, 5, p);
    for (int r = 0; r < 5; r++) {
        assert_int_equal(p[r].status, CT_OK);
        assert_true(p[r].number[0] == 41 && p[r].number[1] == r && p[r].number[2] == 5);
    }
    drop(p, 5);
    assert_int_equal(ct_comm_share(NULL, NULL, 0), CT_EINVAL);
    assert_int_equal(ct_comm_status(NULL), CT_EINVAL);
    assert_string_equal(ct_comm_message(NULL), "the communicator is NULL");
    assert_int_equal(ct_comm_rank(NULL), 0);
    assert_int_equal(ct_comm_size(NULL), 1);
}

/* Without a launcher of MPI the world is this process. */
static void a_world_of_one(void **state)
{
    (void)state;
    ct_comm *world = ct_comm_world();
    double number = 3;
    assert_int_equal(ct_comm_status(world), CT_OK);
    assert_int_equal(ct_comm_size(world), 1);
    assert_int_equal(ct_comm_share(world, &number, sizeof number), CT_OK);
    assert_int_equal(ct_comm_share(world, NULL, sizeof number), CT_EINVAL);
    assert_true(number == 3);
    ct_comm_free(world);
    ct_comm_free(NULL);
}

#ifndef __SANITIZE_THREAD__ /* it refuses the second OpenBLAS that MPI's libraries bring along */
static void silent(void *context, const int *ranks, int n) { (void)context, (void)ranks, (void)n; }

/* A launcher without the module for MPI, or with one that does not start: every call has the reason. */
static void a_world_that_does_not_start(void **state)
{
    (void)state;
    setenv("PMI_SIZE", "2", 1);
    ct_comm *world = ct_comm_world();
    unsetenv("PMI_SIZE");
    const ct_status s = ct_comm_status(world);
    double number = 3;
    assert_true(s == CT_EUNSUPPORTED || s == CT_EIO);
    assert_non_null(strstr(ct_comm_message(world), "MPI"));
    assert_int_equal(ct_comm_share(world, &number, sizeof number), s);
    assert_int_equal(ct_comm_leave(world, CT_OK, ""), s);
    assert_int_equal(ct_comm_watch(world, 1, silent, NULL), s);
    assert_int_equal(ct_comm_watch(world, 0, silent, NULL), CT_EINVAL);
    assert_int_equal(ct_comm_watch(NULL, 1, silent, NULL), CT_EINVAL);
    assert_int_equal(ct_comm_leave(NULL, CT_OK, ""), CT_EINVAL);
    ct_comm_free(world);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_grid),
        cmocka_unit_test(a_file),
        cmocka_unit_test(two_panels),
        cmocka_unit_test(other_kernels),
        cmocka_unit_test(data_that_differ),
        cmocka_unit_test(calls_that_differ),
        cmocka_unit_test(a_failure_is_everyones),
        cmocka_unit_test(lost_contact),
        cmocka_unit_test(sharing),
        cmocka_unit_test(a_world_of_one),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(a_world_that_does_not_start),
#endif
    };
    return cmocka_run_group_tests_name("comm", tests, NULL, NULL);
}
