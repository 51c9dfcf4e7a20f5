/*
 * The encoding of a term argument (PYUSDT_TERM in pyusdt.h).
 *
 * It is Erlang's External Term Format, version byte first, with two differences. It may end between
 * any two of its parts, or inside the bytes of a binary or string; the rest is truncated. And two
 * additional tags mark what is not carried: TERM_CUT for an omitted term, TERM_SHOWN for a term
 * that is only its text. A truncated term thus never looks complete. Source of the other tags:
 * ERTS's guide, "External Term Format".
 */
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
