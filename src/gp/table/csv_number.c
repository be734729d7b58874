/* Numbers in the forms of tables: 1.5 or 1,5; 50%; 1,000 or 1.000 in groups of three. */
#include "csv_number.h"

#include "letters.h"
#include "number.h"

/* [sign] 1 to 3 digits, the first not 0, (group 3 digits)+ [decimal digits*] */
static bool is_grouped(const char *p, size_t size, char group, char decimal)
{
    const char *end = p + size;
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || *p == '0') return false;
    int digits = 0, groups = 0;
    for (; p < end && *p != decimal; p++) {
        if (*p == group) {
            if (groups++ ? digits != 3 : digits < 1 || digits > 3) return false;
            digits = 0;
        } else if (!ct__is_digit(*p) || ++digits > 3) {
            return false;
        }
    }
    if (!groups || digits != 3) return false;
    if (p < end) p++;
    while (p < end && ct__is_digit(*p)) p++;
    return p == end;
}

ct_number ct__csv_number(const ct__field *f, char decimal, int *form, double *value)
{
    const char *text = f->text;
    size_t n = f->size;
    ct__trim(&text, &n);
    ct_number k =
        decimal == '.' ? ct_number_read(text, n, value) : ct__number_read(text, n, decimal, -1, value);
    *form = k == CT_NUMBER ? CT__BARE : 0;
    if (k != CT_NUMBER_NONE) return k;

    int written = CT__BARE;
    if (n > 1 && text[n - 1] == '%') {
        written = CT__PERCENT;
        n--;
        ct__trim(&text, &n);
        k = ct__number_read(text, n, decimal, -1, value);
    }
    const char group = decimal == '.' ? ',' : '.';
    if (k == CT_NUMBER_NONE && is_grouped(text, n, group, decimal)) {
        written |= CT__GROUPED;
        k = ct__number_read(text, n, decimal, (unsigned char)group, value);
    }
    if (k == CT_NUMBER_MISSING) k = CT_NUMBER_NONE; /* NA% */
    if (k == CT_NUMBER) *form = written;
    return k;
}
