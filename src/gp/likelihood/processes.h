/* The marginal likelihood over many processes. */
#ifndef CT_GP_PROCESSES_H
#define CT_GP_PROCESSES_H

#include "likelihood.h"

extern const ct__likelihood ct__over_processes;

#endif
