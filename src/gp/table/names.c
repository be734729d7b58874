/* How far two names are apart. */
#include <cotangent/gp/column.h>

#include <ctype.h>
#include <limits.h>
#include <string.h>

enum { MOST = 48 }; /* letters of a name */

static int smaller(int a, int b) { return a < b ? a : b; }

static bool same(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

int ct_name_distance(const char *a, const char *b)
{
    const int n = a ? (int)strnlen(a, MOST + 1) : MOST + 1, m = b ? (int)strnlen(b, MOST + 1) : MOST + 1;
    int d[MOST + 1][MOST + 1]; /* of the first i letters of a from the first j of b */
    if (n > MOST || m > MOST) return INT_MAX;
    for (int i = 0; i <= n; i++) {
        for (int j = 0; j <= m; j++) {
            d[i][j] = i && j ? smaller(d[i - 1][j - 1] + !same(a[i - 1], b[j - 1]),
                                       smaller(d[i - 1][j], d[i][j - 1]) + 1)
                             : i + j;
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[n][m];
}

bool ct_name_is_near(const char *asked, int distance)
{
    return asked && distance <= ((int)strnlen(asked, MOST) + 1) / 3;
}
