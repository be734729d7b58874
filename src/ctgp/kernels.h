/* ctgp help kernels. */
#ifndef CTGP_KERNELS_H
#define CTGP_KERNELS_H

void print_kernels(void);

#endif
