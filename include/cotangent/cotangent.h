/* Everything, in one include. */
#ifndef COTANGENT_H
#define COTANGENT_H

#include <cotangent/column.h>
#include <cotangent/comm.h>
#include <cotangent/cov_program.h>
#include <cotangent/device.h>
#include <cotangent/gp.h>
#include <cotangent/gradcheck.h>
#include <cotangent/io.h>
#include <cotangent/kernel.h>
#include <cotangent/maps.h>
#include <cotangent/op.h>
#include <cotangent/ops.h>
#include <cotangent/outputs.h>
#include <cotangent/profiles.h>
#include <cotangent/season.h>
#include <cotangent/status.h>
#include <cotangent/step.h>
#include <cotangent/tape.h>
#include <cotangent/tensor.h>
#include <cotangent/transform.h>
#include <cotangent/view.h>

#endif
