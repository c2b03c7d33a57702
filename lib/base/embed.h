/* embed: a text file inside the library. The build makes tables of these (clpallas_embed in tools/embed.cmake). */
#ifndef CLPI_EMBED_H
#define CLPI_EMBED_H

#include <stddef.h>

typedef struct clpi_embedded {
    const char *file;       /* the name without its folder; NULL ends a table */
    const char *text;       /* followed by a zero byte */
    size_t      n_bytes;    /* without that zero */
} clpi_embedded;

#endif
