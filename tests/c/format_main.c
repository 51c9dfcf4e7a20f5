/* The formatter as a program, so that its tests run under the sanitizers whatever Python does.
 *
 * It reads chunks from stdin: a u32 kind and a u32 size, then that many bytes:
 *   't' u32 flags, the table        'p' u32 id, provider NUL function NUL name NUL        'r' records
 *   'o' whole records, which come one by one through c/consumer/record_buffer.h
 * It prints the text on stdout; on stderr a line for each stop: its number, the offset, the action; of 'o' before them how many bytes
 * of text were printed at once.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../c/format/formatter.h"
#include "../../c/generated/program.h"
#include "../../c/consumer/record_buffer.h"

static struct pyusdt_formatter *formatter;

static void format(const uint8_t *records, size_t size)
{
    struct pyusdt_format_place place = {0};
    struct pyusdt_text text = {0};
    int stop;

    do {
        stop = pyusdt_format(formatter, records, size, &place, &text);
        if (text.size)
            fwrite(text.data, 1, text.size, stdout);
        text.size = 0;
        fprintf(stderr, "%d %zu %u\n", stop, place.offset, place.action);
    } while (stop > PYUSDT_FORMAT_DONE && stop != PYUSDT_FORMAT_PROBE);
    pyusdt_text_free(&text);
}

static uint32_t word_at(const uint8_t *at)
{
    uint32_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

static void output(const uint8_t *records, size_t size)
{
    struct pyusdt_record_buffer output = {.formatter = formatter};
    uint32_t length;

    for (size_t at = 0; at < size; at += length) {
        length = word_at(records + at);
        if (pyusdt_record_buffer_add(&output, records + at, length) != 0)
            exit(3);
    }
    records = pyusdt_record_buffer_records(&output, &size);
    bool printed = size && word_at(records + PYUSDT_RECORD_CLAUSE) == PYUSDT_RECORD_TEXT;
    fprintf(stderr, "printed %u\n", printed ? word_at(records) - PYUSDT_TEXT_DATA : 0);
    format(records, size);
    pyusdt_record_buffer_free(&output);
}

static void take(uint32_t kind, uint8_t *data, uint32_t size)
{
    struct pyusdt_error err;
    uint32_t word = 0;

    if (kind == 'r') {
        format(data, size);
        return;
    }
    if (kind == 'o') {
        output(data, size);
        return;
    }
    memcpy(&word, data, sizeof word);
    data += sizeof word;
    size -= (uint32_t)sizeof word;
    if (kind == 'p') {
        const char *provider = (const char *)data, *function = provider + strlen(provider) + 1;
        int rc = pyusdt_format_probe(formatter, word, provider, function,
                                     function + strlen(function) + 1);
        if (rc < 0)
            fprintf(stderr, "probe: %d\n", rc);
    } else if (pyusdt_formatter_new(data, size, word, &formatter, &err) < 0) {
        fprintf(stderr, "table: %s\n", err.message);
        exit(1);
    }
}

int main(void)
{
    uint32_t head[2];

    while (fread(head, sizeof head, 1, stdin) == 1) {
        uint8_t *data =
            malloc(head[1] ? head[1] : 1); /* of exactly this size, so that ASan sees overruns */
        if (!data || fread(data, 1, head[1], stdin) != head[1])
            return 2;
        take(head[0], data, head[1]);
        free(data);
    }
    pyusdt_formatter_free(formatter);
    return 0;
}
