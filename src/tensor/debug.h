/* Checks of a build with -Dasserts=true: layouts of views, reference counts, and outputs that overlap inputs.
 * They find defects of the library and of ops that are written with op.h, so a failed one prints its text and
 * aborts. Other builds have none of them. */
#ifndef CT_TENSOR_DEBUG_H
#define CT_TENSOR_DEBUG_H

#include <cotangent/view.h>

#ifdef CT__ASSERTS

/* clang-format off */
#    define ct__assert(condition) \
        ((condition) ? (void)0 : ct__assert_failed(#condition, __FILE__, __LINE__))
/* clang-format on */

_Noreturn void ct__assert_failed(const char *condition, const char *file, int line);
/* Whether all elements of v lie in its storage, and no extent or stride is negative. */
bool ct__is_laid_out(const ct_view *v);
/* Whether a and b have no element in common, as far as their layouts tell. */
bool ct__are_apart(const ct_view *a, const ct_view *b);
/* The same, or whether they are one view. */
bool ct__are_apart_or_one(const ct_view *a, const ct_view *b);
/* Prints a line to stderr. */
void ct__debug_line(const char *format, ...) CT_PRINTF(1, 2);

#else

#    define ct__assert(condition) ((void)0)

#endif
#endif
