/* Run directories in containers, for a session on all processes. A scan takes at most a fiftieth of the time until the next. */
#ifndef PYUSDT_SESSION_CONTAINER_SCAN_H
#define PYUSDT_SESSION_CONTAINER_SCAN_H

#include <stdint.h>

struct pyusdt_containers;
struct pyusdt_session;

#pragma GCC visibility push(hidden)

void pyusdt_session_scan_containers(struct pyusdt_session *session, uint64_t now);
void pyusdt_containers_free(struct pyusdt_containers *containers);

#pragma GCC visibility pop

#endif
