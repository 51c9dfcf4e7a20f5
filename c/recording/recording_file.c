/* Writing blocks: see recording_file.h. A full buffer is written wherever it ends: where its writer is killed, a recording may end
 * inside a block, and its reader says so. */
#define _GNU_SOURCE
#include "recording/recording_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int pyusdt_record_flush(struct pyusdt_record_file *file)
{
    size_t done = 0;

    while (file->failed == 0 && done < file->size) {
        ssize_t n = write(file->fd, file->buffer + done, file->size - done);
        if (n < 0 && errno != EINTR)
            file->failed = -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    file->size = 0;
    return file->failed;
}

void pyusdt_record_put(struct pyusdt_record_file *file, const void *data, size_t size)
{
    while (size > 0) {
        size_t n =
            size < PYUSDT_RECORD_BUFFER - file->size ? size : PYUSDT_RECORD_BUFFER - file->size;
        memcpy(file->buffer + file->size, data, n);
        file->size += n;
        data = (const uint8_t *)data + n;
        size -= n;
        if (file->size == PYUSDT_RECORD_BUFFER)
            pyusdt_record_flush(file);
    }
}

size_t pyusdt_record_begin(struct pyusdt_record_file *file, uint32_t kind, size_t size)
{
    struct pyusdt_block block = {kind, (uint32_t)((size + 7) & ~7ull)};

    pyusdt_record_put(file, &block, sizeof block);
    return block.size - size;
}

void pyusdt_record_block(struct pyusdt_record_file *file, uint32_t kind, const void *data,
                         size_t size)
{
    pyusdt_record_begin(file, kind, size);
    pyusdt_record_put(file, data, size);
}

void pyusdt_record_header(struct pyusdt_record_file *file, struct pyusdt_record_header header)
{
    header.magic = PYUSDT_RECORD_MAGIC;
    header.version = PYUSDT_RECORD_VERSION;
    header.order = PYUSDT_RECORD_ORDER;
    pyusdt_record_put(file, &header, sizeof header);
}

static const uint8_t zeros[8];

void pyusdt_record_place(struct pyusdt_record_file *file, uint32_t target, uint32_t number,
                         const struct pyusdt_place_info *place)
{
    struct pyusdt_place_block block = {target,
                                       number,
                                       place->line,
                                       (uint16_t)strlen(place->module),
                                       (uint16_t)strlen(place->function),
                                       (uint16_t)strlen(place->file),
                                       0};
    size_t padding = pyusdt_record_begin(file, PYUSDT_BLOCK_PLACE,
                                         sizeof block + block.module + block.function + block.file);

    pyusdt_record_put(file, &block, sizeof block);
    pyusdt_record_put(file, place->module, block.module);
    pyusdt_record_put(file, place->function, block.function);
    pyusdt_record_put(file, place->file, block.file);
    pyusdt_record_put(file, zeros, padding);
}

void pyusdt_record_table(struct pyusdt_record_file *file, uint32_t number,
                         const struct pyusdt_probe_table *table)
{
    size_t descs = table->ndescs * sizeof *table->descs;
    struct pyusdt_table_block block = {number, table->nprobes, table->ndescs, table->strings_size};
    size_t padding =
        pyusdt_record_begin(file, PYUSDT_BLOCK_TABLE, sizeof block + descs + table->strings_size);

    pyusdt_record_put(file, &block, sizeof block);
    pyusdt_record_put(file, table->descs, descs);
    pyusdt_record_put(file, table->strings, table->strings_size);
    pyusdt_record_put(file, zeros, padding);
}

void pyusdt_record_paths(struct pyusdt_record_file *file, const void *paths, uint32_t size)
{
    struct pyusdt_paths_block block = {size, 0};
    size_t padding = pyusdt_record_begin(file, PYUSDT_BLOCK_PATHS, sizeof block + size);

    pyusdt_record_put(file, &block, sizeof block);
    pyusdt_record_put(file, paths, size);
    pyusdt_record_put(file, zeros, padding);
}
