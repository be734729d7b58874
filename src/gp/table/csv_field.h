/* Fields and lines of CSV text. */
#ifndef CT_GP_CSV_FIELD_H
#define CT_GP_CSV_FIELD_H

#include <cotangent/gp/csv.h>

/* How a table is written. */
typedef struct ct__dialect {
    char separator; /* ' ' stands for a run of blanks */
    char decimal;   /* '.' or ','                     */
} ct__dialect;

typedef struct ct__csv {
    ct_device *device;
    const char *label, *at, *end;
    ct__dialect dialect;
    const ct_csv_options *options;
    int64_t line; /* of `at`, from 1 */
    bool looking; /* text that is no CSV is CT_EFORMAT without a message */
    char *scratch;
    size_t scratch_bytes;
} ct__csv;

typedef struct ct__field {
    const char *text;
    size_t size;
    int64_t line;
    bool last; /* of its row */
    bool quoted;
} ct__field;

/* A place in the text, to which one can go back. */
typedef struct ct__place {
    const char *at;
    int64_t line;
} ct__place;

static inline ct__place ct__csv_place(const ct__csv *r) { return (ct__place){ r->at, r->line }; }
static inline void ct__csv_go_to(ct__csv *r, ct__place p) { r->at = p.at, r->line = p.line; }

/* Reads the next field of a row. Its text is a slice of the input, or is in the scratch until the next
 * field. */
ct_status ct__csv_field(ct__csv *r, ct__field *f);
/* Skips empty lines and returns their number. At the end of the text r->at == r->end. */
int64_t ct__csv_pass_empty(ct__csv *r);
/* Whether the line begins with #, but not with the missing value #N/A. */
bool ct__csv_is_remark(ct__csv *r);
void ct__csv_pass_line(ct__csv *r);
/* Skips empty lines and remarks up to the next row. Returns false at the end. */
bool ct__csv_find_row(ct__csv *r);
/* The number of fields of the line at r->at; -1 if it is no row. */
int64_t ct__csv_count(ct__csv *r);

#endif
