"""The constraint language of ``ops/``: parses a line of text into a checked, compiled expression.

The grammar is a whitelisted part of Python's (``ast``, mode ``eval``); nothing is ever evaluated as Python.
Values are integers, floats, booleans, strings and tuples. Arithmetic and comparison work element by element on
tuples, a number against a tuple meets each element, and a tuple in a condition means "all of them".
``None`` is "not known": it spreads through arithmetic, and conditions follow Kleene's three-valued logic.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from irfuzz.errors import SpecError
from irfuzz.spec.constraints.expression_functions import FUNCTIONS, LOOKUPS, Undefined

Env = Mapping[str, Any]
Code = Callable[[Env], Any]

MAX_LENGTH = 500
MAX_MAGNITUDE = 2**80
"""Integers beyond this are refused: a hostile overlay must not make us compute with megabyte numbers."""


class Expression:
    """A compiled expression.

    Attributes:
        text: the source text.
        names: free names, with lookups of an input written ``"shape:X"``, ``"rank:X"``, ``"has:X"``, ``"dtype:X"``.
        evaluate: takes the environment, returns the value (``None``: not known), raises ``Undefined`` if the
            expression has no value (division by zero, index out of range, tuples of different lengths).
    """

    __slots__ = ("evaluate", "names", "text")

    def __init__(self, text: str, names: frozenset[str], evaluate: Code) -> None:
        self.text = text
        self.names = names
        self.evaluate = evaluate

    def holds(self, env: Env) -> bool | None:
        """The expression as a condition: true, false or (``None``) not known. Undefined counts as false.

        Args:
            env: values of its ``names``; one that is missing is not known.
        """
        try:
            return truth(self.evaluate(env))
        except Undefined:
            return False

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def truth(value: Any) -> bool | None:
    """A value as a condition; a tuple means all of its elements, and an empty one is true.

    Returns:
        ``None`` if it is not known: the value is ``None``, or some elements are and none of the others is false.
    """
    if value is None:
        return None
    if value.__class__ is tuple:
        unknown = False
        for v in value:
            t = truth(v)
            if t is False:
                return False
            unknown = unknown or t is None
        return None if unknown else True
    return bool(value)


def parse(text: str, where: str) -> Expression:
    """Compile an expression of the constraint language, of at most ``MAX_LENGTH`` characters.

    Messages begin with the place that is given: the file and key.

    Raises:
        SpecError: the text is not in the language; the message gives the position.
    """
    if not isinstance(text, str):
        raise SpecError(f"{where}: expected an expression as a string, got {text!r}")
    if len(text) > MAX_LENGTH:
        raise SpecError(f"{where}: the expression has {len(text)} characters, at most {MAX_LENGTH} are allowed")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        column = getattr(e, "offset", None) or 1
        raise SpecError(f"{where}: expression {text!r}, column {column}: {getattr(e, 'msg', e)}") from None
    compiler = _Compiler(text, where)
    try:
        code = compiler.compile(tree.body)
    except RecursionError:
        raise SpecError(f"{where}: expression {text!r}, column 1: nested too deeply") from None
    return Expression(text, frozenset(compiler.names), code)


def _checked(value: Any) -> Any:
    if value.__class__ is int and not -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
        raise Undefined("the number is too large")
    return value


def _power(a: Any, b: Any) -> Any:
    if abs(b) > 64:
        raise Undefined(f"exponent {b} is beyond 64")
    return a**b


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _pairwise(f: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if a.__class__ is tuple:
        if b.__class__ is tuple:
            if len(a) != len(b):
                raise Undefined(f"tuples of {len(a)} and {len(b)} elements do not fit together")
            return tuple(None if x is None or y is None else f(x, y) for x, y in zip(a, b, strict=True))
        return tuple(None if x is None else f(x, b) for x in a)
    return tuple(None if y is None else f(a, y) for y in b)


def _arithmetic(f: Callable[[Any, Any], Any], left: Code, right: Code) -> Code:
    def run(env: Env) -> Any:
        a = left(env)
        b = right(env)
        if a is None or b is None:
            return None
        try:
            if a.__class__ is tuple or b.__class__ is tuple:
                return _pairwise(f, a, b)
            if a.__class__ is str or b.__class__ is str:
                raise Undefined("arithmetic on text")
            return _checked(f(a, b))
        except ZeroDivisionError:
            raise Undefined("division by zero") from None
        except (TypeError, OverflowError) as e:
            raise Undefined(str(e)) from None

    return run


def _comparison(f: Callable[[Any, Any], Any], left: Code, right: Code) -> Code:
    def run(env: Env) -> Any:
        a = left(env)
        b = right(env)
        if a is None or b is None:
            return None
        try:
            if a.__class__ is tuple or b.__class__ is tuple:
                return _pairwise(f, a, b)
            return f(a, b)
        except TypeError as e:
            raise Undefined(str(e)) from None

    return run


class _Compiler:
    """One expression being turned into closures."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.names: set[str] = set()

    def fail(self, node: ast.AST, why: str) -> SpecError:
        column = getattr(node, "col_offset", 0) + 1
        return SpecError(f"{self.where}: expression {self.text!r}, column {column}: {why}")

    def compile(self, node: ast.expr) -> Code:
        match node:
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.Name(id=name):
                self.names.add(name)
                return lambda env: env.get(name)
            case ast.BinOp(left=left, op=op, right=right):
                f = _BINARY.get(type(op))
                if f is None:
                    raise self.fail(node, f"operator {type(op).__name__} is not part of the language")
                return _arithmetic(f, self.compile(left), self.compile(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _arithmetic(operator.sub, lambda env: 0, self.compile(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.compile(operand)

                def negate(env: Env) -> bool | None:
                    t = truth(inner(env))
                    return None if t is None else not t

                return negate
            case ast.BoolOp(op=op, values=values):
                return self.logical(isinstance(op, ast.And), [self.compile(v) for v in values])
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(self.compile(test), self.compile(body), self.compile(orelse))
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                codes = [self.compile(e) for e in elts]
                return lambda env: tuple(c(env) for c in codes)
            case ast.Subscript(value=value, slice=index):
                return self.subscript(self.compile(value), index)
            case ast.Call():
                return self.call(node)
            case _:
                raise self.fail(node, f"{type(node).__name__} is not part of the language")

    def constant(self, node: ast.expr, value: Any) -> Code:
        if not isinstance(value, bool | int | float | str):
            raise self.fail(node, f"constant {value!r} is not part of the language")
        if isinstance(value, int) and abs(value) > MAX_MAGNITUDE:
            raise self.fail(node, "the number is too large")
        return lambda env: value

    def logical(self, conjunction: bool, codes: list[Code]) -> Code:
        decisive = not conjunction

        def run(env: Env) -> bool | None:
            unknown = False
            for code in codes:
                t = truth(code(env))
                if t is decisive:
                    return decisive
                unknown = unknown or t is None
            return None if unknown else conjunction

        return run

    def compare(self, node: ast.Compare) -> Code:
        links: list[Code] = []
        left = self.compile(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.compile(comparator)
            if isinstance(op, ast.In | ast.NotIn):
                links.append(self.membership(isinstance(op, ast.In), left, right))
            else:
                f = _COMPARE.get(type(op))
                if f is None:
                    raise self.fail(node, f"comparison {type(op).__name__} is not part of the language")
                links.append(_comparison(f, left, right))
            left = right
        return links[0] if len(links) == 1 else self.logical(conjunction=True, codes=links)

    def membership(self, wanted: bool, left: Code, right: Code) -> Code:
        def run(env: Env) -> bool | None:
            a, b = left(env), right(env)
            if a is None or b is None:
                return None
            if b.__class__ is not tuple:
                raise Undefined(f"{b!r} has no elements")
            if a in b:
                return wanted
            return None if None in b else not wanted

        return run

    def choice(self, test: Code, body: Code, orelse: Code) -> Code:
        def run(env: Env) -> Any:
            t = truth(test(env))
            if t is None:
                return None
            return body(env) if t else orelse(env)

        return run

    def subscript(self, value: Code, index: ast.expr) -> Code:
        if isinstance(index, ast.Slice):
            if index.step is not None:
                raise self.fail(index, "slices have no step in this language")
            low = self.compile(index.lower) if index.lower else None
            high = self.compile(index.upper) if index.upper else None

            def cut(env: Env) -> Any:
                v = value(env)
                a = low(env) if low else 0
                b = high(env) if high else len(v) if v.__class__ is tuple else 0
                if v is None or a is None or b is None:
                    return None
                if v.__class__ is not tuple or a.__class__ is not int or b.__class__ is not int:
                    raise Undefined("only tuples can be cut, at integers")
                return v[a:b]

            return cut
        position = self.compile(index)

        def item(env: Env) -> Any:
            v = value(env)
            i = position(env)
            if v is None or i is None:
                return None
            if v.__class__ is not tuple or i.__class__ is not int:
                raise Undefined(f"cannot index {v!r} with {i!r}")
            if not -len(v) <= i < len(v):
                raise Undefined(f"index {i} is outside a tuple of {len(v)}")
            return v[i]

        return item

    def call(self, node: ast.Call) -> Code:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self.fail(node, "only plain calls of the language's functions are allowed")
        name = node.func.id
        if name in LOOKUPS:
            if len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
                raise self.fail(node, f"{name}() takes the name of one input")
            key = f"{name}:{node.args[0].id}"
            self.names.add(key)
            return lambda env: env.get(key)
        function = FUNCTIONS.get(name)
        if function is None:
            raise self.fail(node, f"unknown function {name!r}; known are {', '.join(sorted({*FUNCTIONS, *LOOKUPS}))}")
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise self.fail(node, "starred arguments are not part of the language")
        codes = [self.compile(a) for a in node.args]
        count = len(codes)
        if not function.low <= count <= function.high:
            raise self.fail(node, f"{name}() takes {function.low} to {function.high} arguments, got {count}")
        body = function.body
        if count == 1:
            only = codes[0]

            def run_one(env: Env) -> Any:
                a = only(env)
                if a is None:
                    return None
                try:
                    return body(a)
                except (TypeError, ValueError) as e:
                    raise Undefined(f"{name}(): {e}") from None

            return run_one

        def run(env: Env) -> Any:
            values = [c(env) for c in codes]
            if None in values:
                return None
            try:
                return body(*values)
            except (TypeError, ValueError) as e:
                raise Undefined(f"{name}(): {e}") from None

        return run
