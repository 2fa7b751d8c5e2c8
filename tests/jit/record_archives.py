# SPDX-License-Identifier: Apache-2.0
"""Archives both ways. With PyTorch: `python tests/jit/record_archives.py` writes golden/jit/archives/theirs_*.pt and what they compute,
then loads golden/jit/archives/ours_*.pt and takes down what they compute in PyTorch (results.json). With Facula:
`facula run tests/jit/record_archives.py ours` writes the latter."""

import copy
import io
import json
import pathlib
import sys
import warnings
import zipfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
GOLDEN = HERE.parent / "golden/jit/archives"


def plain(v):
    """A value that JSON holds."""
    from archive_cases import torch

    if isinstance(v, torch.Tensor):
        return {"tensor": v.tolist(), "dtype": str(v.dtype)}
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {str(k): plain(x) for k, x in v.items()}
    return v


def write_ours(folder):
    import archive_cases as cases
    import torch

    for name, cls in cases.TRACED.items():
        torch.jit.trace(cases.made(name, cls), cases.inputs(name), check_trace=False).save(str(folder / f"ours_{name}.pt"), _extra_files={"note": "ours"})
    for name in ("function", "looped"):
        torch.jit.script(getattr(cases, name)).save(str(folder / f"ours_{name}.pt"))


def without_foreign_places(path):
    """Without the places of code that name the libraries' own files, which stand elsewhere on each machine."""
    own = (b"site-packages", b"/facula/")
    with zipfile.ZipFile(path) as z:
        records = [(i, z.read(i)) for i in z.infolist()]
    if not any(name in data for _, data in records for name in own):
        return
    with zipfile.ZipFile(path, "w") as z:
        for info, data in records:
            if not any(name in data for name in own):
                z.writestr(info.filename, data, info.compress_type)


def main():
    import archive_cases as cases
    import torch

    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["ours"]:
        return write_ours(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else GOLDEN)
    results = {}
    for name, cls in cases.SCRIPTED.items():
        torch.jit.script(cases.made(name, cls)).save(str(GOLDEN / f"theirs_script_{name}.pt"))
    for name, cls in cases.TRACED.items():
        torch.jit.trace(cases.made(name, cls), cases.inputs(name), check_trace=False).save(str(GOLDEN / f"theirs_trace_{name}.pt"), _extra_files={"note": "theirs"})
    for path in sorted(GOLDEN.glob("*.pt")):
        without_foreign_places(path)
        module = torch.jit.load(str(path))
        results[path.name] = {"value": plain(module(*cases.inputs(path.stem.rsplit("_", 1)[1]))), "code": module.code}
    for name, (version, code, args) in cases.OLD.items():
        module = torch.jit.load(io.BytesIO(cases.forged(code, version)))
        results[f"old {name}"] = {"value": plain(module(*copy.deepcopy(args)))}
    (GOLDEN / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(len(results), "archives")


if __name__ == "__main__":
    main()
