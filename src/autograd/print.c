/* The tape as text: a listing, and a graph for Graphviz. */
#include "internal.h"

#include <stdio.h>

void ct__put(ct__text *t, const char *format, ...)
{
    size_t at = t->length < t->size ? t->length : t->size;
    va_list args;
    va_start(args, format);
    int n = ct__vprint(t->buffer ? t->buffer + at : NULL, t->size - at, format, args);
    va_end(args);
    t->length += n > 0 ? (size_t)n : 0;
}

ct__text ct__text_at(char *buffer, size_t size)
{
    if (buffer && size) buffer[0] = '\0';
    return (ct__text){ buffer, buffer ? size : 0, 0 };
}

static const char *label(const ct_node *node)
{
    if (node->op) return node->op->name;
    return node->flags & NODE_LEAF ? "leaf" : "constant";
}

static const char *shape_of(const ct_node *node, char *text, size_t size)
{
    if (node->value) return ct__shape_text(ct_tensor_shape(node->value), text, size);
    return ct__is_number(node) ? ct__shape_text(ct__ones(node->ndim), text, size) : "freed";
}

size_t ct_tape_print(const ct_tape *tape, char *buffer, size_t size)
{
    ct__text t = ct__text_at(buffer, size);
    for (uint32_t i = 0; tape && i < tape->n; i++) {
        const ct_node *node = &tape->node[i];
        char shape[96];
        const ct_tensor *v = node->value;
        const size_t number = ct__is_number(node) ? sizeof node->number : 0;
        ct__put(&t, "#%-5u %-16s %-14s %-4s %10zu B ", i, label(node), shape_of(node, shape, sizeof shape),
                v        ? ct_dtype_name(v->view.dtype)
                : number ? ct_dtype_name(CT_F64)
                         : "",
                v ? (size_t)ct_tensor_count(v) * ct_dtype_size(v->view.dtype) : number);
        for (int k = 0; k < node->n_in; k++) ct__put(&t, " #%u", node->in[k]);
        if (node->part) ct__put(&t, " (output %u)", node->part);
        if (node->flags & NODE_NEEDS_GRAD) ct__put(&t, " grad");
        if (node->flags & NODE_KEEP) ct__put(&t, " keep");
        if (node->bar) ct__put(&t, " has-cotangent");
        ct__put(&t, "\n");
    }
    if (tape && tape->message[0]) ct__put(&t, "%s: %s\n", ct_status_name(tape->status), tape->message);
    return t.length;
}

size_t ct_tape_dot(const ct_tape *tape, char *buffer, size_t size)
{
    ct__text t = ct__text_at(buffer, size);
    ct__put(&t,
            "digraph tape {\n    rankdir=TB; node [fontname=\"sans-serif\", shape=box, style=rounded];\n");
    for (uint32_t i = 0; tape && i < tape->n; i++) {
        const ct_node *node = &tape->node[i];
        char shape[96];
        const char *look = node->flags & NODE_LEAF ? ", style=\"rounded,filled\", fillcolor=\"#cfe8ff\""
                           : !node->op             ? ", style=\"rounded,filled\", fillcolor=\"#eeeeee\""
                           : node->flags & NODE_NEEDS_GRAD ? ""
                                                           : ", color=\"#999999\"";
        ct__put(&t, "    n%u [label=\"#%u %s\\n%s\"%s];\n", i, i, label(node),
                shape_of(node, shape, sizeof shape), look);
        for (int k = 0; k < node->n_in; k++) ct__put(&t, "    n%u -> n%u;\n", node->in[k], i);
    }
    ct__put(&t, "}\n");
    return t.length;
}
