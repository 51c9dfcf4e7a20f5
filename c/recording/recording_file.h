/*
 * Blocks of a recording on their way into its file (recording.h has the format): what the recorder and the flight
 * recorder's reader write with.
 */
#ifndef PYUSDT_RECORDING_RECORDING_FILE_H
#define PYUSDT_RECORDING_RECORDING_FILE_H

#include "shared/probe_table.h"
#include "events/place_table.h"
#include "recording/recording.h"

#pragma GCC visibility push(hidden)

#ifndef PYUSDT_RECORD_BUFFER /* the fuzzer's is small, so that a file changes between two writes of what is read from it */
#define PYUSDT_RECORD_BUFFER (1u << 20)
#endif

struct pyusdt_record_file {
    int fd;
    int failed; /* -errno of the first write that failed */
    size_t size;
    uint8_t buffer[PYUSDT_RECORD_BUFFER];
};

/* All that waits, into the file; 0, or `failed`. */
int pyusdt_record_flush(struct pyusdt_record_file *file);
void pyusdt_record_put(struct pyusdt_record_file *file, const void *data, size_t size);
/* The beginning of a block; what follows is `size` bytes, and as many zeros as it returns. */
size_t pyusdt_record_begin(struct pyusdt_record_file *file, uint32_t kind, size_t size);
/* Whole blocks. */
void pyusdt_record_header(struct pyusdt_record_file *file,
                          struct pyusdt_record_header header); /* magic and such: its */
void pyusdt_record_table(struct pyusdt_record_file *file, uint32_t number,
                         const struct pyusdt_probe_table *table);
void pyusdt_record_place(struct pyusdt_record_file *file, uint32_t target, uint32_t number,
                         const struct pyusdt_place_info *place);
void pyusdt_record_paths(struct pyusdt_record_file *file, const void *paths, uint32_t size);
void pyusdt_record_block(struct pyusdt_record_file *file, uint32_t kind, const void *data,
                         size_t size); /* size: of 8 */

#pragma GCC visibility pop

#endif
