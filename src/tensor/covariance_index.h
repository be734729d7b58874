/* CT_COV_INDEX as a table B = W Wᵀ + diag κ over slots. W (levels, rank) is followed in memory by κ. A code's
 * slot is its level; a number that is no level has slot `levels`, and one that is not finite the next slot.
 * The including file defines T (the number type), INDEX(name) (a function's name) and INDEX_FN (its
 * qualifiers). */

INDEX_FN int INDEX(slot)(T code, int levels)
{
    if (!(code - code == 0)) return levels + 1;
    return code >= 0 && code < (T)levels && (T)(int)code == code ? (int)code : levels;
}

/* A code that is no level has the mean variance of the levels, and covariance 0 with each of them. */
INDEX_FN T INDEX(value)(const T *W, int levels, int rank, int a, int b)
{
    const int of_W = levels * rank;
    T sum = 0;
    if (a > levels || b > levels) return (T)NAN;
    for (int i = 0; i < of_W + levels && a == levels && b == levels; i++)
        sum += (i < of_W ? W[i] * W[i] : W[i]) / (T)levels;
    if (a == levels || b == levels) return sum;
    for (int k = 0; k < rank; k++) sum += W[a * rank + k] * W[b * rank + k];
    return a == b ? sum + W[of_W + a] : sum;
}

/* Given h = B̄_ab: W̄_a += h W_b, W̄_b += h W_a, κ̄_a += [a = b] h. κ̄ follows W_bar in memory; elements are
 * `step` apart. */
INDEX_FN void INDEX(bar)(const T *W, int levels, int rank, int a, int b, double h, double *W_bar, int step)
{
    const int of_W = levels * rank;
    for (int i = 0; i < of_W + levels && a == levels && b == levels; i++)
        W_bar[i * step] += h * (i < of_W ? 2 * (double)W[i] : 1) / levels;
    if (a >= levels || b >= levels) return;
    for (int k = 0; k < rank; k++) {
        W_bar[(a * rank + k) * step] += h * (double)W[b * rank + k];
        W_bar[(b * rank + k) * step] += h * (double)W[a * rank + k];
    }
    if (a == b) W_bar[(of_W + a) * step] += h;
}
