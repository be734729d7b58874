/* The command line: a table of options, which is also their help. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int code_of(ct_status status)
{
    switch (status) {
    case CT_ENUMERIC: return CODE_NUMERIC;
    case CT_EIO: return CODE_IO;
    case CT_ENOMEM: return CODE_MEMORY;
    case CT_EDEVICE:
    case CT_EUNSUPPORTED: return CODE_UNSUPPORTED;
    default: return CODE_DATA;
    }
}

/* If the device has no message, ctgp itself lacked memory. */
void fail_device(ctgp *c, const ct_device *device, const char *what)
{
    ct_status status = ct_last_status(device);
    fail_message(c, status ? code_of(status) : CODE_MEMORY, what,
                 status ? ct_message(device) : "out of memory");
}

void end_output(ctgp *c)
{
    const bool bad = ferror(stdout);
    if (fflush(stdout) || bad) fail(c, CODE_IO, "standard output could not be written");
}

void end_output_of_model(ctgp *c, const char *path)
{
    end_output(c);
    if (c->code > CODE_OK) note("the model is kept in %s", path);
}

static void print_help(const command *c)
{
    printf("usage: ctgp %s %s [options]\n\n%s\n\n", c->name, c->arguments, c->summary);
    for (int i = 0; i < c->n_options; i++) {
        char left[64];
        const option *o = &c->options[i];
        snprintf(left, sizeof left, "%s %s", o->name, o->value ? o->value : "");
        printf("  %-28s %s\n", left, o->help);
    }
    printf("  %-28s %s\n", "--help", "this text");
    if (c->details) printf("\n%s\n", c->details);
}

static const option *find_option(const command *c, const char *name, size_t length)
{
    for (int i = 0; i < c->n_options; i++)
        if (strlen(c->options[i].name) == length && !strncmp(c->options[i].name, name, length))
            return &c->options[i];
    return NULL;
}

void parse_arguments(ctgp *c, const command *of, int argc, char **argv, const char **positional)
{
    if (!going(c)) return;
    int found = 0, most = of->n_positional + of->n_optional;
    bool only_files = false;
    for (int i = 0; i < most; i++) positional[i] = NULL;
    for (int i = 1; i < argc && going(c); i++) {
        const char *word = argv[i], *equals = strchr(word, '=');
        const option *o = find_option(of, word, equals ? (size_t)(equals - word) : strlen(word));
        const bool file = only_files || word[0] != '-' || !word[1];
        if (file && found == most) {
            fail(c, CODE_USAGE, "'%s' is one argument too many: ctgp %s %s", word, of->name, of->arguments);
        } else if (file) {
            positional[found++] = word;
        } else if (!strcmp(word, "--")) {
            only_files = true;
        } else if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
            print_help(of);
            stop(c, CODE_OK);
        } else if (!o) {
            fail(c, CODE_USAGE, "'%s' is no option of %s; 'ctgp help %s' lists them", word, of->name,
                 of->name);
        } else if (o->value && *o->text) {
            fail(c, CODE_USAGE, "%s is given twice", o->name);
        } else if (!o->value && equals) {
            fail(c, CODE_USAGE, "%s takes no value", o->name);
        } else if (o->value && !equals && i + 1 == argc) {
            fail(c, CODE_USAGE, "%s needs a value: %s %s", o->name, o->name, o->value);
        } else {
            *o->text = !o->value ? o->name : equals ? equals + 1 : argv[++i];
        }
    }
    if (going(c) && found < of->n_positional)
        fail(c, CODE_USAGE, "a file is missing: ctgp %s %s; 'ctgp help %s' tells more", of->name,
             of->arguments, of->name);
}

void parse_whole(ctgp *c, const char *name, const char *text, long lowest, long highest, long *out)
{
    if (!going(c)) return;
    if (!text) return;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < lowest || value > highest)
        fail(c, CODE_USAGE, "%s: '%s' is no whole number from %ld to %ld", name, text, lowest, highest);
    else
        *out = value;
}

void parse_share(ctgp *c, const char *name, const char *text, double *out)
{
    if (!going(c)) return;
    if (!text || (ct_number_read(text, strlen(text), out) == CT_NUMBER && *out > 0 && *out < 1)) return;
    fail(c, CODE_USAGE, "%s: '%s' is not a number between 0 and 1", name, text);
}

void parse_choice(ctgp *c, const char *name, const char *text, const char *const *choices, int n, int *out)
{
    if (!going(c)) return;
    if (!text) return;
    for (int i = 0; i < n; i++)
        if (!strcmp(text, choices[i])) {
            *out = i;
            return;
        }
    char list[128] = "";
    for (int i = 0; i < n; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0       ? ""
                 : i == n - 1 ? " or "
                              : ", ",
                 choices[i]);
    }
    fail(c, CODE_USAGE, "%s: '%s' is not %s", name, text, list);
}

void add_name(char *list, size_t size, const char *name)
{
    static const char rest[] = ", ...";
    const size_t used = strlen(list), room = size - sizeof rest;
    const bool cut = used >= sizeof rest && !strcmp(list + used + 1 - sizeof rest, rest);
    if (used + strlen(name) + 2 <= room)
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
    else if (!cut)
        strcpy(list + used, rest);
}

bool is_file(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISREG(info.st_mode);
}

static bool same_file(const char *a, const char *b)
{
    struct stat p, q;
    return !stat(a, &p) && !stat(b, &q) && S_ISREG(p.st_mode) && p.st_dev == q.st_dev && p.st_ino == q.st_ino;
}

void keep_apart(ctgp *c, const char *name, const char *out, const char *argument, const char *in)
{
    if (!going(c)) return;
    if (!out || !strcmp(out, "-") || !strcmp(in, "-") || !same_file(out, in)) return;
    fail(c, CODE_USAGE, "%s %s is the file of %s, which it would overwrite: give it another name", name, out,
         argument);
}
