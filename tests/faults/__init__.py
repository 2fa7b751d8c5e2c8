# SPDX-License-Identifier: Apache-2.0
"""Every allocation fails once: scenarios.py says in what, faults.cpp how, __main__.py what is expected."""
