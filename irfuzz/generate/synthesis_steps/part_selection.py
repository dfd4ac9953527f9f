"""Chooses few parts, and the wires between them, that cover all wanted features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from irfuzz.choices import Choices
from irfuzz.errors import InternalError
from irfuzz.generate.synthesis_steps.covered_features import MOST, Feature, WantedFeatures
from irfuzz.generate.synthesis_steps.nodes_as_parts import Kind, NodePart, PartInput

STARTS = 3
"""How often the choice is made anew."""

PATIENCE = 6
"""How often in a row a part of the best choice is thrown away and made again without a gain before the search ends."""

_THROWN = 0.3
_HEAVY = 0.25
"""What a part costs more that has all the weights that the result may have: this many nodes."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A value that goes from one part to another.

    Attributes:
        producer: place of the part that computes it.
        output: which of its outputs.
        consumer: place of the part that reads it.
        position: at which input.
    """

    producer: int
    output: int
    consumer: int
    position: int


@dataclass(frozen=True, slots=True)
class Selection:
    """What a smaller program is made of.

    Attributes:
        chosen: places of the parts, rising.
        wires: those that cover the wanted sequences.
    """

    chosen: tuple[int, ...]
    wires: tuple[Wire, ...]


def select(parts: list[NodePart], wanted: WantedFeatures, least: int, allowance: int, choices: Choices,
           progress: Callable[[str], None] = lambda text: None) -> Selection:  # fmt: skip
    """As few parts as are found, and among as few the lightest.

    Greedily, then anew from what is left of the best when some of it is thrown away at random, until nothing smaller is
    found or the lower bound is reached.

    Args:
        parts: of the original program.
        wanted: what has to be covered.
        least: no choice can be smaller.
        allowance: weights that the result may have.
        choices: breaks ties.
        progress: told how far it has come.

    Raises:
        InternalError: not even all parts cover what is wanted.
    """
    search = _Search(parts, wanted, allowance, choices)
    best = search.complete(set())
    for start in range(1, STARTS):
        if len(best) <= least:
            break
        best = min(best, search.complete(set()), key=search.cost)
        progress(f"choosing: {len(best)} nodes after {start + 1} of {STARTS} starts")
    idle = 0
    while len(best) > least and idle < PATIENCE:
        left = {index for index in sorted(best) if not choices.boolean(_THROWN)}
        made = search.complete(left)
        idle = 0 if len(made) < len(best) else idle + 1
        best = min(best, made, key=search.cost)
        progress(f"choosing: {len(best)} nodes; {idle} of {PATIENCE} rounds without a gain")
    found = search.matching(best)
    return Selection(tuple(sorted(best)), tuple(found[pair] for pair in sorted(found)))


_PAIRS = 2000
"""So many pairs of moves are tried at most where no single one makes room."""

_Partners: TypeAlias = "dict[tuple[str, Kind], list[tuple[int, tuple[str, str]]]]"
"""By operator and kind of value: places of chosen parts, and the pair that arises with each."""


class _Search:
    """One problem."""

    def __init__(self, parts: list[NodePart], wanted: WantedFeatures, allowance: int, choices: Choices) -> None:
        self.parts = parts
        self.wanted = wanted
        self.allowance = max(allowance, 1)
        self.choices = choices
        self.pairs = frozenset((f[1], f[2]) for f in wanted.named if f[0] == "sequence")
        self.named = frozenset(f for f in wanted.named if f[0] != "sequence")
        self.enough = {key: enough for key, (_, enough) in wanted.several.items()}
        self.own = [p.own for p in parts]
        self.moves = self._moves()

    def cost(self, chosen: Iterable[int]) -> tuple[int, float]:
        """Nodes, then weights."""
        parts = [self.parts[i] for i in chosen]
        return len(parts), sum(p.weights for p in parts)

    def complete(self, chosen: set[int]) -> set[int]:
        """Add the parts that bring most, then leave out those that are not needed."""
        chosen = set().union(*(self.parts[i].needs for i in chosen))
        while True:
            wires = self.matching(chosen)
            have, short = self._state(chosen)
            lacking = {p for p in self.pairs if p not in wires and ("sequence", *p) not in have}
            if not lacking and not short and self.named <= have:
                break
            move = self._best(chosen, have, short, lacking, {(w.consumer, w.position) for w in wires.values()})
            move = move or self._making_room(chosen, lacking)
            if move is None:
                missing = self.wanted.missing(have | {("sequence", *pair) for pair in wires})
                raise InternalError(f"model synthesis: no node covers {missing[:3]}")
            chosen |= move
        return self._without_needless(chosen)

    def _making_room(self, chosen: set[int], lacking: set[tuple[str, str]]) -> set[int] | None:
        """What lets one more sequence be wired, if each input that it could go to is taken.

        The smallest move, else the smallest two of which one brings such a sequence, else all that is left.
        """
        found = sorted((set(move - chosen) for move in self.moves if not move <= chosen), key=len)

        def helps(new: set[int]) -> bool:
            more = chosen | new
            fixed = {f[1:] for i in more for f in self.own[i] if f[0] == "sequence"}
            return len(self.pairs - fixed - self.matching(more).keys()) < len(lacking)

        single = next((new for new in found if helps(new)), None)
        if single is not None:
            return single
        bringing = [new for new in found if self._inner(new | chosen, lacking)]
        both = sorted((one | other for one in bringing for other in found), key=len)
        rest = set(range(len(self.parts))) - chosen
        return next((new for new in [*both[:_PAIRS], rest] if helps(new)), None)

    def matching(self, chosen: set[int]) -> dict[tuple[str, str], Wire]:
        """Wires that cover as many sequences as can be, no input twice (Kuhn's algorithm)."""
        fixed = {f[1:] for i in chosen for f in self.own[i] if f[0] == "sequence"}
        by_op: dict[str, list[NodePart]] = defaultdict(list)
        for index in sorted(chosen):
            by_op[self.parts[index].op].append(self.parts[index])
        options: dict[tuple[str, str], list[Wire]] = {}
        for a, b in sorted(self.pairs - fixed):
            found = (wire for q in by_op[b] for s in q.slots if (wire := self._wire(by_op[a], q, s)) is not None)
            options[a, b] = list(found)
        taken: dict[tuple[int, int], tuple[str, str]] = {}
        made: dict[tuple[str, str], Wire] = {}

        def place(pair: tuple[str, str], seen: set[tuple[int, int]]) -> bool:
            for wire in options[pair]:
                slot = wire.consumer, wire.position
                if slot in seen:
                    continue
                seen.add(slot)
                holder = taken.get(slot)
                if holder is None or place(holder, seen):
                    taken[slot], made[pair] = pair, wire
                    return True
            return False

        for pair in sorted(options, key=lambda p: (len(options[p]), p)):
            place(pair, set())
        return made

    def _wire(self, producers: list[NodePart], consumer: NodePart, slot: PartInput) -> Wire | None:
        """A wire from one of some parts to an input, the original one if it is there."""
        best: Wire | None = None
        for p in producers:
            if p.index >= consumer.index:
                break
            if slot.producer == p.index:
                return Wire(p.index, slot.output, consumer.index, slot.position)
            if slot.kind is None:
                continue
            for output, kinds in enumerate(p.gives):
                if slot.kind in kinds:
                    best = Wire(p.index, output, consumer.index, slot.position)
                    break
        return best

    def _moves(self) -> list[frozenset[int]]:
        """Parts, and pairs of which one feeds the other, that can be added at once."""
        found: dict[frozenset[int], frozenset[int]] = {}
        for part in self.parts:
            if part.op:
                found.setdefault(part.needs, part.needs)
            for slot in part.slots:
                if slot.producer is not None and (self.parts[slot.producer].op, part.op) in self.pairs:
                    both = part.needs | self.parts[slot.producer].needs
                    found.setdefault(both, both)
        return list(found.values())

    def _state(self, chosen: set[int]) -> tuple[set[Feature], dict[Feature, int]]:
        have: set[Feature] = set().union(*(self.own[i] for i in chosen))
        short: dict[Feature, int] = {}
        for key, (these, enough) in self.wanted.several.items():
            lacking = enough - len(these & have)
            if lacking > 0:
                short[key] = lacking
        return have, short

    def _best(
        self,
        chosen: set[int],
        have: set[Feature],
        short: dict[Feature, int],
        lacking: set[tuple[str, str]],
        used: set[tuple[int, int]],
    ) -> set[int] | None:
        """The move that covers most for what it costs; equals are drawn."""
        worth = [self._unary(own - have, short, lacking) for own in self.own]
        fed, feeding = self._open(chosen, lacking, used)
        best: list[set[int]] = []
        top = 0.0
        for move in self.moves:
            new = set(move - chosen)
            if not new:
                continue
            gain: float = 0
            if len(new) == 1:
                (index,) = new
                gain = worth[index] + len(self._pairs_of(index, fed, feeding))
            else:
                own = set().union(*(self.own[i] for i in new)) - have
                pairs = set().union(*(self._pairs_of(i, fed, feeding) for i in new)) | self._inner(new, lacking)
                gain = self._unary(own, short, lacking) + len(pairs)
            if not gain:
                continue
            weights = sum(self.parts[i].weights for i in new)
            score = gain / (len(new) + _HEAVY * min(weights / self.allowance, 4.0))
            if score > top + 1e-9:
                top, best = score, [new]
            elif score > top - 1e-9:
                best.append(new)
        return self.choices.pick(best) if best else None

    def _unary(self, own: Iterable[Feature], short: dict[Feature, int], lacking: set[tuple[str, str]]) -> int:
        count = 0
        several: dict[Feature, int] = {}
        for feature in own:
            if feature[0] in MOST:
                key = feature[:-1]
                several[key] = several.get(key, 0) + 1
            elif feature in self.named or feature[1:] in lacking:
                count += 1
        return count + sum(min(n, short.get(key, 0)) for key, n in several.items())

    def _inner(self, new: set[int], lacking: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Pairs within some parts, as the original program has them."""
        found: set[tuple[str, str]] = set()
        for index in new:
            for slot in self.parts[index].slots:
                if slot.producer is not None and slot.producer in new:
                    pair = self.parts[slot.producer].op, self.parts[index].op
                    if pair in lacking:
                        found.add(pair)
        return found

    def _open(
        self, chosen: set[int], lacking: set[tuple[str, str]], used: set[tuple[int, int]]
    ) -> tuple[_Partners, _Partners]:
        """By operator and kind, what a new part could feed or be fed by to cover a lacking pair, with places."""
        fed: _Partners = defaultdict(list)
        feeding: _Partners = defaultdict(list)
        for a, b in lacking:
            for index in chosen:
                part = self.parts[index]
                if part.op == a:
                    for kind in set().union(*part.gives):
                        feeding[b, kind].append((index, (a, b)))
                if part.op == b:
                    for slot in part.slots:
                        if slot.kind is not None and (index, slot.position) not in used:
                            fed[a, slot.kind].append((index, (a, b)))
        return fed, feeding

    def _pairs_of(
        self,
        index: int,
        fed: _Partners,
        feeding: _Partners,
    ) -> set[tuple[str, str]]:
        """Lacking pairs that a new part covers together with those that are there."""
        part = self.parts[index]
        found: set[tuple[str, str]] = set()
        for kinds in part.gives:
            for kind in kinds:
                found.update(pair for other, pair in fed.get((part.op, kind), ()) if index < other)
        taken = 0
        for slot in part.slots:
            if slot.kind is None or taken >= len(part.slots):
                continue
            new = {p for other, p in feeding.get((part.op, slot.kind), ()) if other < index} - found
            if new:  # an input has room for one
                found.add(min(new))
                taken += 1
        return found

    def _without_needless(self, chosen: set[int]) -> set[int]:
        """Leave out parts, the heaviest first, as long as everything is covered."""
        order = sorted(chosen, key=lambda i: (-self.parts[i].weights, -self.parts[i].elements, i))
        for index in order:
            left = {i for i in chosen if index not in self.parts[i].needs}
            have, short = self._state(left)
            fixed = {f for f in have if f[0] == "sequence"}
            if not short and self.named <= have and len(self.matching(left)) + len(fixed) == len(self.pairs):
                chosen = left
        return chosen
