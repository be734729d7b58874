/* ctgp info: what the inputs stand for. */
#include "ctgp.h"

#include <math.h>

void read_ranges(ctgp *c, ct_gp *gp, column_range **range)
{
    const int64_t n = ct_gp_points(gp), d = ct_gp_dims(gp);
    double *x = NULL, *y = NULL;
    *range = take(c, d, sizeof **range, "columns");
    model_rows(c, gp, &x, &y);
    for (int64_t j = 0; j < d && going(c); j++) {
        column_range r = { INFINITY, -INFINITY };
        for (int64_t i = 0; i < n; i++) {
            r.low = fmin(r.low, x[i * d + j]);
            r.high = fmax(r.high, x[i * d + j]);
        }
        (*range)[j] = r;
    }
}

const char *value_text(const ct_gp *gp, const ct_param *p, char text[64])
{
    const ct_column *c = p->unit == CT_UNIT_INPUT ? ct_gp_input(gp, p->column) : NULL;
    snprintf(text, 64, "%.6g%s", p->value, c && c->kind == CT_COLUMN_TIME ? " days" : "");
    return text;
}

void json_parameters(json *j, const ct_gp *gp)
{
    json_open(j, "parameters", '{');
    for (int64_t i = 0; i < ct_gp_params(gp); i++)
        json_number(j, ct_gp_param(gp, i)->name, ct_gp_param(gp, i)->value);
    json_close(j, '}');
}

/* Times and categories: "date   time, 1949-01-01 to 1960-12-01", "city   category of 3: Bern, Chur, Genf" */
void print_columns(const ct_gp *gp, const column_range *range)
{
    enum { SHOWN = 5 };
    char first[CT_TIME_TEXT], last[CT_TIME_TEXT];
    for (int64_t j = 0; j < ct_gp_dims(gp); j++) {
        const ct_column *c = ct_gp_input(gp, j);
        if (c->kind == CT_COLUMN_NUMBER) continue;
        say(stdout, "  %-28s %s", c->name, kind_name(c->kind));
        ct_time_write(range[j].low, first);
        ct_time_write(range[j].high, last);
        if (c->kind == CT_COLUMN_TIME)
            printf(", %s to %s", first, last);
        else
            printf(" of %lld: ", (long long)c->n_levels);
        for (int64_t i = 0; i < c->n_levels && i < SHOWN; i++)
            say(stdout, "%s%s", i ? ", " : "", c->levels[i]);
        printf("%s\n", c->n_levels > SHOWN ? ", ..." : "");
    }
}

/* "columns": [{"name": "x", "kind": "category", "levels": ["a", "b"]},
 *             {"name": "t", "kind": "time", "first": "1949-01-01", "last": "1960-12-01"}, ...] */
void json_columns(json *j, const ct_gp *gp, const column_range *range)
{
    char time[CT_TIME_TEXT];
    json_open(j, "columns", '[');
    for (int64_t i = 0; i < ct_gp_dims(gp); i++) {
        const ct_column *c = ct_gp_input(gp, i);
        json_open(j, NULL, '{');
        json_string(j, "name", c->name);
        json_string(j, "kind", kind_name(c->kind));
        if (c->n_levels) json_open(j, "levels", '[');
        for (int64_t k = 0; k < c->n_levels; k++) json_string(j, NULL, c->levels[k]);
        if (c->n_levels) json_close(j, ']');
        for (int k = 0; k < 2 && c->kind == CT_COLUMN_TIME; k++) {
            ct_time_write(k ? range[i].high : range[i].low, time);
            json_string(j, k ? "last" : "first", time);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}
