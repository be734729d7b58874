/* The command line: a table of options, which is also their help. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "context.h"
#include "dialect.h"
#include "failure.h"
#include "text.h"

/* -- the options of a command, its own and those that several have -- */

enum { MOST_OPTIONS = 48 };

/* A command line that is read. */
typedef struct line {
    const command *of;
    const char **files; /* [MOST_FILES] */
    int n_files, n;
    option option[MOST_OPTIONS];     /* [n] */
    const char *given[MOST_OPTIONS]; /* their values; NULL where they are not given */
} line;

static void list_options(ctgp *c, line *l, dialect *d)
{
    const struct {
        int of;
        option row;
    } shared[] = {
        { OF_TABLES,
          { "--separator", "SIGN", "comma, semicolon, tab, blanks, bar or colon; found unless given",
            .choice = &d->separator, .choices = "comma semicolon tab blanks bar colon",
            .signs = SEPARATORS } },
        { OF_TABLES,
          { "--decimal", "SIGN", "point or comma; found unless given", .choice = &d->decimal,
            .choices = "point comma", .signs = DECIMALS } },
        { OF_TABLES,
          { "--header", "yes|no", "whether the first row holds names; found unless given",
            .choice = &d->header, .choices = "yes no" } },
        { OF_TABLES,
          { "--dates", "ORDER",
            "day-first or month-first, of dates such as 01/02/2024 where none tells; excel: times that are "
            "numbers are Excel's days",
            .choice = &d->dates, .choices = DATES } },
        { OF_ROWS,
          { "--unseen", "error|prior",
            "a level that the model has not seen: an error unless given, or the prior", .choice = &d->unseen,
            .choices = "error prior" } },
        { OF_OUTPUTS,
          { "--output", "NAME", "which of the model's outputs, where it has several", .text = &c->output } },
        { OF_DEVICE,
          { "--device", "NAME", "cpu, cuda:0, ...; the best there is unless given",
            .text = &c->device_name } },
        { OF_RESULT, { "--json", NULL, "the result as one line of JSON", .flag = &c->json } },
    };
    for (int i = 0; i < l->of->n_options; i++) l->option[l->n++] = l->of->options[i];
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (l->of->shared & shared[i].of) l->option[l->n++] = shared[i].row;
}

/* "MODEL [TRAIN.csv]" */
static const char *arguments_of(const command *of, char text[128])
{
    int used = 0;
    for (int i = 0; i < MOST_FILES && of->files[i]; i++)
        used += snprintf(text + used, 128 - (size_t)used, i < of->needed ? "%s%s" : "%s[%s]", i ? " " : "",
                         of->files[i]);
    if (of->also) snprintf(text + used, 128 - (size_t)used, " %s", of->also);
    return text;
}

static void print_help(const line *l)
{
    char text[128];
    printf("usage: ctgp %s %s [options]\n\n%s\n\n", l->of->name, arguments_of(l->of, text), l->of->summary);
    for (int i = 0; i < l->n; i++) {
        const option *o = &l->option[i];
        snprintf(text, sizeof text, "%s %s", o->name, o->value ? o->value : "");
        printf("  %-28s %s\n", text, o->help);
    }
    printf("  %-28s %s\n", "--help", "this text");
    if (l->of->details) printf("\n%s\n", l->of->details);
}

/* -- their values -- */

double parse_share(ctgp *c, const char *name, const char *text)
{
    double value;
    if (ct_number_read(text, strlen(text), &value) != CT_NUMBER || !(value > 0 && value < 1))
        fail(c, CODE_USAGE, "%s: '%s' is not a number between 0 and 1", name, text);
    return value;
}

static long parse_whole(ctgp *c, const option *o, const char *text)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < o->least || value > o->most)
        fail(c, CODE_USAGE, "%s: '%s' is no whole number from %ld to %ld", o->name, text, o->least, o->most);
    return value;
}

/* Without a choice of that name, the message lists them: "a, b or c". */
static int parse_choice(ctgp *c, const option *o, const char *text)
{
    const char *sign = o->signs && text[0] && !text[1] ? strchr(o->signs, text[0]) : NULL;
    if (sign) return (int)(sign - o->signs);
    char list[128] = "";
    int i = 0;
    for (const char *word = o->choices, *end; *word; word = end + (*end != 0), i++) {
        end = word + strcspn(word, " ");
        if (strlen(text) == (size_t)(end - word) && !strncmp(text, word, strlen(text))) return i;
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%.*s",
                 !i     ? ""
                 : *end ? ", "
                        : " or ",
                 (int)(end - word), word);
    }
    fail(c, CODE_USAGE, "%s: '%s' is not %s", o->name, text, list);
}

static void store(ctgp *c, const option *o, const char *given)
{
    if (!given && o->required) fail(c, CODE_USAGE, "%s", o->required);
    if (!given) return;
    if (o->text) *o->text = given;
    if (o->flag) *o->flag = true;
    if (o->share) *o->share = parse_share(c, o->name, given);
    if (o->whole) *o->whole = parse_whole(c, o, given);
    if (o->choice) *o->choice = parse_choice(c, o, given);
}

/* -- a command line -- */

/* The option that a word names, up to '='. */
static int find_option(ctgp *c, const line *l, const char *word)
{
    const char *name = text_of(c, "%.*s", (int)strcspn(word, "="), word);
    name_choice all = { .asked = name };
    for (int i = 0; i < l->n; i++) {
        if (!strcmp(l->option[i].name, name)) return i;
        add_name(&all, l->option[i].name);
    }
    fail(c, CODE_USAGE, "'%s' is no option of %s%s%s 'ctgp help %s' lists them", word, l->of->name, all.guess,
         *all.guess ? "" : ";", l->of->name);
}

/* Reads an option, whose value may be the next word; returns how many words it takes. */
static int take_option(ctgp *c, line *l, const char *word, const char *next)
{
    const int i = find_option(c, l, word);
    const option *o = &l->option[i];
    const char *equals = strchr(word, '=');
    if (o->value && l->given[i]) fail(c, CODE_USAGE, "%s is given twice", o->name);
    if (!o->value && equals) fail(c, CODE_USAGE, "%s takes no value", o->name);
    if (o->value && !equals && !next)
        fail(c, CODE_USAGE, "%s needs a value: %s %s", o->name, o->name, o->value);
    l->given[i] = !o->value ? o->name : equals ? equals + 1 : next;
    return o->value && !equals ? 2 : 1;
}

static void take_file(ctgp *c, line *l, const char *word)
{
    char text[128];
    if (l->n_files == MOST_FILES || !l->of->files[l->n_files])
        fail(c, CODE_USAGE, "'%s' is one argument too many: ctgp %s %s", word, l->of->name,
             arguments_of(l->of, text));
    l->files[l->n_files++] = word;
}

void parse_arguments(ctgp *c, const command *of, int argc, char **argv, const char *files[MOST_FILES])
{
    char text[128];
    dialect d = { .separator = -1, .decimal = -1, .header = -1, .unseen = -1, .dates = -1 };
    line l = { .of = of, .files = files };
    bool only_files = false;
    list_options(c, &l, &d);
    for (int i = 0; i < MOST_FILES; i++) files[i] = NULL;
    for (int i = 1; i < argc;) {
        const char *word = argv[i++];
        if (only_files || word[0] != '-' || !word[1]) {
            take_file(c, &l, word);
        } else if (!strcmp(word, "--")) {
            only_files = true;
        } else if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
            print_help(&l);
            end_output(c);
            stop(c, CODE_OK);
        } else {
            i += take_option(c, &l, word, argv[i]) - 1;
        }
    }
    if (l.n_files < of->needed)
        fail(c, CODE_USAGE, "a file is missing: ctgp %s %s; 'ctgp help %s' tells more", of->name,
             arguments_of(of, text), of->name);
    for (int i = 0; i < l.n; i++) store(c, &l.option[i], l.given[i]);
    c->table = csv_options(d);
    for (int i = 0; i < l.n; i++)
        for (int k = of->inputs_from; k < l.n_files && l.option[i].output; k++)
            keep_apart(c, l.option[i].name, l.given[i], of->files[k], files[k]);
}

/* -- outputs and inputs -- */

static bool same_file(const char *a, const char *b)
{
    struct stat p, q;
    return !stat(a, &p) && !stat(b, &q) && S_ISREG(p.st_mode) && p.st_dev == q.st_dev && p.st_ino == q.st_ino;
}

void keep_apart(ctgp *c, const char *name, const char *out, const char *argument, const char *in)
{
    if (!out || !strcmp(out, "-") || !strcmp(in, "-") || !same_file(out, in)) return;
    fail(c, CODE_USAGE, "%s %s is the file of %s, which it would overwrite: give it another name", name, out,
         argument);
}
