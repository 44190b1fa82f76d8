// The smallest compiled binding of a hit: what hit_bench.py holds the package against. The numbers
// that it calls with come from Python, and what it returns is what the package needs of an output.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <stdint.h>

typedef struct Value {
  int32_t kind, reserved;
  uint64_t layout, word, storage;
} Value;

static uint64_t (*call)(uint64_t, Value*, size_t, uint64_t, Value*, size_t, size_t*);
static uint64_t (*release)(uint64_t);
static uint64_t (*begin_step)(uint64_t);

static PyObject* Load(PyObject* self, PyObject* path) {
  void* const library = dlopen(PyUnicode_AsUTF8(path), RTLD_NOW | RTLD_LOCAL);
  (void)self;
  if (library == NULL) return PyErr_Format(PyExc_ImportError, "%s", dlerror());
  *(void**)&call = dlsym(library, "gt_call");
  *(void**)&release = dlsym(library, "gt_release");
  *(void**)&begin_step = dlsym(library, "gt_tree_begin_step");
  Py_RETURN_NONE;
}

// hit(function, stream, layout, address) -> (layout, address, storage)
static PyObject* Hit(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Value in = {1, 0, 0, 0, 0}, out;
  size_t found = 0;
  uint64_t error;
  const uint64_t function = PyLong_AsUnsignedLongLong(given[0]);
  const uint64_t stream = PyLong_AsUnsignedLongLong(given[1]);
  (void)self;
  (void)count;
  in.layout = PyLong_AsUnsignedLongLong(given[2]);
  in.word = PyLong_AsUnsignedLongLong(given[3]);
  Py_BEGIN_ALLOW_THREADS
  error = call(function, &in, 1, stream, &out, 1, &found);
  Py_END_ALLOW_THREADS
  if (error != 0) return PyErr_Format(PyExc_RuntimeError, "the call failed");
  return Py_BuildValue("(KKK)", out.layout, out.word, out.storage);
}

static PyObject* Drop(PyObject* self, PyObject* storage) {
  const uint64_t handle = PyLong_AsUnsignedLongLong(storage);
  (void)self;
  Py_BEGIN_ALLOW_THREADS
  release(handle);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static PyObject* Begin(PyObject* self, PyObject* tree) {
  const uint64_t handle = PyLong_AsUnsignedLongLong(tree);
  (void)self;
  Py_BEGIN_ALLOW_THREADS
  begin_step(handle);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"load", Load, METH_O, NULL},
                                {"hit", (PyCFunction)(void*)Hit, METH_FASTCALL, NULL},
                                {"drop", Drop, METH_O, NULL},
                                {"begin", Begin, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "compiled_binding", NULL, -1, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_compiled_binding(void) { return PyModule_Create(&module); }
