# SPDX-License-Identifier: Apache-2.0
"""Names that packages import in order to ask about them, of parts that are not here: a class of which nothing is an
instance, a function that raises."""


def kind(module: str, name: str, *bases: type) -> type:
    """A class that cannot be made."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torch.{module.partition('.')[2]}.{name} is not in Facula")

    return type(name, bases, {"__init__": __init__, "__module__": module, "__doc__": "For questions: none can be made."})


def function(module: str, name: str):
    """A function that raises."""

    def refused(*args, **kwargs):
        raise NotImplementedError(f"torch.{module.partition('.')[2]}.{name} is not in Facula")

    refused.__name__ = refused.__qualname__ = name
    refused.__module__ = module
    refused.__doc__ = "Not in Facula: raises."
    return refused
