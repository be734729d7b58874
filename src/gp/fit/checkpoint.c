/* The checkpoint of a fit. The optimisers cannot save their state, but they repeat the same steps if they get
 * the same values. So the file is a log of the evaluations. All numbers are little-endian.
 *
 *     magic "\211CTFIT\r\n", u32 version, u64 fingerprint, u64 CRC-64 of all before
 *     records of one size, each:
 *         key: u64 model, u32 start, step, f64 z[P]
 *         u32 failed, f64 value, jitter, error, gradient[P], u64 CRC-64 of the record before it
 *
 * P is the largest number of parameters of the fit's models; smaller models are padded with zeros. The
 * fingerprint is that of all models and options, `model` that of the record's model. Records are appended, so
 * a crash harms no earlier record. Unfinished or damaged records are dropped, and their evaluations
 * repeated. */
#define _XOPEN_SOURCE 700
#include "checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gp/data/crc64.h"
#include "gp/data/numbers.h"
#include "gp/file/fingerprint.h"
#include "gp/file/stream.h"

static const char magic[8] = { '\211', 'C', 'T', 'F', 'I', 'T', '\r', '\n' };
enum { VERSION = 1, HEADER = 28 };

/* -- layouts, each for both directions ------------------------------------------------------------------- */

static bool pass_header(unsigned char bytes[HEADER], int *version, uint64_t *print, bool reading)
{
    ct__stream s = { .data = bytes, .size = HEADER, .reading = reading };
    char first[sizeof magic];
    memcpy(first, magic, sizeof magic);
    ct__stream_bytes(&s, first, sizeof first);
    *version = ct__stream_small(&s, *version, INT32_MAX);
    ct__stream_numbers(&s, print, 1, 8);
    ct__stream_seal(&s);
    return !s.bad;
}

static bool pass_record(const ct__checkpoint *c, ct__evaluation *e, unsigned char *record, bool reading)
{
    ct__stream s = { .data = record, .size = c->size, .reading = reading };
    ct__stream_numbers(&s, &e->model, 1, 8);
    e->start = ct__stream_small(&s, e->start, INT32_MAX);
    e->step = ct__stream_small(&s, e->step, INT32_MAX);
    ct__stream_numbers(&s, e->z, (size_t)e->n, 8);
    s.at = c->key;
    e->failed = ct__stream_small(&s, e->failed, 1);
    ct__stream_numbers(&s, e->number, (size_t)(CT__GRADIENT + e->n), 8);
    s.at = c->size - 8;
    ct__stream_seal(&s);
    return !s.bad;
}

/* -- fingerprints ---------------------------------------------------------------------------------------- */

static uint64_t options_print(const ct_fit_options *o)
{
    unsigned char bytes[64];
    ct__stream s = { .data = bytes, .size = sizeof bytes };
    const int whole[] = { (int)o->optimizer, (int)o->objective, (int)o->precision,
                          o->restarts - CT_FIT_NO_RESTARTS, o->max_iterations };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) ct__stream_small(&s, whole[i], INT32_MAX);
    ct__stream_numbers(&s, (double[]){ o->tolerance, o->learning_rate }, 2, 8);
    ct__stream_numbers(&s, (uint64_t[]){ o->seed }, 1, 8);
    return ct__stream_crc(&s);
}

/* -- the file -------------------------------------------------------------------------------------------- */

static ct_status refuse(ct_device *device, ct_status status, const char *path, const char *what)
{
    return ct_device_fail(device, status, "%.200s: %s", path, what);
}

/* Compacts the good records of the file; *bytes: the size of the file's part that stays. */
static ct_status read_file(ct__checkpoint *c, ct_device *device, const char *path, uint64_t print,
                           uint64_t *bytes)
{
    ct_status s = ct_bytes_load(device, path, &c->before);
    if (s) return s;
    unsigned char *data = c->before.data;
    int version = 0;
    uint64_t found = 0;
    if (c->before.size < HEADER || memcmp(data, magic, sizeof magic) != 0)
        return refuse(device, CT_EFORMAT, path,
                      "not the checkpoint of a fit, or cut short: give the checkpoint another name");
    bool good = pass_header(data, &version, &found, true);
    if (version != VERSION)
        return refuse(device, CT_EFORMAT, path,
                      "a checkpoint of another version of this library: give the checkpoint another name");
    if (!good) return refuse(device, CT_EFORMAT, path, "the checkpoint is damaged: remove it to begin anew");
    if (found != print)
        return refuse(device, CT_EINVAL, path,
                      "a checkpoint of other data, kernels or options: give the checkpoint another name, or "
                      "remove this one");
    size_t whole = (c->before.size - HEADER) / c->size;
    c->good = data + HEADER;
    for (size_t i = 0; i < whole; i++) {
        unsigned char *record = c->good + i * c->size, *to = c->good + (size_t)c->count * c->size;
        ct__stream at = { .data = record, .at = c->size - 8, .size = c->size, .reading = true };
        ct__stream_seal(&at);
        if (!at.bad && to != record) memcpy(to, record, c->size);
        c->count += !at.bad;
    }
    *bytes = HEADER + whole * c->size;
    return CT_OK;
}

static ct_status open_file(ct__checkpoint *c, ct_device *device, const char *path, uint64_t print)
{
    struct stat info;
    unsigned char header[HEADER];
    uint64_t bytes = HEADER;
    ct_status s;
    if (stat(path, &info)) {
        pass_header(header, &(int){ VERSION }, &print, false);
        s = ct_bytes_save(device, path, header, sizeof header);
    } else if (S_ISREG(info.st_mode)) {
        s = read_file(c, device, path, print, &bytes);
    } else {
        s = refuse(device, CT_EIO, path, "not a regular file: give the checkpoint another name");
    }
    if (!s && !(c->file = ct_append_open(device, path, bytes))) s = ct_last_status(device);
    return s;
}

ct_status ct__checkpoint_open(ct__checkpoint **opened, const char *path, ct_gp *const *models, int64_t count,
                              const ct_fit_options *options, uint64_t print)
{
    ct_device *device = ct_gp_device(models[0]);
    int64_t numbers = 0;
    uint64_t part = options_print(options);
    print = ct__crc64_more(print, &part, sizeof part);
    for (int64_t i = 0; i < count; i++) {
        ct_status s = ct__gp_fingerprint(models[i], &part);
        if (s) return s;
        print = ct__crc64_more(print, &part, sizeof part);
        if (ct_gp_params(models[i]) > numbers) numbers = ct_gp_params(models[i]);
    }
    ct__checkpoint *c = ct__gp_alloc(device, 1, sizeof *c);
    if (!c) return CT_ENOMEM;
    c->device = device;
    c->key = 16 + 8 * (size_t)numbers;
    c->size = c->key + 28 + 8 * (size_t)numbers + 8;
    ct_status s = open_file(c, device, path, print);
    if (s)
        ct__checkpoint_close(c);
    else
        *opened = c;
    return s;
}

void ct__checkpoint_close(ct__checkpoint *c)
{
    if (!c) return;
    ct_append_close(c->file);
    ct_bytes_free(c->device, &c->before);
    free(c);
}

/* -- its records ----------------------------------------------------------------------------------------- */

bool ct__checkpoint_find(const ct__checkpoint *c, int64_t *at, ct__evaluation *e)
{
    pass_record(c, e, e->record, false);
    for (int64_t i = 0; i < c->count; i++, *at = (*at + 1) % c->count) {
        unsigned char *record = c->good + (size_t)*at * c->size;
        if (memcmp(record, e->record, c->key) != 0) continue;
        bool good = pass_record(c, e, record, true) && (e->failed ? e->step > 1 : e->number[CT__ERROR] >= 0);
        for (int64_t j = 0; j < CT__GRADIENT + e->n && good && !e->failed; j++) good = isfinite(e->number[j]);
        if (good) return true;
    }
    return false;
}

ct_status ct__checkpoint_add(ct__checkpoint *c, ct_device *device, ct__evaluation *e)
{
    if (e->failed && e->step == 1) return CT_OK; /* it ends the search with its own message */
    pass_record(c, e, e->record, false);
    ct_status s = ct_append_bytes(c->file, e->record, c->size);
    if (s && !c->message[0]) snprintf(c->message, sizeof c->message, "%s", ct_message(c->device));
    return s ? ct_device_fail(device, s, "%s", c->message) : CT_OK;
}
