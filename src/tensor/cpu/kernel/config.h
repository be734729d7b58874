/* Every tile size and threshold of the CPU backend. */
#ifndef CT_TENSOR_CPU_CONFIG_H
#define CT_TENSOR_CPU_CONFIG_H

enum { CT__TILE = 32, CT__STRIP = 64 };

enum {
    KC = 256,   /* depths worked on at once: a tile's operands stay in the first caches */
    STRIPS = 8, /* of HIGH rows of A that are packed together                           */
    PANELS = 11 /* of B in the second-level cache                                       */
};

#endif
