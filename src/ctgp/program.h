/* The beginning and the end of main. */
#ifndef CTGP_PROGRAM_H
#define CTGP_PROGRAM_H

/* At the beginning of main: a library that ends the program gives it CODE_MEMORY, and a message. */
void program_begin(void);
/* At its end. Returns `result`. */
int program_end(int result);

#endif
