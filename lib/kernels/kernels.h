/* kernels: the standard kernels as text, one row for each .plk file of this folder. */
#ifndef CLPI_KERNELS_H
#define CLPI_KERNELS_H

#include "base/embed.h"

extern const clpi_embedded clpi_embedded_kernels[];    /* ends with file NULL */

#endif
