/* A hash table with open addressing. Texts with the same key are one level. */
#include "csv_levels.h"

#include <cotangent/gp/number.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"
#include "letters.h"

/* -- keys ------------------------------------------------------------------------------------------------ */

typedef struct key {
    const char *text;
    size_t size;
    char of_number[CT_NUMBER_TEXT];
} key;

/* The key is yes, no, true or false in lower case; the shortest text of a number below 2^53; else the text
 * itself. */
static void make_key(key *k, const char *text, size_t size)
{
    static const char *const words[] = { "yes", "no", "true", "false" };
    double value;
    k->text = text;
    k->size = size;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ct__is_word(text, size, words[i])) k->text = words[i];
    if (ct_number_read(text, size, &value) != CT_NUMBER || fabs(value) >= 9007199254740992.0) return;
    k->size = ct_number_write(value + 0.0, 0, k->of_number); /* -0 + 0 = 0 */
    k->text = k->of_number;
}

/* FNV-1a */
static uint64_t hash_of(const key *k)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < k->size; i++) h = (h ^ (unsigned char)k->text[i]) * 1099511628211u;
    return h;
}

static bool is_level(const ct__levels *l, int64_t i, const key *wanted)
{
    key k;
    const char *text = l->text + l->at[i];
    make_key(&k, text, strlen(text));
    return k.size == wanted->size && !memcmp(k.text, wanted->text, k.size);
}

/* -- the table ------------------------------------------------------------------------------------------- */

/* The slot that holds the key, or the free slot where it belongs. */
static size_t slot_of(const ct__levels *l, const key *k)
{
    size_t i = hash_of(k) & (l->slots - 1);
    while (l->slot[i] >= 0 && !is_level(l, l->slot[i], k)) i = (i + 1) & (l->slots - 1);
    return i;
}

int64_t ct__levels_find(const ct__levels *l, const char *text, size_t size)
{
    key k;
    make_key(&k, text, size);
    return l->slots ? l->slot[slot_of(l, &k)] : -1;
}

/* Makes room for one more level, with at most half of the slots used. */
static bool grow_table(ct__levels *l)
{
    if (2 * (l->n + 1) <= l->slots) return true;
    const size_t wanted = l->slots ? 2 * l->slots : 16;
    int64_t *slot = ct__gp_alloc(l->device, wanted, sizeof *slot);
    if (!slot) return false;
    free(l->slot);
    l->slot = slot;
    l->slots = wanted;
    for (size_t i = 0; i < wanted; i++) slot[i] = -1;
    for (size_t i = 0; i < l->n; i++) {
        key k;
        make_key(&k, l->text + l->at[i], strlen(l->text + l->at[i]));
        slot[slot_of(l, &k)] = (int64_t)i;
    }
    return true;
}

static bool no_memory(const ct__levels *l)
{
    ct_device_fail(l->device, CT_ENOMEM, "out of memory: a category of more than %zu levels", l->n);
    return false;
}

static bool grow_texts(ct__levels *l, size_t bytes)
{
    if (l->room - l->used < bytes) {
        const size_t room = 2 * l->room + bytes + 64;
        char *text = realloc(l->text, room);
        if (!text) return no_memory(l);
        l->text = text;
        l->room = room;
    }
    if (l->n == l->capacity) {
        const size_t capacity = 2 * l->n + 16;
        size_t *at = realloc(l->at, capacity * sizeof *at);
        if (!at) return no_memory(l);
        l->at = at;
        l->capacity = capacity;
    }
    return true;
}

int64_t ct__levels_add(ct__levels *l, const char *text, size_t size)
{
    key k;
    make_key(&k, text, size);
    if (!grow_table(l)) return -1;
    int64_t *slot = &l->slot[slot_of(l, &k)];
    if (*slot >= 0) return *slot;
    if (!grow_texts(l, size + 1)) return -1;
    l->at[l->n] = l->used;
    memcpy(l->text + l->used, text, size);
    l->text[l->used + size] = 0;
    l->used += size + 1;
    return *slot = (int64_t)l->n++;
}

void ct__levels_drop(ct__levels *l)
{
    free(l->text);
    free(l->at);
    free(l->slot);
    *l = (ct__levels){ .device = l->device };
}

/* -- a column's own levels ------------------------------------------------------------------------------- */

typedef struct level {
    const char *text;
    int64_t number;
} level;

static int by_bytes(const void *a, const void *b)
{
    return strcmp(((const level *)a)->text, ((const level *)b)->text);
}

ct_status ct__levels_give(const ct__levels *l, ct_column *c, int64_t *number)
{
    if (!l->n) return CT_OK;
    level *order = ct__gp_alloc(l->device, l->n, sizeof *order);
    const char **levels = ct__gp_alloc(l->device, l->n * sizeof *levels + l->used, 1); /* and their texts */
    if (!order || !levels) {
        free(order);
        free(levels);
        return CT_ENOMEM;
    }
    for (size_t i = 0; i < l->n; i++) order[i] = (level){ l->text + l->at[i], (int64_t)i };
    if (number) qsort(order, l->n, sizeof *order, by_bytes);
    char *to = (char *)(levels + l->n);
    for (size_t i = 0; i < l->n; i++) {
        const size_t size = strlen(order[i].text) + 1;
        levels[i] = memcpy(to, order[i].text, size);
        to += size;
        if (number) number[order[i].number] = (int64_t)i;
    }
    free(order);
    c->levels = levels;
    c->n_levels = (int64_t)l->n;
    return CT_OK;
}
