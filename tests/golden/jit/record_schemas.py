# SPDX-License-Identifier: Apache-2.0
"""Records the text of every schema that PyTorch lists: python tests/golden/jit/record_schemas.py (needs PyTorch; writes
schemas.txt, one a line, which tests/cpp/schema_test.cpp reads)."""
import pathlib


def main(torch):
    return sorted(str(schema) for schema in torch._C._jit_get_all_schemas())


if __name__ == "__main__":
    import torch

    pathlib.Path(__file__).with_name("schemas.txt").write_text("".join(line + "\n" for line in main(torch)))
