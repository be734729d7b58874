#include "fields.h"

void ct__stream_fields(ct__stream *s, void *of, const ct__field *f, size_t count)
{
    for (const ct__field *end = f + count; f < end && !s->bad; f++) {
        void *const at = (char *)of + f->at;
        const bool narrow = f->type == CT__FIELD_INT;
        int64_t wide = narrow ? *(int *)at : 0;
        switch (f->type) {
        case CT__FIELD_ENUM: *(int *)at = ct__stream_small(s, *(int *)at, (int)f->most); continue;
        case CT__FIELD_BOOL: *(bool *)at = ct__stream_small(s, *(bool *)at, 1); continue;
        default: ct__stream_numbers(s, narrow ? &wide : at, 1, 8);
        }
        if (f->type == CT__FIELD_ANY) continue;
        const double value = narrow                     ? (double)wide
                             : f->type == CT__FIELD_I64 ? (double)*(int64_t *)at
                                                        : *(double *)at;
        s->bad |= !(value >= f->least && value <= f->most);
        if (narrow && !s->bad) *(int *)at = (int)wide;
    }
}
