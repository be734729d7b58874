#include "adolc_problems.h"

#include <algorithm>
#include <cmath>

static numbers sines(size_t n, double first, double scale)
{
    numbers v(n);
    for (size_t i = 0; i < n; i++) v[i] = scale * sin(first + 0.1 * (double)i * (double)i);
    return v;
}

problem lse(size_t n, size_t)
{
    const numbers x = sines(n, 1, 5);
    const double top = *std::max_element(x.begin(), x.end());
    return { x, 1, [=](const tape_numbers &x, tape_numbers &y) {
                adouble sum = 0;
                for (const adouble &v : x) sum += exp(v - top);
                y[0] = top + log(sum);
            } };
}

problem llsq(size_t n, size_t m)
{
    return { sines(m, 1, 1), 1, [=](const tape_numbers &x, tape_numbers &y) {
                y[0] = 0;
                for (size_t i = 0; i < n; i++) {
                    const double t = -1 + 2.0 * (double)i / (double)(n - 1);
                    adouble r = (t > 0) - (t < 0);
                    double power = 1;
                    for (size_t j = 0; j < m; j++, power *= t) r -= x[j] * power;
                    y[0] += 0.5 * r * r;
                }
            } };
}

static adouble logsumexp(const tape_numbers &x)
{
    double top = -INFINITY;
    for (const adouble &v : x) top = std::max(top, v.value());
    adouble sum = 0;
    for (const adouble &v : x) sum += exp(v - top);
    return top + log(sum);
}

problem gmm(size_t n, size_t m)
{
    const size_t points = 1000, size = n * (n + 1) / 2;
    const numbers p = sines(points * n, 0.5, 2);
    return { sines(m * (1 + n + size), 1, 0.5), 1, [=](const tape_numbers &x, tape_numbers &y) {
                const adouble *mu = &x[m], *v = mu + m * n;
                tape_numbers Q(m * size), logs(m), main(m), d(n);
                adouble prior = 0, alpha_sum;
                for (size_t k = 0; k < m; k++) {
                    logs[k] = 0;
                    for (size_t i = 0, at = 0; i < n; i++)
                        for (size_t j = 0; j <= i; j++, at++) {
                            const adouble &q = v[k * size + at];
                            if (i == j) logs[k] += q;
                            Q[k * size + at] = i == j ? exp(q) : q;
                            prior += 0.5 * Q[k * size + at] * Q[k * size + at];
                        }
                    prior -= logs[k];
                }
                y[0] = 0;
                for (size_t point = 0; point < points; point++) {
                    for (size_t k = 0; k < m; k++) {
                        main[k] = x[k] + logs[k];
                        for (size_t i = 0; i < n; i++) d[i] = p[point * n + i] - mu[k * n + i];
                        for (size_t i = 0, at = k * size; i < n; i++) {
                            adouble z = 0;
                            for (size_t j = 0; j <= i; j++, at++) z += Q[at] * d[j];
                            main[k] -= 0.5 * z * z;
                        }
                    }
                    y[0] += logsumexp(main);
                }
                y[0] -= (double)points * logsumexp(tape_numbers(x.begin(), x.begin() + (long)m)) + prior;
            } };
}

static adouble minors(const tape_numbers &A, size_t n, const std::vector<size_t> &left)
{
    const size_t r = n - left.size();
    if (left.size() == 1) return A[r * n + left[0]];
    adouble sum = 0;
    for (size_t j = 0; j < left.size(); j++) {
        std::vector<size_t> rest = left;
        rest.erase(rest.begin() + (long)j);
        const adouble term = A[r * n + left[j]] * minors(A, n, rest);
        if (j % 2)
            sum -= term;
        else
            sum += term;
    }
    return sum;
}

problem det(size_t n, size_t)
{
    return { sines(n * n, 1, 1), 1, [=](const tape_numbers &A, tape_numbers &y) {
                std::vector<size_t> all(n);
                for (size_t j = 0; j < n; j++) all[j] = j;
                y[0] = minors(A, n, all);
            } };
}

problem kmeans(size_t n, size_t m)
{
    const numbers p = sines(n * 8, 1, 1), centres = sines(m * 8, 0.5, 1);
    problem newton = { centres, 1, [=](const tape_numbers &C, tape_numbers &y) {
                          y[0] = 0;
                          for (size_t i = 0; i < n; i++) { /* the nearest centre, which the tape fixes */
                              size_t nearest = 0;
                              double least = INFINITY;
                              for (size_t j = 0; j < m; j++) {
                                  double d = 0;
                                  for (size_t k = 0; k < 8; k++)
                                      d += pow(centres[j * 8 + k] - p[i * 8 + k], 2);
                                  if (d < least) least = d, nearest = j;
                              }
                              for (size_t k = 0; k < 8; k++) {
                                  const adouble d = C[nearest * 8 + k] - p[i * 8 + k];
                                  y[0] += d * d;
                              }
                          }
                      } };
    newton.newton = true;
    return newton;
}

problem ode(size_t n, size_t m)
{
    return { sines(n, 1, 1), 1, [=](const tape_numbers &x, tape_numbers &sum) {
                const double h = 2.0 / (double)m;
                tape_numbers y(n, 0), k1(n), k2(n), k3(n), k4(n), at(n);
                const auto slope = [&](const tape_numbers &y, tape_numbers &k) {
                    k[0] = x[0];
                    for (size_t i = 1; i < n; i++) k[i] = x[i] * y[i - 1];
                };
                const auto moved = [&](double by, const tape_numbers &k) {
                    for (size_t i = 0; i < n; i++) at[i] = y[i] + by * k[i];
                };
                for (size_t step = 0; step < m; step++) {
                    slope(y, k1);
                    moved(h / 2, k1), slope(at, k2);
                    moved(h / 2, k2), slope(at, k3);
                    moved(h, k3), slope(at, k4);
                    for (size_t i = 0; i < n; i++) y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
                }
                sum[0] = 0;
                for (const adouble &v : y) sum[0] += v;
            } };
}

static adouble sigmoid(const adouble &v) { return 1 / (1 + exp(-v)); }

problem lstm(size_t n, size_t m)
{
    const size_t B = 14;
    const numbers sequence = sines(n * B, 0.5, 1), state = sines(2 * m * B, 0.25, 1);
    return { sines((8 * m + 3) * B, 1, 0.5), 1, [=](const tape_numbers &x, tape_numbers &sum) {
                const auto row = [&](size_t i) { return &x[i * B]; };
                std::vector<tape_numbers> hidden(m, tape_numbers(B)), memory = hidden;
                for (size_t i = 0; i < m; i++)
                    for (size_t k = 0; k < B; k++)
                        hidden[i][k] = state[2 * i * B + k], memory[i][k] = state[(2 * i + 1) * B + k];
                adouble total = 0;
                tape_numbers in(B), y(B);
                for (size_t t = 0; t + 1 < n; t++) {
                    for (size_t k = 0; k < B; k++) in[k] = sequence[t * B + k] * row(8 * m)[k];
                    for (size_t i = 0; i < m; i++)
                        for (size_t k = 0; k < B; k++) {
                            const auto gate = [&](size_t g, const adouble &v) {
                                return v * row(8 * i + g)[k] + row(8 * i + 4 + g)[k];
                            };
                            adouble &h = hidden[i][k], &c = memory[i][k];
                            c = c * sigmoid(gate(0, in[k])) + sigmoid(gate(1, h)) * tanh(gate(3, h));
                            h = sigmoid(gate(2, in[k])) * tanh(c);
                            in[k] = h;
                        }
                    adouble norm = 2;
                    for (size_t k = 0; k < B; k++) {
                        y[k] = in[k] * row(8 * m + 1)[k] + row(8 * m + 2)[k];
                        norm += exp(y[k]);
                    }
                    norm = log(norm);
                    for (size_t k = 0; k < B; k++) total += sequence[(t + 1) * B + k] * (y[k] - norm);
                }
                sum[0] = total * (-1.0 / (double)(B * (n - 1)));
            } };
}

problem ht(size_t n, size_t m)
{
    const numbers bones = sines(m * 3, 0.5, 1), points = sines(n * 3, 0.25, 1),
                  weights = sines(n * m, 0.75, 1.0 / (double)m), measured = sines(n * 3, 2, 1);
    return { sines(2 * m, 1, 0.5), 3 * n, [=](const tape_numbers &x, tape_numbers &r) {
                tape_numbers frame(9), end(3);
                for (size_t i = 0; i < 3 * n; i++) r[i] = measured[i];
                for (size_t b = 0; b < m; b++) {
                    const adouble ca = cos(x[2 * b]), sa = sin(x[2 * b]), cb = cos(x[2 * b + 1]),
                                  sb = sin(x[2 * b + 1]);
                    const tape_numbers here = { ca, -sa * cb, sa * sb, sa, ca * cb, -ca * sb, 0, sb, cb };
                    tape_numbers now = here;
                    for (size_t i = 0; b % 4 && i < 9; i++) {
                        now[i] = 0;
                        for (size_t k = 0; k < 3; k++) now[i] += frame[i / 3 * 3 + k] * here[3 * k + i % 3];
                    }
                    frame = now;
                    for (size_t i = 0; i < 3; i++) {
                        if (b % 4 == 0) end[i] = 0;
                        for (size_t k = 0; k < 3; k++) end[i] += frame[3 * i + k] * bones[3 * b + k];
                    }
                    for (size_t p = 0; p < n; p++)
                        for (size_t i = 0; i < 3; i++) {
                            adouble there = end[i];
                            for (size_t k = 0; k < 3; k++) there += frame[3 * i + k] * points[3 * p + k];
                            r[3 * p + i] -= weights[p * m + b] * there;
                        }
                }
            } };
}

/* An observation's error. The feature is in its block, fixed. */
problem ba(size_t n, size_t)
{
    const numbers x = sines(n * 15, 1, 0.3), feature = sines(n * 2, 0.5, 1);
    numbers blocks;
    for (size_t i = 0; i < n; i++) {
        blocks.insert(blocks.end(), &x[15 * i], &x[15 * i] + 15);
        blocks.insert(blocks.end(), &feature[2 * i], &feature[2 * i] + 2);
    }
    problem p = { blocks, 2, [](const tape_numbers &x, tape_numbers &r) {
                     adouble w[3], d[3], turned[3], along = 0;
                     const adouble angle = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]), c = cos(angle),
                                   s = sin(angle);
                     for (int i = 0; i < 3; i++) w[i] = x[i] / angle, d[i] = x[11 + i] - x[3 + i];
                     for (int i = 0; i < 3; i++) along += w[i] * d[i];
                     for (int i = 0; i < 3; i++) {
                         const int j = (i + 1) % 3, k = (i + 2) % 3;
                         turned[i] = d[i] * c + (w[j] * d[k] - w[k] * d[j]) * s + w[i] * along * (1 - c);
                     }
                     const adouble u = turned[0] / (turned[2] + 3), v = turned[1] / (turned[2] + 3),
                                   rr = u * u + v * v, distortion = x[9] * rr + x[10] * rr * rr + 1;
                     r[0] = (u * distortion * x[6] + x[7] - x[15]) * x[14];
                     r[1] = (v * distortion * x[6] + x[8] - x[16]) * x[14];
                 } };
    p.blocks = n;
    p.fixed = 2;
    return p;
}
