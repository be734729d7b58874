#include "csv_times.h"

#include <math.h>
#include <string.h>

void ct__times_add(ct__times *k, const ct__field *f)
{
    double days[CT__TIME_FORMS];
    for (int form = 0; form < CT__TIME_FORMS; form++)
        k->times[form] += ct_time_read_as(f->text, f->size, (ct_time_form)form, &days[form]) == CT_TIME;
    const double day = days[CT_TIME_DAY_FIRST], month = days[CT_TIME_MONTH_FIRST];
    if (k->line || isnan(day) || isnan(month) || day == month) return;
    k->line = f->line;
    ct_show_text(f->text, f->size, k->text);
}

void ct__times_add_number(ct__times *k, double value)
{
    double days;
    k->numbers++;
    k->digits += ct_time_from_digits(value, &days);
    k->largest = fmax(k->largest, fabs(value));
}

int64_t ct__times_most(const ct__times *k)
{
    int64_t most = k->digits == k->numbers ? k->digits : 0;
    for (int form = 0; form < CT__TIME_FORMS; form++)
        if (k->times[form] > most) most = k->times[form];
    return most;
}

/* The first form that reads the most texts. The order of day and month is told by a text whose day is above
 * 12, or by the caller. */
static ct_status find_form(ct__times *k, const ct__csv *r, const char *name, ct_time_form said)
{
    char shown[CT_SHOWN_TEXT];
    for (int form = 1; form < CT__TIME_FORMS; form++)
        if (k->times[form] > k->times[k->form]) k->form = (ct_time_form)form;
    const bool either = k->form == CT_TIME_DAY_FIRST && k->line &&
                        k->times[CT_TIME_MONTH_FIRST] == k->times[CT_TIME_DAY_FIRST];
    if (!either) return CT_OK;
    k->form = said;
    if (said == CT_TIME_DAY_FIRST || said == CT_TIME_MONTH_FIRST) return CT_OK;
    return ct_device_fail(
        r->device, CT_EFORMAT,
        "%s:%lld: column \"%s\": the day or the month may be first in \"%s\": state the order of dates",
        r->label, (long long)k->line, ct_show_text(name, strlen(name), shown), k->text);
}

static void find_unit(ct__times *k, ct_time_form said)
{
    k->per_day = k->largest > 1e11 ? 86400e3 : 86400;
    if (said != CT_TIME_EXCEL && k->digits == k->numbers) k->form = CT_TIME_DIGITS;
    if (said != CT_TIME_EXCEL) return;
    k->form = said;
    k->per_day = 1;
    k->zero = 25569; /* days from 1899-12-30 to 1970-01-01 */
}

/* Says how the times are read, unless in ISO 8601's form. */
static void note_form(const ct__times *k, ct_table *t, const char *name)
{
    static const char *const forms[] = { [CT_TIME_ISO] = "seconds since 1970",
                                         [CT_TIME_YEAR_FIRST] = "dates with the year first",
                                         [CT_TIME_DAY_FIRST] = "dates with the day before the month",
                                         [CT_TIME_MONTH_FIRST] = "dates with the month before the day",
                                         [CT_TIME_CLOCK] = "times of day",
                                         [CT_TIME_DIGITS] = "dates such as 20240131",
                                         [CT_TIME_EXCEL] = "days since 1899-12-30" };
    char shown[CT_SHOWN_TEXT];
    if (k->form || k->per_day)
        ct__csv_note(t, "column '%s' is read as %s%s", ct_show_text(name, strlen(name), shown),
                     !k->form && k->per_day > 86400 ? "milli" : "", forms[k->form]);
}

ct_status ct__times_choose(ct__times *k, const ct__csv *r, ct_table *t, ct_column *c, ct_time_form said,
                           bool numbers)
{
    ct_status s = CT_OK;
    if (numbers)
        find_unit(k, said);
    else
        s = find_form(k, r, c->name, said);
    if (s) return s;
    note_form(k, t, c->name);
    c->form = k->form;
    return CT_OK;
}

ct_time ct__times_read(const ct__times *k, const ct__field *f, double *days)
{
    if (k->form == CT_TIME_DIGITS) return ct_time_from_digits(*days, days) ? CT_TIME : CT_TIME_IMPOSSIBLE;
    if (!k->per_day) return ct_time_read_as(f->text, f->size, k->form, days);
    *days = (*days - k->zero) / k->per_day;
    return CT_TIME;
}
