/* log|gamma| and the polygamma functions. */
#include "cpu.h"

#include <math.h>

double ct__lgamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

float ct__lgammaf(float x)
{
    int sign;
    return lgammaf_r(x, &sign);
}

#define CT__FN     static
#define CT__CONST  static const
#define CT__LGAMMA ct__lgamma
#include "tensor/special.h"

double ct__polygamma(int k, double x) { return polygamma(k, x); }
float ct__polygammaf(int k, float x) { return (float)polygamma(k, (double)x); }
