# The C core (include/pyusdt.h) and the headers of _core_c, for the binding.

cdef extern from "pyusdt.h" nogil:
    void pyusdt_unpublish()
    unsigned pyusdt_demand(unsigned probe)
    void pyusdt_let_go()
    int pyusdt_flight(char *path, size_t size)
    enum pyusdt_remark:
        PYUSDT_REMARK_LACK
    int pyusdt_remark_set(unsigned which, const char *provider, const char *names, const char *text, pyusdt_remark kind)

cdef extern from "_core_c/remarks.h":
    enum:
        PYUSDT_FRAMEWORK_REASON

cdef extern from "_core_c/fire.h":
    int pyusdt_set_strict(int on)

cdef extern from "_core_c/module_methods.h":
    int pyusdt_module_add_methods(object module) except -1
    int pyusdt_module_publish(const char *module_name)
    int pyusdt_module_has_sites()

cdef extern from "_core_c/python_stack.h":
    void pyusdt_python_stack_start()

cdef extern from "_core_c/vm/secret_names.h":
    int pyusdt_redact(const char *patterns, size_t length)

cdef extern from "_core_c/heap_hooks.h":
    int pyusdt_heap_add_methods(object module) except -1

cdef extern from "_core_c/vm/python_provider.h":
    int pyusdt_vm_add_methods(object module) except -1
