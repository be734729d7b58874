/* The tables of maps.h as kernels that compute in T, on elements stored as S: the includer defines T, FN(f)
 * and NAME(n). A kernel serves a whole table: the choice is the same for all threads, and what it costs
 * vanishes beside the memory. */

template <typename S> static __global__ void NAME(value1)(ct__span s, int f, double p0, double p1)
{
    const double p[2] = { p0, p1 };
    CT__EACH(i, s.count)
    {
        const ct__located<2> at(s, i);
        const T x = (T)((const S *)s.data[1])[at[1]];
        T y = 0;
        switch (f) {
#define VALUE(name, value, derivative, vjp) \
    case CT_MAP_##name: y = (T)(value); break;
            CT_MAPS1(VALUE)
#undef VALUE
        }
        ((S *)s.data[0])[at[0]] = (S)y;
    }
}

/* out = g f'(x) over out, x, y, g */
template <typename S> static __global__ void NAME(bar1)(ct__span s, int f, double p0, double p1)
{
    const double p[2] = { p0, p1 };
    CT__EACH(i, s.count)
    {
        const ct__located<4> at(s, i);
        const T x = (T)((const S *)s.data[1])[at[1]], y = (T)((const S *)s.data[2])[at[2]],
                g = (T)((const S *)s.data[3])[at[3]];
        T slope = 0;
        switch (f) {
#define SLOPE(name, value, derivative, vjp) \
    case CT_MAP_##name: slope = (T)(derivative); break;
            CT_MAPS1(SLOPE)
#undef SLOPE
        }
        ((S *)s.data[0])[at[0]] = (S)(g * slope);
    }
}

template <typename S> static __global__ void NAME(value2)(ct__span s, int f)
{
    CT__EACH(i, s.count)
    {
        const ct__located<3> at(s, i);
        const T a = (T)((const S *)s.data[1])[at[1]], b = (T)((const S *)s.data[2])[at[2]];
        T y = 0;
        switch (f) {
#define VALUE(name, value, derivative_a, derivative_b, vjp_a, vjp_b) \
    case CT_MAP_##name: y = (T)(value); break;
            CT_MAPS2(VALUE)
#undef VALUE
        }
        ((S *)s.data[0])[at[0]] = (S)y;
    }
}

/* out = g ∂f/∂a or g ∂f/∂b over out, a, b, g */
template <typename S> static __global__ void NAME(bar2)(ct__span s, int f, int side)
{
    CT__EACH(i, s.count)
    {
        const ct__located<4> at(s, i);
        const T a = (T)((const S *)s.data[1])[at[1]], b = (T)((const S *)s.data[2])[at[2]],
                g = (T)((const S *)s.data[3])[at[3]];
        T slope = 0;
        switch (f) {
#define SLOPE(name, value, derivative_a, derivative_b, vjp_a, vjp_b) \
    case CT_MAP_##name: slope = side ? (T)(derivative_b) : (T)(derivative_a); break;
            CT_MAPS2(SLOPE)
#undef SLOPE
        }
        ((S *)s.data[0])[at[0]] = (S)(g * slope);
    }
}
