/* A column's term of s for one pair of points, safe from overflow and underflow: differences, sines and
 * coordinates are divided by the lengthscale first. The including file defines CAREFUL(name) (a function's
 * name), CAREFUL_FN (its qualifiers) and SINE_SQUARE(t, square, slope): sin²(πt) and sin(2πt). */

/* The term of coordinates a and b. *by_x: its derivative in a. *turns: of the sine, for which an infinity
 * counts as whole. */
CAREFUL_FN double CAREFUL(term)(int geometry, double a, double b, double l, double period, bool wide,
                                double *by_x, double *turns)
{
    const double t = (a - b) / l, far = sqrt(CT__FAR(wide));
    double square = 0, slope = 0;
    *turns = (a - b) / period;
    *by_x = 2 * (t > far ? far : t < -far ? -far : t) / l;
    if (geometry == CT_DISTANCE) return t * t;
    if (geometry == CT_SINE && !isinf(*turns)) SINE_SQUARE(*turns, &square, &slope);
    *by_x = geometry == CT_DOT ? (b / l) / l : slope == 0 ? 0 : (slope / l / l) * CT__PI / period;
    if (geometry == CT_DIFFER) return a != a || b != b ? (double)NAN : (a != b) / l;
    return geometry == CT_DOT ? (a / l) * (b / l) : square / l / l;
}
