# The public headers of the C core, for the tracer's binding.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from posix.types cimport pid_t


cdef extern from "pyusdt.h" nogil:
    enum: PYUSDT_MAX_ARGS
    struct pyusdt_error:
        int code
        char message[508]
    int pyusdt_glob(const char *pattern, const char *string)


cdef extern from "bpf/vm.h" nogil:
    struct pyusdt_map_def:
        uint32_t kind, key_size, value_size, entries
    struct pyusdt_insn:
        pass
    struct pyusdt_vm:
        pass
    pyusdt_vm *pyusdt_vm_new(const pyusdt_map_def *maps, unsigned n, pyusdt_error *err)
    void pyusdt_vm_free(pyusdt_vm *vm)
    int pyusdt_vm_load(pyusdt_vm *vm, const pyusdt_insn *insns, unsigned n, pyusdt_error *err)
    void *pyusdt_vm_map_value(pyusdt_vm *vm, unsigned map, uint32_t index)
    bint pyusdt_vm_map_next(pyusdt_vm *vm, unsigned map, uint32_t *cursor, const void **key, void **value)
    int pyusdt_vm_map_update(pyusdt_vm *vm, unsigned map, const void *key, const void *value, uint64_t flags)
    int pyusdt_vm_map_delete(pyusdt_vm *vm, unsigned map, const void *key)
    uint32_t pyusdt_vm_map_count(const pyusdt_vm *vm, unsigned map)
    void pyusdt_vm_map_clear(pyusdt_vm *vm, unsigned map)


cdef extern from "events/event.h" nogil:
    enum: PYUSDT_GLOB_SIZE
    struct pyusdt_want:
        uint32_t pid
        char provider[PYUSDT_GLOB_SIZE]
        char module[PYUSDT_GLOB_SIZE]
        char function[PYUSDT_GLOB_SIZE]
        char name[PYUSDT_GLOB_SIZE]
        uint32_t args
        uint16_t bytes[PYUSDT_MAX_ARGS]
        uint32_t counts
        uint32_t frames
    struct pyusdt_capture:
        uint64_t address
        uint32_t length, index
        const char *data
    struct pyusdt_event:
        uint64_t time
        uint32_t target, probe, tid, cpu, args, ncaptures
        uint64_t arg[PYUSDT_MAX_ARGS]
        pyusdt_capture capture[PYUSDT_MAX_ARGS]
    struct pyusdt_target_info:
        uint32_t pid, uid, gid, nprobes, rings, wanted
        int alive, visible
        char comm[16]
    struct pyusdt_probe_info:
        uint32_t index, nargs, strings, places, sessions
        char provider[64]
        char module[64]
        char function[128]
        char name[128]
        char signature[904]
    enum:
        PYUSDT_PLACES_OPEN
        PYUSDT_PLACES_KNOWN
    enum pyusdt_remark:
        PYUSDT_REMARK_HINT
    ctypedef int pyusdt_list_fn(void *arg, const pyusdt_target_info *target, const pyusdt_probe_info *probe) noexcept


cdef extern from "events/place_table.h" nogil:
    struct pyusdt_place_info:
        const char *module
        const char *function
        const char *file
        uint32_t line


cdef extern from "session/session.h" nogil:
    struct pyusdt_session_config:
        uint64_t bufsize
        uint32_t max_rings
        uint64_t orderlag_ns
        const char *comm
        pid_t home
        bint children
        const char *keep
        uint64_t keep_ns
        uint64_t keep_bytes
    struct pyusdt_session_stats:
        uint64_t delivered, dropped, out_of_order, again, corrupt, failures, refusals, bytes
        uint32_t targets, alive, slot, others
    struct pyusdt_session:
        pass
    int pyusdt_session_open(const char *rundir, const pyusdt_session_config *config, pyusdt_session **session,
                            pyusdt_error *error)
    int pyusdt_session_add_path(pyusdt_session *session, const void *bytes, size_t size)
    int pyusdt_session_want(pyusdt_session *session, const pyusdt_want *want)
    int pyusdt_session_attach_all(pyusdt_session *session, pyusdt_error *error)
    int pyusdt_session_attach_pid(pyusdt_session *session, pid_t pid, pyusdt_error *error)
    int pyusdt_session_expect_pid(pyusdt_session *session, pid_t pid, pyusdt_error *error)
    int pyusdt_session_start(pyusdt_session *session, pyusdt_error *error)
    int pyusdt_session_target(const pyusdt_session *session, uint32_t target, pyusdt_target_info *info)
    int64_t pyusdt_session_drops(const pyusdt_session *session, uint32_t target, uint32_t probe)
    bint pyusdt_session_has_process(const pyusdt_session *session, uint32_t pid)
    void pyusdt_session_stats_get "pyusdt_session_stats"(pyusdt_session *session, pyusdt_session_stats *stats)
    void pyusdt_session_stop(pyusdt_session *session)
    void pyusdt_session_close(pyusdt_session *session)
    void pyusdt_session_leave(pyusdt_session *session)


cdef extern from "session/user_work.h" nogil:
    struct pyusdt_user_work:
        uint32_t uid
        uint64_t work, ns
    int pyusdt_session_user_work(const pyusdt_session *session, uint32_t n, pyusdt_user_work *work)
    void pyusdt_session_stop_user(pyusdt_session *session, uint32_t uid)


cdef extern from "session/kept_session.h" nogil:
    int pyusdt_session_is_resumed(const pyusdt_session *session)
    void pyusdt_session_mark_shown(pyusdt_session *session)


cdef extern from "session/session_warnings.h" nogil:
    const char *pyusdt_session_warning(const pyusdt_session *session, uint32_t n)
    const char *pyusdt_session_untrusted_warning(const pyusdt_session *session, uint32_t n, uint32_t *count)


cdef extern from "session/target_remarks.h" nogil:
    const char *pyusdt_session_hint(const pyusdt_session *session, uint32_t n, pyusdt_remark *kind)


cdef extern from "session/list_probes.h" nogil:
    int pyusdt_list_probes(const char *rundir, pid_t pid, bint beside, pyusdt_list_fn *fn, void *arg, pyusdt_error *error)
    ctypedef void pyusdt_other_fn(void *arg, uint32_t pid, const char *sentence)
    int pyusdt_list_other_builds(pyusdt_other_fn *fn, void *arg, pyusdt_error *error)
    int pyusdt_session_list_dead(pyusdt_session *session, pyusdt_list_fn *fn, void *arg)


cdef extern from "discovery/ring_usage.h" nogil:
    struct pyusdt_ring_usage:
        uint32_t pid, tracer, rings
        int visible
        char comm[16]
        uint64_t published, unread, room, lost
    ctypedef int pyusdt_ring_usage_fn(void *arg, const pyusdt_ring_usage *looked) noexcept
    int pyusdt_read_ring_usage(pyusdt_ring_usage_fn *fn, void *arg, pyusdt_error *error)


cdef extern from "discovery/exceptions_files.h" nogil:
    struct pyusdt_exceptions_found:
        uint32_t pid
        uint64_t starttime
        int is_alive, fd
        const char *name
    ctypedef int pyusdt_exceptions_fn(void *arg, const pyusdt_exceptions_found *found) noexcept
    int pyusdt_each_exceptions_file(uint32_t pid, pyusdt_exceptions_fn *fn, void *arg, pyusdt_error *error)


cdef extern from "discovery/find_process.h" nogil:
    int pyusdt_find_rundir(pid_t pid, char *path, size_t size, pyusdt_error *error)


cdef extern from "events/event_source.h" nogil:
    struct pyusdt_event_source_ops:
        int (*place)(const void *of, uint32_t target, uint32_t place, pyusdt_place_info *info)
    struct pyusdt_event_source:
        const pyusdt_event_source_ops *kind
        void *of
    int PYUSDT_FRAME_TARGETS


cdef extern from "session/session_source.h" nogil:
    const pyusdt_event_source_ops pyusdt_session_source_ops


cdef extern from "recording/recording.h" nogil:
    struct pyusdt_record_header:
        uint64_t begun, wall
        uint32_t target, pid, uid, gid
        char host[64]
    struct pyusdt_drops_block:
        uint64_t dropped, out_of_order


cdef extern from "recording/recording_writer.h" nogil:
    struct pyusdt_recorder:
        pass
    int pyusdt_recorder_new(int fd, pyusdt_session *session, const pyusdt_record_header *header,
                            const void *paths, uint32_t paths_size, pyusdt_recorder **out)
    int pyusdt_recorder_close(pyusdt_recorder *recorder, uint64_t time)


cdef extern from "recording/recording_reader.h" nogil:
    struct pyusdt_replay:
        pass
    int pyusdt_replay_open(int fd, pyusdt_replay **out, pyusdt_error *error)
    void pyusdt_replay_close(pyusdt_replay *replay)
    const pyusdt_record_header *pyusdt_replay_header(const pyusdt_replay *replay)
    uint64_t pyusdt_replay_end(const pyusdt_replay *replay)
    const char *pyusdt_replay_damage(const pyusdt_replay *replay)
    bint pyusdt_replay_next(pyusdt_replay *replay, uint64_t *time)
    bint pyusdt_replay_is_over(const pyusdt_replay *replay)
    void pyusdt_replay_drops(const pyusdt_replay *replay, pyusdt_drops_block *loss)
    int pyusdt_replay_list(const pyusdt_replay *replay, pyusdt_list_fn *fn, void *arg)
    const pyusdt_event_source_ops pyusdt_replay_source_ops


cdef extern from "recording/merged_replay.h" nogil:
    struct pyusdt_merged:
        pass
    int pyusdt_merged_new(uint32_t share, pyusdt_merged **out)
    void pyusdt_merged_free(pyusdt_merged *many)
    int pyusdt_merged_add(pyusdt_merged *many, uint32_t host)
    int pyusdt_merged_put(pyusdt_merged *many, uint32_t source, const void *data, size_t size, int64_t shift)
    size_t pyusdt_merged_unread(const pyusdt_merged *many, uint32_t source)
    uint64_t pyusdt_merged_memory(const pyusdt_merged *many, uint32_t source)
    void pyusdt_merged_finish(pyusdt_merged *many, uint32_t source)
    bint pyusdt_merged_next(pyusdt_merged *many, uint32_t source, uint64_t *time)
    const char *pyusdt_merged_damage(const pyusdt_merged *many, uint32_t source)
    void pyusdt_merged_select(pyusdt_merged *many, uint32_t source)
    uint32_t pyusdt_merged_main_target(const pyusdt_merged *many, uint32_t source)
    uint32_t pyusdt_merged_target(const pyusdt_merged *many, uint32_t named)
    uint64_t pyusdt_merged_last(const pyusdt_merged *many, uint32_t source)
    const pyusdt_event_source_ops pyusdt_merged_source_ops


cdef extern from "consumer/probe_registry.h" nogil:
    struct pyusdt_probe_names:
        const char *provider
        const char *module
        const char *function
        const char *name
    struct pyusdt_registry:
        pass
    int pyusdt_registry_describe(pyusdt_registry *r, uint32_t clause, const pyusdt_probe_names *globs)
    int64_t pyusdt_registry_add(pyusdt_registry *r, const pyusdt_probe_names *names)
    uint32_t pyusdt_registry_count(const pyusdt_registry *r)
    bint pyusdt_registry_names(const pyusdt_registry *r, uint32_t id, pyusdt_probe_names *names)


cdef extern from "format/formatter.h" nogil:
    struct pyusdt_formatter:
        pass


cdef extern from "consumer/state_block.h" nogil:
    enum:
        PYUSDT_USES_EXECNAME
        PYUSDT_USES_NAMES
        PYUSDT_USES_WALL
        PYUSDT_USES_PPID
        PYUSDT_USES_ANCESTORS
        PYUSDT_STACKS
    struct pyusdt_stack_area:
        uint32_t offset, frames, language
    struct pyusdt_process:
        uint32_t pid, ppid, uid, gid, host
        char comm[16]
    void pyusdt_find_ancestors(pyusdt_process *who)


cdef extern from "consumer/consumer.h" nogil:
    enum:
        PYUSDT_CLAUSE_EXITS
        PYUSDT_CLAUSE_PAUSES
    struct pyusdt_consumer_config:
        uint32_t clauses, uses, this_offset, this_size
        pyusdt_stack_area stack[2]
    struct pyusdt_consumer:
        pass
    int pyusdt_consumer_new(pyusdt_vm *vm, const pyusdt_consumer_config *config, pyusdt_consumer **out,
                            pyusdt_error *err)
    void pyusdt_consumer_free(pyusdt_consumer *c)
    int pyusdt_consumer_set_clause(pyusdt_consumer *c, uint32_t index, int program, uint32_t flags)
    pyusdt_registry *pyusdt_consumer_registry(pyusdt_consumer *c)
    int pyusdt_consumer_add_targets(pyusdt_consumer *c, const pyusdt_event_source *feed)
    void pyusdt_consumer_set_recorder(pyusdt_consumer *c, pyusdt_recorder *recorder)
    void pyusdt_consumer_set_wall(pyusdt_consumer *c, uint64_t offset)
    void pyusdt_consumer_fire(pyusdt_consumer *c, uint32_t id, const pyusdt_process *who, const pyusdt_event *event)
    int pyusdt_consumer_set_counting(pyusdt_consumer *c, uint32_t index, int program)
    void pyusdt_consumer_run_counts(pyusdt_consumer *c, const pyusdt_event_source *feed)
    int pyusdt_consumer_poll(pyusdt_consumer *c, const pyusdt_event_source *feed, uint64_t until, int max)
    void pyusdt_consumer_set_formatter(pyusdt_consumer *c, pyusdt_formatter *formatter)
    const uint8_t *pyusdt_consumer_records(pyusdt_consumer *c, size_t *size)
    void pyusdt_consumer_clear(pyusdt_consumer *c)
    bint pyusdt_consumer_is_exiting(const pyusdt_consumer *c)
    void pyusdt_consumer_set_stack(pyusdt_consumer *c, const uint64_t *frames, uint32_t n)
    uint64_t pyusdt_consumer_truncated_stacks(const pyusdt_consumer *c)
    uint64_t pyusdt_consumer_dropped(const pyusdt_consumer *c)
    uint64_t pyusdt_consumer_faults(const pyusdt_consumer *c, pyusdt_error *what)


cdef extern from "consumer/parallel_consumers.h" nogil:
    struct pyusdt_parallel:
        pass
    enum: PYUSDT_PARALLEL_MAX

    int pyusdt_parallel_new(pyusdt_session *session, pyusdt_consumer **consumers, uint32_t n, pyusdt_parallel **out, pyusdt_error *err)
    void pyusdt_parallel_free(pyusdt_parallel *crew)


cdef extern from "consumer/poll_pacing.h" nogil:
    enum:
        PYUSDT_POLL_SHORTEST
        PYUSDT_POLL_LONGEST
        PYUSDT_POLL_AGAIN
        PYUSDT_POLL_DUE
    struct pyusdt_poll_pacing:
        uint64_t sleep, looked
        bint idle
    const pyusdt_poll_pacing PYUSDT_POLL_BEGIN
    uint64_t pyusdt_poll_next_sleep(pyusdt_poll_pacing *pace, int n, uint64_t now, bint crowded)
    int pyusdt_consumer_poll_paced(pyusdt_consumer *c, pyusdt_session *session, pyusdt_poll_pacing *pace, uint64_t until, int max,
                             uint64_t deadline)


cdef extern from "session/gated_child.h" nogil:
    struct pyusdt_gate:
        int child[2]
        int parent[2]
        bint dies_alone
    pid_t pyusdt_gated_fork(char *const *argv, const pyusdt_gate *gate)


cdef extern from "session/build_version.h" nogil:
    const char *pyusdt_build_text()
