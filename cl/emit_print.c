/* emit_print: a `print` as a record in the log, which the host reads when the launch is done (code.h draws it).
 *
 * In: a print and the tiles of its values. Out: text that claims room in the log and fills it, or leaves it alone when the
 * log is full. One work-item writes.                                                                                      */
#include "cl/emit.h"

/* The held element as the 64 bits of a clpi_elem. */
static const char *elem_text(clpi_emit *e, clp_dtype dtype, const char *text)
{
    if (dtype == CLP_F64)
        return clpi_text(e, "as_ulong(%s)", text);
    if (clpi_rep(dtype) == CLP_F32)
        return clpi_text(e, "(ulong)as_uint(%s)", text);
    return clpi_text(e, clpi_is_signed(dtype) ? "(ulong)(long)%s" : "(ulong)%s", text);
}

static void emit_value(clpi_emit *e, int tile)
{
    const clpi_tile *t = &e->p->tiles.items[tile];
    const char *place = clpi_tile_name(e, tile), *offset = "0";
    for (int d = 0; d < t->rank; d++) {
        clpi_line(e, "for (int d%d = 0; d%d < %lld; d%d++)", d, d, (long long)t->shape[d], d);
        e->indent++;
        offset = clpi_text(e, "%s + d%d * %lld", offset, d, (long long)e->s->tiles[tile].stride[d]);
    }
    if (t->rank > 0)
        place = clpi_text(e, "%s[%s]", place, offset);
    clpi_open_block(e);
    clpi_line(e, "const ulong word = %s;", elem_text(e, t->dtype, place));
    clpi_line(e, "*to++ = (uint)word;");
    clpi_line(e, "*to++ = (uint)(word >> 32);");
    clpi_close(e);
    e->indent -= t->rank;
}

/* Words of the record; of one that no log has room for, more than there are. */
static unsigned record_words(const clpi_emit *e, const clpi_step *s)
{
    uint64_t words = CLPI_LOG_HEAD;
    for (int i = 0; i < s->n_args && words <= CLPI_LOG_WORDS; i++) {
        const clpi_tile *t = &e->p->tiles.items[s->args[i]];
        uint64_t n = 2;
        for (int d = 0; d < t->rank; d++)
            n *= (uint64_t)t->shape[d];
        words += n;
    }
    return words <= CLPI_LOG_WORDS ? (unsigned)words : CLPI_LOG_WORDS + 1;
}

static const char *claim_text(clpi_emit *e, unsigned words)
{
    clpi_str s;
    clpi_str_init(&s, e->arena->env);
    clpi_prelude_claim(&e->prelude, &s, "log_words", clpi_text(e, "%uu", words));
    return clpi_take_text(e, &s);
}

void clpi_emit_print(clpi_emit *e, const clpi_stage *stage)
{
    const clpi_step *s = stage->step;
    const unsigned words = record_words(e, s);
    if (clpi_is_simt(e))
        clpi_open(e, "if (lid == 0)");
    else
        clpi_open_block(e);
    clpi_line(e, "const uint at = %s;", claim_text(e, words));
    clpi_open(e, "if (at)");
    clpi_line(e, "__global uint *to = log_words + at;");
    clpi_line(e, "*to++ = %uu;", s->op);
    clpi_line(e, "*to++ = %uu;", words - CLPI_LOG_HEAD);
    clpi_line(e, "*to++ = (uint)sequence;");
    clpi_line(e, "*to++ = (uint)(sequence >> 32);");
    clpi_line(e, "*to++ = (uint)step;");
    clpi_line(e, "*to++ = (uint)(step >> 32);");
    for (int i = 0; i < s->n_args; i++)
        emit_value(e, s->args[i]);
    clpi_close(e);
    clpi_close(e);
}
