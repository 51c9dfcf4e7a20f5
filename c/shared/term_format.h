/* A term argument: what stands at the address of an argument of type `term` (pyusdt.h: PYUSDT_TERM).
 *
 * It is Erlang's External Term Format, version byte first, but for two things.  It may end anywhere between two of its
 * parts, or inside the bytes of a binary or string: what is missing was cut.  And two tags that the format does not have
 * stand for what is not carried: TERM_CUT for a term that was left out, TERM_SHOWN for one that is only its text.
 * So nothing that was cut can be taken for a whole.  Source of the other tags: ERTS's guide, "External Term Format". */
#ifndef PYUSDT_TERM_FORMAT_H
#define PYUSDT_TERM_FORMAT_H

enum pyusdt_term_tag {
    TERM_CUT = 0,
    TERM_SHOWN = 1, /* u8 length, text */
    TERM_FLOAT = 70,
    TERM_PORT4 = 89, /* NEW_PORT_EXT */
    TERM_PID = 88,   /* NEW_PID_EXT */
    TERM_REF = 90,   /* NEWER_REFERENCE_EXT */
    TERM_U8 = 97,
    TERM_I32 = 98,
    TERM_ATOM_LATIN1 = 100,
    TERM_PORT8 = 120, /* V4_PORT_EXT */
    TERM_TUPLE = 104,
    TERM_LARGE_TUPLE = 105,
    TERM_NIL = 106,
    TERM_STRING = 107,
    TERM_LIST = 108,
    TERM_BINARY = 109,
    TERM_BIG = 110,
    TERM_MAP = 116,
    TERM_ATOM = 118,
    TERM_SMALL_ATOM = 119,
    TERM_VERSION = 131,
};

#endif
