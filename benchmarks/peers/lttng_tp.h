/*
 * An LTTng-UST tracepoint with the ten fields of user_trace-i4s4. LTTng's own macros include this file several times,
 * hence the unusual guard.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER pyusdt_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_tp.h"

#if !defined(PYUSDT_BENCH_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PYUSDT_BENCH_LTTNG_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    pyusdt_bench, i4s4,
    LTTNG_UST_TP_ARGS(const char *, proc, const char *, user_tag, int64_t, i1, int64_t, i2, int64_t,
                      i3, int64_t, i4, const char *, s1, const char *, s2, const char *, s3,
                      const char *, s4),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_string(proc, proc) lttng_ust_field_string(user_tag, user_tag)
            lttng_ust_field_integer(int64_t, i1, i1) lttng_ust_field_integer(int64_t, i2, i2)
                lttng_ust_field_integer(int64_t, i3, i3) lttng_ust_field_integer(int64_t, i4, i4)
                    lttng_ust_field_string(s1, s1) lttng_ust_field_string(s2, s2)
                        lttng_ust_field_string(s3, s3) lttng_ust_field_string(s4, s4)))

#endif

#include <lttng/tracepoint-event.h>
