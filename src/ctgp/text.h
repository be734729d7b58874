/* What people read. All of it is printed as UTF-8 without control characters, whatever bytes a name has. Only
 * a format itself can end a line. */
#ifndef CTGP_TEXT_H
#define CTGP_TEXT_H

#include <cotangent/gp.h>

#include <stdio.h>

void say(FILE *to, const char *format, ...) CT_PRINTF(2, 3);
/* Prints a text. `line_end`: '\n' if it may have several lines, else 0. */
void put_text(FILE *to, const char *text, char line_end);
/* "ctgp: " and one line on standard error. */
void note(const char *format, ...) CT_PRINTF(1, 2);
/* The next character of a text, which it passes; 0 at the end. A byte that is not UTF-8 is taken for
 * Latin-1. */
uint32_t take_character(const char **text);
/* Writes it in UTF-8. */
void put_character(FILE *to, uint32_t c);
/* Whether it acts on a terminal, or no XML may hold it. */
bool is_control(uint32_t c);

/* The names that a message lists, and which of them is likely meant by one that is not there. */
typedef struct name_choice {
    const char *asked; /* or NULL */
    char list[512];    /* "a, b, c", which ends in "..." where it is full */
    char guess[80];    /* ": did you mean 'b'?", or nothing */
    int distance;
} name_choice;

void add_name(name_choice *to, const char *name);

#endif
