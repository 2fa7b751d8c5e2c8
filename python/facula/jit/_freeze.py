# SPDX-License-Identifier: Apache-2.0
"""torch.jit.freeze and optimize_for_inference: a module's attributes become constants of its code, which is folded."""

from facula import _C


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A copy in whose code attributes are constants; what nothing reads is gone. `preserved_attrs` names what stays."""
    from facula.jit import ScriptModule
    from facula.jit._module import RecursiveScriptModule

    if not isinstance(mod, ScriptModule):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'.")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing.")
    preserved = list(preserved_attrs or ())
    out = RecursiveScriptModule(_C._freeze_module(mod._c, preserved), None, mod.original_name)
    run_frozen_optimizations(out, optimize_numerics, [name for name in preserved if out._c._has_method(name)])
    return out


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Dropout goes; batch norms and constant factors go into the weights before them; linear layers of one input become one."""
    for name in dict.fromkeys(["forward", *(preserved_methods or ())]):
        if mod._c._has_method(name):
            graph = mod._c._get_method(name).graph
            if optimize_numerics:
                _C._jit_pass_optimize_frozen_graph(graph)
            mod._c._forget_code(name)


def optimize_for_inference(mod, other_methods=None):
    """A module to be run and not trained: frozen, its weights laid out for the products that read them."""
    from facula.jit import ScriptModule

    if not isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'.")
    others = list(other_methods or ())
    if mod._c.hasattr("training"):
        mod = freeze(mod.eval(), preserved_attrs=others)
    return mod
