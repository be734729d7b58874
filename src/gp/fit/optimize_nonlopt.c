/* A build without NLopt has no L-BFGS. */
#include "optimize.h"

const ct__optimizer ct__lbfgs = { .run = NULL };
