"""Expressions for nodes on strings and n-grams."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.emitter_context import Code, Emitted, EmitterContext, TupleExpression

_LOCALES = frozenset({"", "C", "POSIX", "en_US", "en_US.UTF-8", "en-US"})
"""Those whose rules of case are the usual ones."""


def tfidf(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """TfIdfVectorizer: "the i-th element in weights is the weight of the i-th n-gram in pool" (TfIdfVectorizer-9).

    It becomes ``tfidf(x, grams, size, skips, torch.float32)``; ``grams`` are (place in the result, n-gram) of the
    lengths asked for, ``weights`` (one for each place) follow if there are any and the mode is not TF, and ``binary=1``
    does if it is IDF. N-grams or places that stand twice raise ``Unsupported``.
    """
    pool = ctx.attr(node, "pool_strings") or ctx.attr(node, "pool_int64s") or ()
    starts, places = ctx.attr(node, "ngram_counts"), ctx.attr(node, "ngram_indexes")
    least, most = ctx.attr(node, "min_gram_length"), ctx.attr(node, "max_gram_length")
    found: list[tuple[int | str, ...]] = []
    for length, (start, end) in enumerate(zip(starts, (*starts[1:], len(pool)), strict=True), 1):
        found += [tuple(pool[at : at + length]) for at in range(start, end, length)]
    weights, mode = ctx.attr(node, "weights"), ctx.attr(node, "mode")
    weights = None if mode == "TF" else weights
    if len(set(found)) < len(found) or len(set(places)) < len(places):
        raise ctx.unsupported(node, "ONNX does not say which of equal n-grams or places counts")
    size = max(places) + 1
    of_place = dict(zip(places, weights or (), strict=bool(weights)))
    grams = tuple((at, gram) for at, gram in zip(places, found, strict=True) if least <= len(gram) <= most)
    return ctx.call(
        "tfidf",
        ctx.input(node, 0),
        grams,
        size,
        ctx.attr(node, "max_skip_count"),
        Code(ctx.spell(ir.DataType.FLOAT)),
        weights=tuple(of_place.get(at, 0.0) for at in range(size)) if weights else None,
        binary=int(mode == "IDF") or None,
    )


def string_normalizer(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """StringNormalizer, from opset 10, in locales whose rules of case are the usual ones; others raise ``Unsupported``.

    It becomes ``string_normalizer(x, "LOWER", 0, ("a",))``: the change of case, whether stop words are compared with
    case, and the stop words.
    """
    locale, change = ctx.attr(node, "locale", ""), ctx.attr(node, "case_change_action")
    if locale not in _LOCALES:
        raise ctx.unsupported(node, f"locale {locale!r}")
    words = ctx.attr(node, "stopwords", ())
    sensitive = ctx.attr(node, "is_case_sensitive")
    return ctx.call("string_normalizer", ctx.input(node, 0), change, sensitive, words)


def string_split(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """StringSplit, from opset 20: it becomes ``string_split(x, ",", 2)``, a tuple of (parts along a new last axis, how
    many). A ``maxsplit`` without a delimiter raises ``Unsupported``: TensorFlow then splits otherwise.
    """
    delimiter, most = ctx.attr(node, "delimiter", ""), ctx.attr(node, "maxsplit")
    if most is not None and not delimiter:
        # tf.strings.split(["a b"], maxsplit=2) gives a third part, which is empty (TensorFlow 2.21).
        raise ctx.unsupported(node, "maxsplit without a delimiter")
    return TupleExpression(ctx.call("string_split", ctx.input(node, 0), delimiter, most), 2)


def regex_full_match(ctx: EmitterContext, node: ir.Node) -> Emitted:
    """RegexFullMatch, from opset 20: it becomes ``tf.strings.regex_full_match(x, "pattern")``, a boolean for each
    string. This emitter is TensorFlow's only; both follow the syntax of the RE2 library.
    """
    return ctx.call("tf.strings.regex_full_match", ctx.input(node, 0), ctx.attr(node, "pattern"))
