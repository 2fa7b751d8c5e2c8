# SPDX-License-Identifier: Apache-2.0
"""The operator table: every row, by name. The families stand in table_*.py beside this file."""
import importlib

FAMILIES = ("table_unary", "table_binary", "table_special", "table_ternary", "table_reduce", "table_shape", "table_index", "table_linalg", "table_factor", "table_fft", "table_numeric", "table_nn", "table_functional", "table_create")
ROWS = [row for family in FAMILIES for row in importlib.import_module(family).OPS]
OPS = {row.name: row for row in ROWS}
assert len(OPS) == len(ROWS), sorted({r.name for r in ROWS if sum(q.name == r.name for q in ROWS) > 1})
