/* Bounds of parameters, from the command line. */
#include "bounds.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "columns.h"
#include "failure.h"
#include "names.h"
#include "text.h"

_Noreturn static void no_parameter(ctgp *c, const ct_gp *gp, const char *flag, const char *name)
{
    name_choice all = { .asked = name };
    for (int64_t i = 0; i < ct_gp_params(gp); i++) add_name(&all, param_label(c, gp, i));
    fail(c, CODE_USAGE, "%s: the model has no parameter '%s'; it has %s%s", flag, name, all.list, all.guess);
}

static void bound_one(ctgp *c, ct_gp *gp, int64_t i, const char *flag, bool upper, double value)
{
    ct_param p = *ct_gp_param(gp, i);
    if (p.fixed) fail(c, CODE_USAGE, "%s: %s is held by the kernel's text", flag, param_label(c, gp, i));
    *(upper ? &p.upper : &p.lower) = value;
    if (p.lower > p.upper)
        fail(c, CODE_USAGE, "%s: %s would have to be at least %g and at most %g", flag, param_label(c, gp, i),
             p.lower, p.upper);
    p.value = fmin(fmax(p.value, p.lower), p.upper);
    if (ct_gp_set_param(gp, i, &p)) fail(c, CODE_USAGE, "%s: %s", flag, ct_message(c->device));
}

/* NAME=VALUE bounds the parameter of that name, or those that fit the name as a pattern. */
static void bound(ctgp *c, ct_gp *gp, const char *flag, bool upper, char *text)
{
    double value;
    char *equals = strrchr(text, '=');
    if (!equals || ct_number_read(equals + 1, strlen(equals + 1), &value) != CT_NUMBER)
        fail(c, CODE_USAGE, "%s: '%s' is not NAME=VALUE", flag, text);
    *equals = 0;
    int64_t exact = ct_gp_find(gp, text);
    bool any = false;
    for (int64_t i = 0; i < ct_gp_params(gp) && exact < 0; i++)
        if (!strcmp(param_label(c, gp, i), text)) exact = i;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        if (exact >= 0 ? i != exact : fnmatch(text, ct_gp_param(gp, i)->name, 0) != 0) continue;
        any = true;
        bound_one(c, gp, i, flag, upper, value);
    }
    if (!any) no_parameter(c, gp, flag, text);
}

void set_bounds(ctgp *c, ct_gp *gp, const settings *s)
{
    const char *const flag[] = { "--lower", "--upper" }, *const text[] = { s->lower, s->upper };
    for (int k = 0; k < 2; k++) {
        const name_list list = split_names(c, text[k]);
        for (int64_t i = 0; i < list.n; i++) bound(c, gp, flag[k], k == 1, list.name[i]);
    }
}
