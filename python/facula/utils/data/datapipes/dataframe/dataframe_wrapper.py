# SPDX-License-Identifier: Apache-2.0
"""What pipes of data frames need of a library that has them: pandas, or another that set_df_wrapper names."""

import sys


class PandasWrapper:
    """pandas, imported when a data frame is made: before, nothing can be one."""

    @staticmethod
    def _pandas():
        try:
            import pandas
        except ImportError as e:
            raise RuntimeError("DataFrames prototype requires pandas to function") from e
        return pandas

    @classmethod
    def create_dataframe(cls, data, columns):
        return cls._pandas().DataFrame(data, columns=columns)

    @classmethod
    def is_dataframe(cls, data):
        return "pandas" in sys.modules and isinstance(data, cls._pandas().DataFrame)

    @classmethod
    def is_column(cls, data):
        return "pandas" in sys.modules and isinstance(data, cls._pandas().Series)

    @classmethod
    def iterate(cls, data):
        return data.itertuples(index=False)

    @classmethod
    def concat(cls, buffer):
        return cls._pandas().concat(buffer)

    @classmethod
    def get_item(cls, data, idx):
        return data[idx : idx + 1]

    @classmethod
    def get_len(cls, df):
        return len(df.index)

    @classmethod
    def get_columns(cls, df):
        return list(df.columns.values.tolist())


default_wrapper = PandasWrapper
_wrapper = None


def get_df_wrapper():
    """The library in use."""
    return default_wrapper if _wrapper is None else _wrapper


def set_df_wrapper(wrapper) -> None:
    """Uses another library: a class with PandasWrapper's methods."""
    global _wrapper
    _wrapper = wrapper


def create_dataframe(data, columns=None):
    """A data frame of rows."""
    return get_df_wrapper().create_dataframe(data, columns)


def is_dataframe(data):
    return get_df_wrapper().is_dataframe(data)


def get_columns(data):
    """The names of the columns."""
    return get_df_wrapper().get_columns(data)


def is_column(data):
    return get_df_wrapper().is_column(data)


def concat(buffer):
    """One data frame of several."""
    return get_df_wrapper().concat(buffer)


def iterate(data):
    """The rows as tuples."""
    return get_df_wrapper().iterate(data)


def get_item(data, idx):
    """The data frame of one row."""
    return get_df_wrapper().get_item(data, idx)


def get_len(df):
    """The number of rows."""
    return get_df_wrapper().get_len(df)
