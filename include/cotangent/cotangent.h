/* Everything of the engine, libcotangent, in one include. <cotangent/gp.h> has the Gaussian processes. */
#ifndef COTANGENT_H
#define COTANGENT_H

#include <cotangent/cov_program.h>
#include <cotangent/device.h>
#include <cotangent/gradcheck.h>
#include <cotangent/io.h>
#include <cotangent/maps.h>
#include <cotangent/matrices.h>
#include <cotangent/op.h>
#include <cotangent/ops.h>
#include <cotangent/profiles.h>
#include <cotangent/status.h>
#include <cotangent/step.h>
#include <cotangent/tape.h>
#include <cotangent/tensor.h>
#include <cotangent/view.h>

#endif
