"""Tuples with named fields, whose classes cost an import a tenth of what ``typing`` takes for one.

``typing.NamedTuple`` compiles the annotation of each field and a constructor for each class, 0.1 ms a class, and a
command that lists a thread loads some fifty. Here type checkers alone read the annotations, and the constructor is
compiled when a class is first called. Rows of a statement come through ``_make``, which needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # what a type checker knows by this name
else:
    from collections import _tuplegetter

    class _Fields(type):
        """Makes a class of tuples from the annotations of its body, as ``typing.NamedTuple`` does."""

        def __new__(meta, name, bases, body):
            fields = tuple(body.get("__annotations__", ())) if bases and not bases[0].__dict__.get("_fields") else ()
            if fields:
                body["_field_defaults"] = {field: body.pop(field) for field in fields if field in body}
                body["_fields"] = body["__match_args__"] = fields
                body |= {field: _tuplegetter(index, None) for index, field in enumerate(fields)}
            body.setdefault("__slots__", ())
            return super().__new__(meta, name, bases, body)

    class NamedTuple(tuple, metaclass=_Fields):
        """A tuple with named fields: ``class Place(NamedTuple)`` and its annotated fields, in their order."""

        _fields = ()

        def __new__(cls, *values, **named):
            names = ", ".join(cls._fields)
            # As ``collections`` writes it: nothing is faster to call.
            source = f"lambda _cls, {names}: _made(_cls, ({names},))"
            made = eval(source, {"_made": tuple.__new__, "__builtins__": {}})  # noqa: S307, names of our own fields
            made.__defaults__ = tuple(cls._field_defaults.values())
            made.__qualname__ = f"{cls.__name__}.__new__"
            cls.__new__ = staticmethod(made)  # from now on the constructor itself
            return made(cls, *values, **named)

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(made)}")
            return made

        def _replace(self, /, **changed):
            made = self._make(map(changed.pop, self._fields, self))
            if changed:
                raise ValueError(f"{type(self).__name__} has no field {sorted(changed)}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            told = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({', '.join(told)})"

        def __getnewargs__(self):
            return tuple(self)
