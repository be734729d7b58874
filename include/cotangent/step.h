/* A step that is recorded once and replayed often.
 *
 *     static ct_status train(ct_tape *tape, void *context)
 *     {
 *         model *m = context;
 *         ct_var w = ct_leaf(tape, m->w);
 *         m->loss = ct_mse(ct_matmul(ct_constant(tape, m->x), w), ct_constant(tape, m->y));
 *         ct_status s = ct_backward(m->loss);
 *         ct_no_grad_begin(tape);
 *         ct_var w_bar = ct_constant(tape, ct_cotangent(w));
 *         ct_var moved = ct_sub(w, ct_mul(ct_constant(tape, m->rate), w_bar));
 *         ct_no_grad_end(tape);
 *         return s ? s : ct_copy(ct_value(moved), m->w);               // in place
 *     }
 *
 *     ct_step *step = ct_step_capture(device, train, &m);              // the first step
 *     for (int i = 1; step && i < 1000; i++) {
 *         ct_write(m.x, batch(i), bytes);                              // new data, in place
 *         if (ct_step_replay(step)) break;                             // another step
 *     }
 *     printf("%g\n", ct_item(m.loss));
 *     ct_step_free(step);
 *
 * On a GPU the step becomes a CUDA graph: one call launches forward, backward and update. The host's overhead
 * per op, which dominates small ops, is paid only while recording. On a CPU a replay calls the function
 * again. Either way a replay gives the same bits as a call of the function.
 *
 * A graph stores the addresses and the host's numbers of the recording. Therefore the function must request
 * the same work each time it is called:
 *     - What changes between steps (data, parameters, rates) must be in tensors that are made before
 *       the step, live as long as the step, and are written to in place.
 *     - Nothing in it may wait for the device. ct_item, ct_read, ct_tape_status and the like are refused on
 *       every device, and the message names the call. Read after a replay: the handles and tensors of the
 *       function's last call hold the values of the latest step. */
#ifndef COTANGENT_STEP_H
#define COTANGENT_STEP_H

#include <cotangent/tape.h>

CT_BEGIN_DECLS

typedef struct ct_step ct_step;

/* One step on a fresh tape, which the function must not reset or free. Any return value but CT_OK fails the
 * step. */
typedef ct_status (*ct_step_fn)(ct_tape *tape, void *context);

/* Runs the step once and prepares it for replays; keeps the device alive. NULL with ct_message(device) if the
 * step fails, or if it makes a call that cannot be replayed (CT_EUNSUPPORTED; the message names the call).
 * The step holds the memory it needs until it is freed. */
CT_API ct_step *ct_step_capture(ct_device *device, ct_step_fn function, void *context);

/* Runs the step once more. On a GPU the first replay calls the function to record it; later ones do not.
 * CT_OK means that the step was started: as with ct_backward, ct_tape_status reports failures that the device
 * finds later. A failure is in ct_message(device). If recording failed, nothing was computed, and every later
 * replay fails, too. */
CT_API ct_status ct_step_replay(ct_step *step);

/* The step's tape, for ct_tape_status and ct_tape_message after a replay. */
CT_API ct_tape *ct_step_tape(const ct_step *step);

/* "a graph of 57 kernels and copies" or "called again at each replay"; owned by the step. */
CT_API const char *ct_step_description(const ct_step *step);

/* Frees the step; NULL is allowed. Handles of its tape become stale; tensors that were retained stay. */
CT_API void ct_step_free(ct_step *step);

CT_END_DECLS
#endif
