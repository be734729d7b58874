/* CRC-64/XZ: polynomial 0x42f0e1eba9ea3693, reflected. Detects every change within 64 neighbouring bits. */
#ifndef CT_GP_CRC64_H
#define CT_GP_CRC64_H

#include <stddef.h>
#include <stdint.h>

/* Continues the CRC `crc` with more bytes; it is 0 for no bytes. */
static inline uint64_t ct__crc64_more(uint64_t crc, const void *data, size_t bytes)
{
    const uint64_t reflected = 0xc96c5795d7870f42u;
    uint64_t table[256];
    for (unsigned i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? reflected : 0);
    }
    const unsigned char *p = data;
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) crc = crc >> 8 ^ table[(crc ^ p[i]) & 255];
    return ~crc;
}

static inline uint64_t ct__crc64(const void *data, size_t bytes) { return ct__crc64_more(0, data, bytes); }

#endif
