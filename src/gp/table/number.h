/* Numbers with a decimal comma. */
#ifndef CT_GP_NUMBER_H
#define CT_GP_NUMBER_H

#include <cotangent/gp/number.h>

/* As ct_number_read, with the decimal sign `decimal`. */
ct_number ct__number_read(const char *text, size_t size, char decimal, double *value);

#endif
