/* SPDX-License-Identifier: Apache-2.0
 * The rows of every .def of this folder, for an includer that defines what a row becomes. */
#include "base.def"
#include "common.def"
#include "shared.def"
#include "unary.def"
#include "math.def"
#include "binary.def"
#include "derivative.def"
#include "special.def"
