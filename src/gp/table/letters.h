/* Characters and words, the same in every locale. */
#ifndef CT_GP_LETTERS_H
#define CT_GP_LETTERS_H

#include <stdbool.h>
#include <stddef.h>

static inline bool ct__is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool ct__is_space(char c) { return c == ' ' || c == '\t'; }

/* Whether text[0..size) is `word`, which is in lower case, in any case. */
static inline bool ct__is_word(const char *text, size_t size, const char *word)
{
    for (size_t i = 0; i < size; i++)
        if (!word[i] || (text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]) != word[i])
            return false;
    return word[size] == 0;
}

/* Leaves out blanks and tabs at both ends. */
static inline void ct__trim(const char **text, size_t *size)
{
    for (; *size && ct__is_space(**text); --*size) ++*text;
    while (*size && ct__is_space((*text)[*size - 1])) --*size;
}

#endif
