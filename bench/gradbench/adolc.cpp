/* The problems of gradbench.h on a scalar tape, that of ADOL-C. A problem is recorded once, and then its tape
 * is evaluated and differentiated, which is the fastest use of it. Arguments: cases (lse-2500x1); for each a
 * line as in bench.h and one with the results. */
#include "adolc_problems.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

static void record(short tape, const problem &p)
{
    const size_t inputs = p.x.size() / p.blocks;
    tape_numbers x(inputs), y(p.outputs);
    double out;
    if (p.blocks > 1)
        trace_on(tape);
    else
        trace_on(tape, 0, 1u << 27, 1u << 28, 1u << 24, 1u << 24); /* so that the tape stays in memory */
    for (size_t i = 0; i < inputs; i++) x[i] <<= p.x[i];
    p.f(x, y);
    for (adouble &v : y) v >>= out;
    trace_off();
}

/* The results, and the derivative as gradbench.h has it. */
static double run(short tape, const problem &p, numbers &derivative)
{
    const size_t n = p.x.size() / p.blocks, m = p.outputs, kept = n - p.fixed;
    double value = 0;
    numbers y(m), J(m * n);
    std::vector<double *> row(m);
    for (size_t i = 0; i < m; i++) row[i] = &J[i * n];
    derivative.clear();
    for (size_t b = 0; b < p.blocks; b++) {
        double *x = const_cast<double *>(&p.x[b * n]);
        if (m == 1) {
            function(tape, 1, (int)n, x, &value);
            gradient(tape, (int)n, x, J.data());
        } else {
            function(tape, (int)m, (int)n, x, y.data());
            jacobian(tape, (int)m, (int)n, x, row.data());
            for (double v : y) value += v * v;
        }
        for (size_t i = 0; i < m; i++) derivative.insert(derivative.end(), row[i], row[i] + kept);
    }
    if (p.newton) {
        numbers ones(n, 1), h(n);
        hess_vec(tape, (int)n, const_cast<double *>(p.x.data()), ones.data(), h.data());
        for (size_t i = 0; i < n; i++) derivative[i] /= h[i];
    }
    return value;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        problem (*make)(size_t n, size_t m);
    } problems[] = { { "lse", lse }, { "llsq", llsq }, { "gmm", gmm }, { "det", det }, { "kmeans", kmeans },
                     { "ode", ode }, { "lstm", lstm }, { "ht", ht },   { "ba", ba } };
    for (int i = 1; i < argc; i++) {
        char name[16];
        size_t n, m;
        if (sscanf(argv[i], "%15[a-z]-%zux%zu", name, &n, &m) != 3) return 2;
        for (const auto &q : problems) {
            if (strcmp(q.name, name)) continue;
            const problem p = q.make(n, m);
            record((short)i, p);
            numbers d;
            double value = 0, best = INFINITY, spent = 0, sum = 0;
            for (int turn = 0; turn < 3 || spent < 0.3; turn++) {
                const auto start = std::chrono::steady_clock::now();
                value = run((short)i, p, d);
                const double took =
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
                best = std::min(best, took), spent += took;
            }
            for (size_t k = 0; k < d.size(); k++) sum += d[k] * cos((double)k);
            printf("bench=gradbench case=%s who=adolc n=%zu dtype=f64 pass=training seconds=%.3g\n", argv[i],
                   n, best);
            printf("# case=%s y=%.15g derivative=%.15g\n", argv[i], value, sum);
            fflush(stdout);
        }
    }
    return 0;
}
