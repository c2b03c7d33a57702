/* devices: `clpallas devices`: what kernels can run on here, one line each, and why something cannot be used; where compiled
 * programs are kept, or why they are not. */
#include "base/store.h"
#include "tool.h"

typedef struct listing {
    bool json;
    int n;
} listing;

static void print_device(const char *which, bool usable, const char *detail, void *user)
{
    listing *l = user;
    if (l->json) {
        printf("%s{\"device\": ", l->n++ ? ", " : "");
        json_string(stdout, which);
        printf(", \"usable\": %s, \"detail\": ", usable ? "true" : "false");
        json_string(stdout, detail);
        putchar('}');
    } else {
        printf("%-8s %s%s\n", which, usable ? "" : "cannot be used: ", detail);
    }
}

static void print_cache(bool json)
{
    clpi_store store;
    clpi_store_open(&store);
    const bool is_kept = store.folder[0] != '\0';
    if (!json) {
        printf("%-8s %s%s%s\n", "cache", is_kept ? store.folder : "nothing is kept", *store.reason ? ": " : "", store.reason);
        return;
    }
    printf(", \"cache\": {\"folder\": ");
    if (is_kept)
        json_string(stdout, store.folder);
    else
        printf("null");
    printf(", \"detail\": ");
    json_string(stdout, store.reason);
    putchar('}');
}

int command_devices(const options *o)
{
    listing l = { .json = o->json };
    if (l.json)
        printf("{\"devices\": [");
    const clp_status status = clp_devices(print_device, &l);
    if (l.json)
        printf("]");
    print_cache(l.json);
    if (l.json)
        printf("}\n");
    return status ? fail_library(NULL) : DONE;
}
