/* The tape as text: a listing, and a graph for Graphviz. */
#include "internal.h"

#include <stdio.h>

typedef struct text {
    char *buffer;
    size_t size, length;
} text;

static void put(text *t, const char *format, ...) CT_PRINTF(2, 3);
static void put(text *t, const char *format, ...)
{
    size_t at = t->length < t->size ? t->length : t->size;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->buffer ? t->buffer + at : NULL, t->size - at, format, args);
    va_end(args);
    t->length += n > 0 ? (size_t)n : 0;
}

static text start(char *buffer, size_t size)
{
    if (buffer && size) buffer[0] = '\0';
    return (text){ buffer, buffer ? size : 0, 0 };
}

static const char *label(const ct_node *node)
{
    if (node->op) return node->op->name;
    return node->flags & NODE_LEAF ? "leaf" : "constant";
}

size_t ct_tape_print(const ct_tape *tape, char *buffer, size_t size)
{
    text t = start(buffer, size);
    for (uint32_t i = 0; tape && i < tape->n; i++) {
        const ct_node *node = &tape->node[i];
        char shape[96] = "freed";
        const ct_tensor *v = node->value;
        if (v) ct__shape_text(ct_tensor_shape(v), shape, sizeof shape);
        put(&t, "#%-5u %-16s %-14s %-4s %10zu B ", i, label(node), shape,
            v ? ct_dtype_name(v->view.dtype) : "",
            v ? (size_t)ct_tensor_count(v) * ct_dtype_size(v->view.dtype) : 0);
        for (int k = 0; k < node->n_in; k++) put(&t, " #%u", node->in[k]);
        if (node->part) put(&t, " (output %u)", node->part);
        if (node->flags & NODE_NEEDS_GRAD) put(&t, " grad");
        if (node->flags & NODE_KEEP) put(&t, " keep");
        if (node->bar) put(&t, " has-cotangent");
        put(&t, "\n");
    }
    if (tape && tape->message[0]) put(&t, "%s: %s\n", ct_status_name(tape->status), tape->message);
    return t.length;
}

size_t ct_tape_dot(const ct_tape *tape, char *buffer, size_t size)
{
    text t = start(buffer, size);
    put(&t, "digraph tape {\n    rankdir=TB; node [fontname=\"sans-serif\", shape=box, style=rounded];\n");
    for (uint32_t i = 0; tape && i < tape->n; i++) {
        const ct_node *node = &tape->node[i];
        char shape[96] = "freed";
        if (node->value) ct__shape_text(ct_tensor_shape(node->value), shape, sizeof shape);
        const char *look = node->flags & NODE_LEAF ? ", style=\"rounded,filled\", fillcolor=\"#cfe8ff\""
                           : !node->op             ? ", style=\"rounded,filled\", fillcolor=\"#eeeeee\""
                           : node->flags & NODE_NEEDS_GRAD ? ""
                                                           : ", color=\"#999999\"";
        put(&t, "    n%u [label=\"#%u %s\\n%s\"%s];\n", i, i, label(node), shape, look);
        for (int k = 0; k < node->n_in; k++) put(&t, "    n%u -> n%u;\n", node->in[k], i);
    }
    put(&t, "}\n");
    return t.length;
}
