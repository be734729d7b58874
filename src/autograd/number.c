/* Ops on single f64 elements, in host memory. Their values live in the nodes, and their cotangents in the
 * slots of a sweep, so that they allocate nothing. Whoever asks for a tensor gets one, made at that time. */
#include "rule.h"

/* The element that a node holds, and the number of its dimensions. False if its value is no f64 element. */
static inline bool element(const ct_node *node, double *x, int *ndim)
{
    const ct_tensor *t = node->value;
    if (t) {
        if (t->view.dtype != CT_F64 || ct__count(&t->view) != 1) return false;
        *x = *(const double *)t->view.data;
        *ndim = t->view.ndim;
        return true;
    }
    *x = node->number;
    *ndim = node->ndim;
    return ct__is_number(node);
}

static const double *parameters(const void *attr)
{
    static const double none[2] = { 0, 0 };
    return attr ? attr : none;
}

/* The value of a call with inputs x. */
static double value_of(const ct_device *dev, const ct_number_map *map, const double *x, const void *attr)
{
    return map->inputs == 1 ? dev->backend->number1(dev, (ct_map1)map->f, parameters(attr), x[0])
                            : dev->backend->number2(dev, (ct_map2)map->f, x[0], x[1]);
}

bool ct__apply_number(ct_tape *tape, const ct_op *op, const ct_var *in, int n, const void *attr,
                      size_t attr_size, ct_var *y)
{
    double x[2];
    int ndim = 0, its;
    bool flows = false;
    if (!tape->numbers || !op || !in || n != op->number.inputs || !n) return false;
    for (int i = 0; i < n; i++) {
        const ct_node *node = ct__is_here(tape, in[i]) ? &tape->node[in[i].index] : NULL;
        if (!node || !element(node, &x[i], &its) || its < op->number.ndim) return false;
        if (its > ndim) ndim = its;
        flows |= node->flags & NODE_NEEDS_GRAD;
    }
    flows = flows && op->vjp && !tape->no_grad;
    *y = ct__poisoned(tape);
    uint32_t *index = NULL;
    if (flows || tape->backward_of < 0) { /* in an unrecorded sweep values live for one rule only */
        index = ct__arena(tape, (size_t)n * sizeof *index);
        void *copy = index && attr && attr_size ? ct__arena(tape, attr_size) : NULL;
        if (!index || (attr && attr_size && !copy)) return true;
        for (int i = 0; i < n; i++) index[i] = in[i].index;
        if (copy) attr = memcpy(copy, attr, attr_size);
    }
    if (tape->n == tape->capacity && !ct__more_nodes(tape)) return true;
    ct_node *node = &tape->node[tape->n];
    *node = (ct_node){ .op = op, .in = index, .attr = index ? attr : NULL, .n_out = 1, .ndim = ndim };
    node->n_in = (uint8_t)(index ? n : 0);
    node->flags = (uint8_t)(flows ? NODE_NUMBER | NODE_NEEDS_GRAD : NODE_NUMBER);
    node->number = value_of(tape->device, &op->number, x, attr);
    *y = ct__handle(tape, tape->n++);
    return true;
}

/* -- in a sweep ------------------------------------------------------------------------------------------ */

/* A node's cotangent: the number that has arrived, a tensor's element, or their sum. */
static inline double bar_of(const ct_slot *slot)
{
    if (!slot->bar) return slot->number;
    const double element = *(const double *)slot->bar->view.data;
    return slot->counted ? element + slot->number : element;
}

/* x̄ of input k = ȳ ∂f/∂x_k */
static double bar_for(const ct_device *dev, const ct_node *node, int k, const double *x, double y_bar)
{
    const int f = node->op->number.f;
    if (node->n_in == 2) return dev->backend->number2_bar(dev, (ct_map2)f, k, x[0], x[1], y_bar);
    return dev->backend->number1_bar(dev, (ct_map1)f, parameters(node->attr), x[0], node->number, y_bar);
}

void ct__run_number_rule(ct__sweep *s, uint32_t i)
{
    ct_tape *tape = s->tape;
    const ct_node *node = &tape->node[i];
    const double y_bar = bar_of(ct__slot_of(s, i));
    double x[2];
    int ndim;
    if (!ct__values_stand(tape, i)) return;
    for (int k = 0; k < node->n_in; k++)
        if (!element(&tape->node[node->in[k]], &x[k], &ndim)) {
            ct__node(ct__handle(tape, node->in[k])); /* fails: a sweep has freed it */
            return;
        }
    for (int k = 0; k < node->n_in; k++) {
        if (!ct__wants_bar(s, node->in[k])) continue;
        ct_slot *to = ct__slot_of(s, node->in[k]);
        const double x_bar = bar_for(tape->device, node, k, x, y_bar);
        to->number = to->counted ? to->number + x_bar : x_bar;
        to->counted = true;
    }
}
