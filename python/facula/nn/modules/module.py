# SPDX-License-Identifier: Apache-2.0
"""Module, the base class of all layers and models, and hooks for every module."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Iterator, Mapping
from typing import Any
from collections.abc import Callable

from facula import _C
from facula import __future__ as _conversion
from facula._tensor import Tensor
from facula.autograd.forward_modes import no_grad
from facula.functional import typename
from facula.nn.parameter import Buffer, Parameter, is_lazy
from facula.utils.hooks import BackwardHook, RemovableHandle

__all__ = [
    "register_module_forward_pre_hook", "register_module_forward_hook", "register_module_full_backward_pre_hook",
    "register_module_backward_hook", "register_module_full_backward_hook", "register_module_buffer_registration_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook", "Module",
]  # fmt: skip

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"

# Hooks of all modules.
_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()
_global_parameter_registration_hooks = OrderedDict()
_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_backward_pre_hooks = OrderedDict()
_global_backward_hooks = OrderedDict()
_global_is_full_backward_hook = None


def _register(hook, hooks, *flagged, prepend=False):
    """Adds a hook to an ordered dictionary; flagged: those that list it by its number, too."""
    handle = RemovableHandle(hooks, extra_dict=list(flagged))
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for flags in flagged:
        flags[handle.id] = True
    return handle


def _only_one_kind(present, wanted, where):
    if present is not None and present is not wanted:
        raise RuntimeError(f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them.")
    return wanted


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """hook(module, name, buffer) sees every buffer that is registered and may return another."""
    return _register(hook, _global_buffer_registration_hooks)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """hook(module, name, submodule) sees every submodule that is registered and may return another."""
    return _register(hook, _global_module_registration_hooks)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """hook(module, name, parameter) sees every parameter that is registered and may return another."""
    return _register(hook, _global_parameter_registration_hooks)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """hook(module, args) runs before every module's forward and may return other arguments."""
    return _register(hook, _global_forward_pre_hooks)


def register_module_forward_hook(hook: Callable, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """hook(module, args, result) runs after every module's forward and may return another result."""
    flagged = [_global_forward_hooks_with_kwargs] * with_kwargs + [_global_forward_hooks_always_called] * always_call
    return _register(hook, _global_forward_hooks, *flagged)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """The old kind of backward hook, on the last node of every module's forward."""
    global _global_is_full_backward_hook
    _global_is_full_backward_hook = _only_one_kind(_global_is_full_backward_hook, False, "as a global Module hook")
    return _register(hook, _global_backward_hooks)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """hook(module, grad_output) runs before every module's backward and may return other gradients."""
    return _register(hook, _global_backward_pre_hooks)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """hook(module, grad_input, grad_output) runs when the gradients of a module's arguments are there, for every module."""
    global _global_is_full_backward_hook
    _global_is_full_backward_hook = _only_one_kind(_global_is_full_backward_hook, True, "as a global Module hook")
    return _register(hook, _global_backward_hooks)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if any(self) else "<All keys matched successfully>"

    __str__ = __repr__


class _WrappedHook:
    """A hook that also gets its module, without keeping it alive."""

    def __init__(self, hook, module=None):
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.module = None if module is None else weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if self.module is None:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        return {"hook": self.hook, "with_module": self.module is not None, "module": self.module and self.module()}

    def __setstate__(self, state):
        if state["with_module"] and state["module"] is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.__init__(state["hook"], state["module"])


def _addindent(text, spaces):
    return text.replace("\n", "\n" + " " * spaces)


def _ask(hooks, module, name, value):
    """What registration hooks make of a value."""
    for hook in hooks.values():
        out = hook(module, name, value)
        if out is not None:
            value = out
    return value


def _is_tensor_like(value):
    return isinstance(value, Tensor) or hasattr(value, "__torch_function__")


def _forward_unimplemented(self, *input: Any) -> None:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


class Module:
    """The base of all layers and models: a tree of submodules with parameters and buffers, and a forward function.

    Assigning a Parameter, Buffer or Module to an attribute registers it. Subclasses call super().__init__() first and
    define forward(); a call runs it with the module's hooks around it.
    """

    dump_patches = False
    call_super_init = False
    _version = 1  # of the layout of the state, saved with it; _load_from_state_dict may look at it
    training: bool

    def __init__(self, *args, **kwargs) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        state["_is_full_backward_hook"] = None
        state["_modules"] = {}
        for name in _HOOKS:
            state[name] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _C._look_into_modules(cls)

    forward: Callable[..., Any] = _forward_unimplemented

    # A call. In C (python/src/modules.cpp) unless there are hooks.

    def __call__(self, *args, **kwargs):
        state = self.__dict__
        try:
            hooked = (
                state["_backward_hooks"] or state["_backward_pre_hooks"] or state["_forward_hooks"] or state["_forward_pre_hooks"]
                or _global_forward_hooks or _global_forward_pre_hooks or _global_backward_hooks or _global_backward_pre_hooks
            )  # fmt: skip
        except KeyError as e:  # Module.__init__ was not called
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {e}") from None
        if hooked:
            return self._call_with_hooks(args, kwargs)
        return self._traced_forward(args, kwargs) if _C._is_tracing() else self.forward(*args, **kwargs)

    _call_impl = __call__

    def _traced_forward(self, args, kwargs):
        """forward() as a block of its own in the trace of the module that this one is part of."""
        from facula.jit._trace import _scope_of

        scope = _scope_of(self)
        if scope is None:
            return self.forward(*args, **kwargs)
        state = _C._get_tracing_state()
        state.push_scope(scope)
        try:
            return self.forward(*args, **kwargs)
        finally:
            state.pop_scope()

    def _call_with_hooks(self, args, kwargs):
        result = None
        called = set()  # of the hooks that are to be called in any case
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            backward = None
            full, old = self._get_backward_hooks()
            pre = self._get_backward_pre_hooks()
            if full or pre:
                backward = BackwardHook(self, full, pre)
                args = backward.setup_input_hook(args)
            result = self._traced_forward(args, kwargs) if _C._is_tracing() else self.forward(*args, **kwargs)
            for number, hook, with_kwargs, always in self._get_forward_hooks():
                if always:
                    called.add(number)
                out = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                if out is not None:
                    result = out
            if backward:
                if not isinstance(result, (Tensor, tuple)):
                    warnings.warn(
                        f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {type(result)}",
                        stacklevel=3,
                    )
                result = backward.setup_output_hook(result)
            if old:
                self._add_old_backward_hooks(old, args, result)
            return result
        except Exception:
            for number, hook, with_kwargs, always in self._get_forward_hooks():
                if not always or number in called:
                    continue
                try:
                    out = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                    if out is not None:
                        result = out
                except Exception as e:
                    whose = "global module" if number in _global_forward_hooks else "module"
                    warnings.warn(
                        f"{whose} forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised "
                        f"in forward: {e}",
                        stacklevel=3,
                    )
            raise

    def _run_forward_pre_hooks(self, args, kwargs):
        for number, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if number in self._forward_pre_hooks_with_kwargs:
                out = hook(self, args, kwargs)
                if out is not None:
                    if not (isinstance(out, tuple) and len(out) == 2):
                        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {out}.")
                    args, kwargs = out
            else:
                out = hook(self, args)
                if out is not None:
                    args = out if isinstance(out, tuple) else (out,)
        return args, kwargs

    def _get_forward_hooks(self):
        """(number, hook, whether it takes keyword arguments, whether it is called in any case), in their order."""
        kinds = (
            (_global_forward_hooks, _global_forward_hooks_with_kwargs, _global_forward_hooks_always_called),
            (self._forward_hooks, self._forward_hooks_with_kwargs, self._forward_hooks_always_called),
        )
        return [(n, hook, n in with_kwargs, n in always) for hooks, with_kwargs, always in kinds for n, hook in hooks.items()]

    def _get_backward_hooks(self):
        """The full backward hooks, and those of the old kind."""
        found = {True: [], False: [], None: []}
        found[_global_is_full_backward_hook] += _global_backward_hooks.values()
        found[self._is_full_backward_hook] += self._backward_hooks.values()
        return found[True], found[False]

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _add_old_backward_hooks(self, hooks, args, result):
        first = result
        while not isinstance(first, Tensor):
            first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
        node = first.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(_WrappedHook(hook, self))
            said = _what_old_hooks_miss(args, result, node)
            if said:
                warnings.warn(f"Using {said}", FutureWarning, stacklevel=4)

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """hook(module, args) runs before forward and may return other arguments."""
        flagged = [self._forward_pre_hooks_with_kwargs] * with_kwargs
        return _register(hook, self._forward_pre_hooks, *flagged, prepend=prepend)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """hook(module, args, result) runs after forward and may return another result; always_call: even if forward fails."""
        flagged = [self._forward_hooks_with_kwargs] * with_kwargs + [self._forward_hooks_always_called] * always_call
        return _register(hook, self._forward_hooks, *flagged, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """hook(module, grad_output) runs before the module's backward and may return other gradients."""
        return _register(hook, self._backward_pre_hooks, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """hook(module, grad_input, grad_output) runs when the gradients of the arguments are there; it may return others."""
        self._is_full_backward_hook = _only_one_kind(self._is_full_backward_hook, True, "on a single Module")
        return _register(hook, self._backward_hooks, prepend=prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """The old kind of backward hook, on the last node of forward; see register_full_backward_hook."""
        self._is_full_backward_hook = _only_one_kind(self._is_full_backward_hook, False, "on a single Module")
        return _register(hook, self._backward_hooks)

    def compile(self, *args, **kwargs) -> None:
        """Compile forward, as torch.compile does."""
        import facula

        self.forward = facula.compile(self.forward, *args, **kwargs)

    # Members.

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the state but not trained; persistent=False leaves it out of state_dict()."""
        self._check_new_name("buffer", name, "_buffers")
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = _ask(_global_buffer_registration_hooks, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None holds its name's place."""
        self._check_new_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express '{name}' "
                    "as a function of another Tensor, compute the value in the forward() method."
                )
            param = _ask(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def _check_new_name(self, kind, name, members):
        if members not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in self.__dict__[members] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule; None holds its name's place."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _ask(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name for add_module."""
        self.add_module(name, module)

    # Python calls it for what is neither in the object's dictionary nor in its class. Classes that keep this function
    # look into the three dictionaries before that (_look_into_modules), and come here for the error only.
    def __getattr__(self, name: str) -> Any:
        for members in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(members)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        parameters = state.get("_parameters")
        modules = state.get("_modules")
        buffers = state.get("_buffers")
        if (
            not isinstance(value, _MEMBERS)  # most often a number or a text: no need to ask what it is by its marks
            and parameters is not None and name not in parameters and name not in (modules or ()) and name not in (buffers or ())
        ):  # fmt: skip
            super().__setattr__(name, value)
        elif isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, state, buffers, modules)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, state, parameters, buffers)
            modules[name] = _ask(_global_module_registration_hooks, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            modules[name] = _ask(_global_module_registration_hooks, self, name, value)
        elif (buffers is not None and name in buffers) or isinstance(value, Buffer):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _forget(self, name, *members):
        self._non_persistent_buffers_set.discard(name)
        for d in members:
            d.pop(name, None)

    def _set_buffer(self, name, value):
        if value is not None and not _is_tensor_like(value):
            raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
        persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        takes_persistent = type(self).register_buffer is Module.register_buffer
        if not takes_persistent:
            from inspect import signature

            takes_persistent = "persistent" in signature(self.register_buffer).parameters
        if takes_persistent:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without the persistent "
                "argument is not allowed."
            )

    def __delattr__(self, name: str) -> None:
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                if members is self._buffers:
                    self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        keys = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(key for key in keys if not key[0].isdigit())

    def get_submodule(self, target: str) -> Module:
        """The submodule at a path such as "net.0.conv"; an empty path is the module itself."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a path; strict: only where there is one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if hasattr(parent, name):
            if not isinstance(getattr(parent, name), Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        elif strict:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        setattr(parent, name, module)

    def _member(self, target):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "net.0.weight"."""
        _, name, found = self._member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as "net.1.running_mean"."""
        module, name, found = self._member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Pairs of path and parameter, each parameter once."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters of the module and its submodules."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Pairs of path and buffer, each buffer once."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers of the module and its submodules."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Pairs of name and submodule, those of the module itself only."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The module's own submodules."""
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Pairs of path and module: the module itself, then its submodules, depth first."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all its submodules."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    # What is done to all of it.

    def apply(self, fn: Callable[[Module], None]) -> Module:
        """Call fn on every submodule, then on the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replace every parameter's and buffer's data by fn of it. A parameter stays the same object if it can."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        keep = not _conversion.get_overwrite_module_params_on_conversion()
        for key, parameter in self._parameters.items():
            if parameter is None:
                continue
            grad = parameter.grad
            with no_grad():
                new = fn(parameter)
                new_grad = None if grad is None else fn(grad)
            if keep and parameter.is_meta == new.is_meta:
                parameter.data = new
                if grad is not None:
                    grad.data = new_grad
                continue
            self._parameters[key] = Parameter(new, parameter.requires_grad)
            if grad is not None:
                self._parameters[key].grad = new_grad.requires_grad_(grad.requires_grad)
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = fn(buffer)
        return self

    def to(self, *args, **kwargs) -> Module:
        """to(device), to(dtype), to(device, dtype), to(tensor), to(memory_format=…): moves and casts, in place.

        A dtype is one of floating-point or complex numbers and changes tensors of such only.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, and some modules might not work as "
                    "expected when using complex tensors as parameters or buffers.",
                    stacklevel=2,
                )

        def convert(t):
            layout = {"memory_format": memory_format} if memory_format is not None and t.dim() in (4, 5) else {}
            try:
                return t.to(device, dtype if t.is_floating_point() or t.is_complex() else None, non_blocking, **layout)
            except NotImplementedError as e:
                start = "Cannot copy out of meta tensor; no data!"
                if not str(e).startswith(start):
                    raise
                raise NotImplementedError(
                    f"{start} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from meta to a "
                    f"different device.{str(e)[len(start) :]}"
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device, recurse: bool = True) -> Module:
        """Move to a device without the values: parameters and buffers have arbitrary ones there."""
        empty_like = _C._functions["empty_like"]
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def type(self, dst_type) -> Module:
        """Cast all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Module:
        """Cast floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Module:
        """Cast floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Module:
        """Cast floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Module:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> Module:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None) -> Module:
        """Move to a CUDA device."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device=None) -> Module:
        """Move to an XPU."""
        return self._apply(lambda t: t.xpu(device))

    def ipu(self, device=None) -> Module:
        """Move to an IPU."""
        return self._apply(lambda t: t.ipu(device))

    def mtia(self, device=None) -> Module:
        """Move to an MTIA device."""
        return self._apply(lambda t: t.mtia(device))

    def share_memory(self) -> Module:
        """Move to memory that other processes see."""
        return self._apply(lambda t: t.share_memory_())

    def train(self, mode: bool = True) -> Module:
        """Switch to training (or evaluation): dropout, batch norm and others look at it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """Switch to evaluation."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Switch gradients of all parameters on or off."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are copied (in a "
                "differentiable manner) from the original module. This means they are not leaf nodes in autograd and so don't accumulate "
                "gradients. If you need gradients in your forward method, consider using autograd.grad instead.",
                stacklevel=2,
            )
        for parameter in self.parameters():
            grad = parameter.grad
            if grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                grad.detach_() if grad.grad_fn is not None else grad.requires_grad_(False)
                grad.zero_()

    # State.

    def get_extra_state(self) -> Any:
        """Define it to save more than tensors: whatever it returns is saved under the key "_extra_state"."""
        raise RuntimeError("Module.get_extra_state is called only where a subclass defines it")

    def set_extra_state(self, state: Any) -> None:
        """Define it to take back what get_extra_state returned."""
        raise RuntimeError("Module.set_extra_state is called only where a subclass defines it")

    def _register_state_dict_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata) may change or replace the state that was made."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return _register(hook, self._state_dict_hooks)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata) may change the state that was made, in place."""
        hook._from_public_api = True
        return _register(hook, self._state_dict_hooks)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, prefix, keep_vars) runs before the state is collected."""
        return _register(hook, self._state_dict_pre_hooks)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _register(_WrappedHook(hook, self if with_module else None), self._load_state_dict_pre_hooks)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) may change them."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, incompatible_keys) runs after loading and may change the lists of keys, in place."""
        return _register(hook, self._load_state_dict_post_hooks)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for members in (self._parameters, self._buffers):
            for name, value in members.items():
                if value is not None and not (members is self._buffers and name in self._non_persistent_buffers_set):
                    destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args, destination: dict | None = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """All parameters and persistent buffers by their paths; they share memory with the module's."""
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            out = hook(self, destination, prefix, metadata)
            if out is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = out
        return destination

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Loads the module's own state, not its submodules'. Keys and messages are appended to the lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        persistent = ((k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set)
        own = {k: v for k, v in (*self._parameters.items(), *persistent) if v is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, value in own.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_one(name, value, key, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)

        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_one(self, name, value, key, given, assign):
        """Copies (or assigns) one tensor; returns what is wrong with it, if anything."""
        if not _is_tensor_like(given):
            return f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(given)}'
        if not is_lazy(value):
            if value.dim() == 0 and given.shape == (1,):
                given = given[0]  # as very old versions saved single numbers
            if given.shape != value.shape:
                return f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current model is {value.shape}."
        if value.is_meta and not given.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. "
                "(Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the module "
                "instead of copying them in place?)",
                stacklevel=4,
            )
        try:
            with no_grad():
                if not assign:
                    value.copy_(given)
                    return None
                if isinstance(value, Parameter):
                    if isinstance(given, Parameter):
                        given.requires_grad_(value.requires_grad)
                    else:
                        given = Parameter(given, requires_grad=value.requires_grad)
                setattr(self, name, given)
        except Exception as e:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {value.size()} and whose dimensions in the '
                f"checkpoint are {given.size()}, an exception occurred : {e.args}."
            )
        return None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy a state into the module's tensors, or with assign take its tensors themselves; returns the keys that differ.

        strict: keys that are missing or unknown are an error.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)  # hooks may change it
        if metadata is not None:
            state_dict._metadata = metadata
        keys = _IncompatibleKeys(missing, unexpected)

        def load(module, state, prefix):
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local["assign_to_params_buffers"] = assign
            module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    path = f"{prefix}{name}."
                    load(child, {k: v for k, v in state.items() if k.startswith(path)}, path)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                        "incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, state_dict, "")
        load = None  # it knows itself: a circle that only the collector would find
        if strict:
            for what, names in (("Unexpected", unexpected), ("Missing", missing)):
                if names:
                    errors.insert(0, f"{what} key(s) in state_dict: {', '.join(map(_quoted, names))}. ")
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors)))
        return keys

    def __getstate__(self):
        return self.__dict__.copy()

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _HOOKS:  # modules pickled by older versions lack some
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def _replicate_for_data_parallel(self):
        replica = self.__new__(type(self))
        replica.__dict__ = {**self.__dict__, "_parameters": {}, "_is_replica": True}
        for name in ("_buffers", "_modules"):
            replica.__dict__[name] = self.__dict__[name].copy()
        return replica

    # Text.

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """What repr shows of the module itself."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        inside = "".join(f"\n  {line}" for line in lines + children)
        return f"{self._get_name()}({inside}\n)" if inside else f"{self._get_name()}()"


_MEMBERS = (Tensor, Module)


def _look_into_modules(cls=Module):
    """For who has replaced Module.__getattr__ or __call__ and put it back: all classes do both in C again."""
    _C._look_into_modules(cls)
    for subclass in type.__subclasses__(cls):
        _look_into_modules(subclass)


_C._set_global_hooks((_global_forward_hooks, _global_forward_pre_hooks, _global_backward_hooks, _global_backward_pre_hooks))
_look_into_modules()


def _quoted(name):
    return f'"{name}"'


def _parse_to(*args, memory_format=None, **kwargs):
    """The arguments of Module.to: (device, dtype, non_blocking, memory_format)."""
    names = ["device", "dtype", "non_blocking", "copy"]
    if args and isinstance(args[0], Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    elif args and isinstance(args[0], _C.dtype):
        names = names[1:]
    if "tensor" in kwargs:
        tensor = kwargs.pop("tensor")
        kwargs.update(device=tensor.device, dtype=tensor.dtype)
    given = dict(zip(names, args))
    if len(args) > len(names) or (given.keys() & kwargs.keys()) or (kwargs.keys() - set(names)):
        raise TypeError("to() received an invalid combination of arguments")
    given.update(kwargs)
    if given.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    device, dtype = given.get("device"), given.get("dtype")
    if dtype is not None and not isinstance(dtype, _C.dtype):
        raise TypeError(f"to(): dtype must be torch.dtype, not {type(dtype).__name__}")
    return None if device is None else _C.device(device), dtype, bool(given.get("non_blocking", False)), memory_format


def _what_old_hooks_miss(inputs, result, node):
    """Why a backward hook of the old kind may not see all gradients; None if it does."""
    end = "is deprecated and will be removed in future versions. This hook will be missing"
    advice = "Please use register_full_backward_hook to get the documented behavior."
    tensors = {}
    for kind, values, verb, what in (("results", result, "return", "grad_output"), ("inputs", inputs, "take as input", "grad_input")):
        values = (values,) if isinstance(values, Tensor) else values
        if not (isinstance(values, tuple) and all(isinstance(v, Tensor) for v in values)):
            return f"non-full backward hooks on a Module that does not {verb} a single Tensor or a tuple of Tensors {end} some of the {what}. {advice}"
        tensors[kind] = {v.grad_fn for v in values if v.grad_fn is not None}
    if not tensors["results"] or (len(tensors["results"]) == 1 and node not in tensors["results"]):
        return f"a non-full backward hook when outputs are nested in python data structure {end} some grad_output."
    if len(tensors["results"]) > 1:
        return f"a non-full backward hook when outputs are generated by different autograd Nodes {end} some grad_output. {advice}"
    if tensors["inputs"] != {n for n, _ in node.next_functions}:
        return f"a non-full backward hook when the forward contains multiple autograd Nodes {end} some grad_input. {advice}"
    return None
