/* The problems of gradbench.h for ADOL-C. */
#ifndef ADOLC_PROBLEMS_H
#define ADOLC_PROBLEMS_H

#include <adolc/adolc.h>
#include <functional>
#include <vector>

using numbers = std::vector<double>;
using tape_numbers = std::vector<adouble>;

/* A function of x with that many results. */
struct problem {
    numbers x;
    size_t outputs;
    std::function<void(const tape_numbers &x, tape_numbers &y)> f;
    size_t blocks = 1;   /* f is of one of that many blocks of x; they are alike */
    size_t fixed = 0;    /* the last inputs of a block, which are no variables   */
    bool newton = false; /* the derivative is Newton's step                      */
};

problem lse(size_t n, size_t m), llsq(size_t n, size_t m), gmm(size_t n, size_t m), det(size_t n, size_t m),
    kmeans(size_t n, size_t m), ode(size_t n, size_t m), lstm(size_t n, size_t m), ht(size_t n, size_t m),
    ba(size_t n, size_t m);

#endif
