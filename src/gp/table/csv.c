/* Tables of numbers from CSV text [RFC 4180]: checks the options and reads the file. */
#include <cotangent/gp/csv.h>
#include <cotangent/io.h>

#include <stdlib.h>
#include <string.h>

#include "csv_error.h"
#include "csv_rows.h"
#include "gp/data/numbers.h"

static ct_status check_text(const ct__csv *r)
{
    size_t bytes = (size_t)(r->end - r->at);
    const unsigned char *lead = (const unsigned char *)r->at;
    if (bytes >= 2 && ((lead[0] == 0xff && lead[1] == 0xfe) || (lead[0] == 0xfe && lead[1] == 0xff)))
        return ct_device_fail(r->device, CT_EFORMAT, "%s: UTF-16 text: save it as UTF-8", r->label);
    if (bytes >= 4 && !memcmp(lead, "PK\3\4", 4))
        return ct_device_fail(r->device, CT_EFORMAT, "%s: a workbook, or another archive: export it as CSV",
                              r->label);
    if (bytes >= 2 && lead[0] == 0x1f && lead[1] == 0x8b)
        return ct_device_fail(r->device, CT_EFORMAT, "%s: a compressed file: unpack it with gunzip",
                              r->label);
    const char *nul = memchr(r->at, 0, bytes);
    int64_t line = 1;
    if (!nul) return CT_OK;
    for (const char *p = r->at; p < nul; p++) line += *p == '\n';
    return ct_device_fail(r->device, CT_EFORMAT, "%s:%lld: a NUL byte: this is no CSV text", r->label,
                          (long long)line);
}

static bool check_dialect(ct_device *device, ct__dialect d)
{
    const char s = d.separator;
    if (s && (strchr("+-.\"?#%\r\n", s) || (s >= '0' && s <= '9') || (s >= 'a' && s <= 'z') ||
              (s >= 'A' && s <= 'Z')))
        return ct_device_fail(device, CT_EINVAL, "CSV: character %d cannot be a delimiter", s), false;
    if (d.decimal && d.decimal != '.' && d.decimal != ',')
        return ct_device_fail(device, CT_EINVAL, "CSV: character %d cannot be a decimal sign: . or ,",
                              d.decimal),
               false;
    return true;
}

static ct_table *parse_text(ct_device *device, const char *label, const char *text, size_t bytes,
                            const ct_csv_options *options)
{
    options = options ? options : &(ct_csv_options){ 0 };
    const ct__dialect d = { options->delimiter, options->decimal };
    if (!check_dialect(device, d)) return NULL;
    ct_table *t = ct__gp_alloc(device, 1, sizeof *t);
    if (!t) return NULL;
    t->device = ct_device_retain(device);
    char shown[CT_SHOWN_PATH];
    ct__csv r = { .device = device,
                  .label = ct_show_path(label, shown),
                  .at = text,
                  .end = text + bytes,
                  .dialect = d,
                  .options = options,
                  .line = 1 };
    ct_status s = check_text(&r);
    if (!s) s = ct__csv_rows(&r, t);
    free(r.scratch);
    if (!s) return t;
    ct_table_free(t);
    return NULL;
}

ct_table *ct_csv_parse(ct_device *device, const char *text, size_t bytes, const ct_csv_options *options)
{
    if (ct_device_status(device)) return NULL;
    if (!text && bytes) {
        ct_device_fail(device, CT_EINVAL, "CSV: the text is NULL");
        return NULL;
    }
    const char *label = options && options->label ? options->label : "csv";
    return parse_text(device, label, text ? text : "", bytes, options);
}

ct_table *ct_csv_read(ct_device *device, const char *path, const ct_csv_options *options)
{
    ct_bytes b;
    if (ct_bytes_load(device, path, &b)) return NULL;
    ct_table *t = parse_text(device, path, b.data, b.size, options);
    ct_bytes_free(device, &b);
    return t;
}

ct_tensor *ct_csv_load(ct_device *device, const char *path)
{
    ct_table *t = ct_csv_read(device, path, NULL);
    ct_tensor *result = ct_table_tensor(t, CT_F64, NULL, 0);
    ct_table_free(t);
    return result;
}
