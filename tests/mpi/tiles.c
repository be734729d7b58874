/* What bench/ranks/schedule.py has to know of a grid, as the library has it, one line each: rows, processes,
 * rows of a tile, whether there is room for two panels, and the most bytes of a process, for d = 8. */
#include <inttypes.h>
#include <stdio.h>

#include "gp/factor/grid.h"
#include "gp/model/memory.h"

int main(void)
{
    ct_device *device = ct_device_open("cpu");
    static const int64_t n[] = { 1, 24, 700, 1499, 1500, 3000, 6000, 10000, 100000, 250000, 1000000 };
    static const int grids[][2] = { { 1, 2 }, { 1, 3 }, { 2, 2 }, { 2, 3 }, { 4, 4 }, { 8, 8 }, { 16, 16 } };
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
            const int rows = grids[k][0], cols = grids[k][1];
            struct ct_comm comm = { .sub = { { .size = rows * cols }, { .size = cols }, { .size = rows } } };
            uint64_t most = 0;
            for (int p = 0; p < rows * cols; p++) {
                comm.sub[CT__COMM_ROW].rank = p % cols;
                comm.sub[CT__COMM_COLUMN].rank = p / cols;
                const uint64_t bytes = ct__gp_bytes(device, &comm, n[i], 8, CT_F64, true);
                if (bytes > most) most = bytes;
            }
            const ct__grid grid = ct__grid_of(&comm, n[i]);
            printf("%" PRId64 " %d %" PRId64 " %d %" PRIu64 "\n", n[i], rows * cols, grid.b, grid.ahead,
                   most);
        }
    ct_device_close(device);
    return 0;
}
