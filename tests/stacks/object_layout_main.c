/* What the headers of a CPython say about the offsets in remote_python/object_layout.py: "name offset" lines, for test_object_layout.py. */
#include "show_offsets.h"

#include <structmember.h>

static void show_code(void)
{
    SHOW(code_flags, PyCodeObject, co_flags);
    SHOW(code_argcount, PyCodeObject, co_argcount);
    SHOW(code_kwonlyargcount, PyCodeObject, co_kwonlyargcount);
    SHOW(code_consts, PyCodeObject, co_consts);
#if PY_VERSION_HEX >= 0x030b0000
    SHOW(code_names, PyCodeObject, co_localsplusnames);
    SHOW(code_kinds, PyCodeObject, co_localspluskinds);
#else
    SHOW(code_names, PyCodeObject, co_varnames);
    SHOW(code_free, PyCodeObject, co_freevars);
    SHOW(code_cells, PyCodeObject, co_cellvars);
#endif
}

static void show_frame(void)
{
#if PY_VERSION_HEX >= 0x030b0000
    SHOW(frame_globals, _PyInterpreterFrame, f_globals);
    SHOW(frame_mapping, _PyInterpreterFrame, f_locals);
    SHOW(frame_locals, _PyInterpreterFrame, localsplus);
#else
    SHOW(frame_globals, PyFrameObject, f_globals);
    SHOW(frame_mapping, PyFrameObject, f_locals);
    SHOW(frame_locals, PyFrameObject, f_localsplus);
#endif
}

static void show_type(void)
{
    SHOW(type_name, PyTypeObject, tp_name);
    SHOW(type_basicsize, PyTypeObject, tp_basicsize);
    SHOW(type_itemsize, PyTypeObject, tp_itemsize);
    SHOW(type_flags, PyTypeObject, tp_flags);
    SHOW(type_members, PyTypeObject, tp_members);
    SHOW(type_base, PyTypeObject, tp_base);
    SHOW(type_dict, PyTypeObject, tp_dict);
    SHOW(type_dictoffset, PyTypeObject, tp_dictoffset);
    SHOW(type_mro, PyTypeObject, tp_mro);
    SHOW(type_keys, PyHeapTypeObject, ht_cached_keys);
}

static void show_objects(void)
{
    SHOW(head, PyVarObject, ob_size);
    SHOW(int_size, PyLongObject,
#if PY_VERSION_HEX >= 0x030c0000
         long_value.lv_tag);
    SHOW(int_digits, PyLongObject, long_value.ob_digit);
#else
         ob_base.ob_size);
    SHOW(int_digits, PyLongObject, ob_digit);
#endif
    SHOW(list_items, PyListObject, ob_item);
    SHOW(tuple_items, PyTupleObject, ob_item);
    SHOW(set_used, PySetObject, used);
    SHOW(bytearray_start, PyByteArrayObject, ob_start);
    SHOW(cell_value, PyCellObject, ob_ref);
    SHOW(exception_dict, PyBaseExceptionObject, dict);
    SHOW(exception_args, PyBaseExceptionObject, args);
    SHOW(function_code, PyFunctionObject, func_code);
    SHOW(function_globals, PyFunctionObject, func_globals);
    SHOW(function_closure, PyFunctionObject, func_closure);
    SHOW(function_qualname, PyFunctionObject, func_qualname);
    SHOW(text_data, PyUnicodeObject, data);
    printf("member_size %zu\n", sizeof(PyMemberDef));
}

int main(void)
{
    show_code();
    show_frame();
    show_type();
    show_objects();
    return 0;
}
