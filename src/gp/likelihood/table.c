#include "table.h"

/* The first row that is made for a feature computes the model; the last one computes all others. */
static const ct__likelihood *const table[] = {
    &ct__mixed_precision, &ct__leave_one_out, &ct__over_processes, &ct__restricted,
    &ct__shared,          &ct__joint,         &ct__dense
};
enum { ROWS = sizeof table / sizeof *table, REFUSALS = sizeof table[0]->refusal / sizeof *table[0]->refusal };

unsigned ct__features_of(const ct_gp_options *o, ct_dtype dtype)
{
    const bool given = o->noise == CT_NOISE_GIVEN || o->noise == CT_NOISE_GIVEN_PLUS;
    return (dtype == CT_F32 ? CT__IN_F32 : 0) | (ct__comm_is_one(o->comm) ? 0 : CT__ON_PROCESSES) |
           (o->mean == CT_MEAN_BASIS ? CT__WITH_BASIS : 0) |
           (o->mean == CT_MEAN_CONSTANT || o->mean == CT_MEAN_ZERO ? 0 : CT__WITH_MEAN) |
           (o->transform ? CT__WITH_TRANSFORM : 0) | (o->noise == CT_NOISE_LEARNED ? 0 : CT__WITH_NOISE) |
           (given ? CT__WITH_GIVEN_NOISE : 0);
}

unsigned ct__features_of_fit(const ct_fit_options *o)
{
    return (o->objective == CT_OBJECTIVE_LOO ? CT__BY_LEAVE_ONE_OUT : 0) |
           (o->precision == CT_PRECISION_MIXED ? CT__IN_MIXED_PRECISION : 0);
}

const ct__likelihood *ct__likelihood_for(ct_device *device, unsigned features, const ct_gp *gp,
                                         const char *who)
{
    const ct__likelihood *found = NULL;
    for (int i = 0; i < ROWS; i++) {
        const ct__likelihood *row = table[i];
        if (row->is && !(row->is & features)) continue;
        for (int k = 0; k < REFUSALS; k++)
            if (row->refusal[k].features & features) {
                ct_device_fail(device, CT_EUNSUPPORTED, "%s: %s", who, row->refusal[k].why);
                return NULL;
            }
        if (!found && (!gp || !row->able || row->able(gp))) found = row;
    }
    return found;
}

void ct__likelihood_take(ct_gp *gp, unsigned more)
{
    /* What only makes a difference when a model is made is left out. */
    const unsigned made = CT__IN_F32 | CT__ON_PROCESSES | CT__WITH_BASIS;
    gp->likelihood.features = (ct__features_of(&gp->options, gp->rows.dtype) & made) | more;
    gp->likelihood.row = ct__likelihood_for(gp->device, gp->likelihood.features, gp, "ct_gp_new");
}
