// SPDX-License-Identifier: Apache-2.0
// x[index] and x[index] = value.
#include "py.h"

namespace facula::py {

PyObject* get_item(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_NotImplementedError, "indexing");
  return nullptr;
}
int set_item(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_NotImplementedError, "indexing");
  return -1;
}

}  // namespace facula::py
