"""What this Facula was built with and what it runs on."""

from facula import _C


def show() -> str:
    """The configuration page: compiler, flags, libraries, CPU capability, switches, who multiplies matrices and who could."""
    from facula import _blas

    return _C._show_config() + "".join(f"  - {line}\n" for line in _blas.lines())


def parallel_info() -> str:
    """Thread pool, thread count and what decides them."""
    return _C._parallel_info()


def rows() -> dict:
    """The same as data: {'build': …, 'libraries': …, 'switches': {name: (value, state)}}."""
    return _C._config_rows()
