/* A locale with a decimal comma: an installed one, or one that localedef makes for the test. */
#ifndef TESTS_COMMA_H
#define TESTS_COMMA_H

#include "check.h"

#include <locale.h>

static inline bool comma_set(const char *name)
{
    return setlocale(LC_NUMERIC, name) && localeconv()->decimal_point[0] == ',';
}

static inline bool comma_made(void)
{
    static const char text[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\n"
                               "END LC_NUMERIC\n";
    char folder[] = "/tmp/cotangent-locale-XXXXXX", line[256];
    if (!mkdtemp(folder)) return false;
    snprintf(line, sizeof line,
             "cd %s && cat >text && localedef -c -i text -f ANSI_X3.4-1968 ./comma 2>log >&2", folder);
    FILE *make = popen(line, "w");
    if (make) {
        fputs(text, make);
        pclose(make); /* localedef has warned of the missing categories */
    }
    setenv("LOCPATH", folder, 1);
    const bool made = comma_set("comma");
    unsetenv("LOCPATH");
    snprintf(line, sizeof line, "rm -r %s", folder);
    return !system(line) && made;
}

/* Sets LC_NUMERIC to such a locale; false, with a note, where there is none. comma_end() sets it back. */
static inline bool comma_begin(void)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "de_DE", "ps_AF.UTF-8" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (comma_set(names[i])) return true;
    if (comma_made()) return true;
    setlocale(LC_NUMERIC, "C");
    print_message("# not checked: no locale with a decimal comma, and localedef makes none\n");
    return false;
}

static inline void comma_end(void) { setlocale(LC_NUMERIC, "C"); }

#endif
