// The distance kernels of one instruction set: totals and sums of a chunk of two arrays.
//
// A chunk is taken in blocks that stay in the first-level cache. A block is first taken to hold finite numbers only;
// its sum shows whether that was so, and if not it is taken again, with care. Sums are kept in 16 lanes, each of them
// at most 64 terms long before it is compensated, in an order that is the same on every instruction set.
#include <cstddef>
#include <cstdint>

#include "distance.hpp"
#include "simd/chunk.hpp"
#include "simd/kernels.hpp"
#include "simd/singles.hpp"
#include "simd/ulp.hpp"
#include "simd/vector.hpp"
#include "simd/wide.hpp"

namespace irfuzz::IRFUZZ_TARGET {
namespace {

IRFUZZ_INLINE bool finite(double x) noexcept { return __builtin_fabs(x) < infinite; }

// The distance as argmax sees it: below every other for a mismatched pair.
IRFUZZ_INLINE double apart_or_mismatched(double x, double y) noexcept {
    if (finite(x) && finite(y)) {
        return __builtin_fabs(x - y);
    }
    return x == y || (x != x && y != y) ? 0.0 : -1.0;
}

IRFUZZ_INLINE double ratio_of(double x, double y) noexcept {
    const double size_x = __builtin_fabs(x);
    const double size_y = __builtin_fabs(y);
    const double scale = size_x > size_y ? size_x : size_y;
    const double apart = __builtin_fabs(x - y);
    if (!(scale > 0.0) || !finite(x) || !finite(y)) {
        return 0.0;
    }
    // Divide first where the difference itself overflows.
    return finite(apart) ? apart / scale : __builtin_fabs(x / scale - y / scale);
}

template <typename E>
[[gnu::noinline, gnu::cold]] void renew_ratio(const typename E::Type* a, const typename E::Type* b, std::size_t count,
                                              Totals& totals) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        const double ratio = ratio_of(E::number(a[i]), E::number(b[i]));
        totals.max_rel = ratio > totals.max_rel ? ratio : totals.max_rel;
    }
}

template <typename E>
[[gnu::noinline, gnu::cold]] void renew_argmax(const typename E::Type* a, const typename E::Type* b, std::size_t count,
                                               std::size_t origin, Totals& totals) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        const double apart = apart_or_mismatched(E::number(a[i]), E::number(b[i]));
        if (apart > totals.max_abs) {
            totals.max_abs = apart;
            totals.argmax = static_cast<std::int64_t>(origin + i);
        }
    }
}

template <typename E>
[[gnu::noinline, gnu::cold]] void find_mismatch(const typename E::Type* a, const typename E::Type* b, std::size_t count,
                                                std::size_t origin, Totals& totals) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        if (apart_or_mismatched(E::number(a[i]), E::number(b[i])) < 0.0) {
            totals.first_mismatch = static_cast<std::int64_t>(origin + i);
            return;
        }
    }
}

// Pairs whose quotient may exceed the largest one so far; seldom any, so that nearly no division is needed.
template <typename E>
IRFUZZ_INLINE Mask may_exceed(F64 apart, F64 scale, F64 ratio) noexcept {
    const Mask by_product = greater(apart, ratio * scale);
    if constexpr (E::exact_products) {
        return by_product;  // no product of such a ratio and a number gets near the subnormal doubles
    } else {
        return by_product | (greater(apart, F64{}) & less(apart, all(0x1p-900)));
    }
}

// A little less than the ratio itself, so that rounding the product hides no larger quotient.
IRFUZZ_INLINE F64 threshold(double ratio) noexcept { return all(ratio * (1.0 - 0x1p-40)); }

// One group of which some pairs are special, or which only has `count` pairs; `a` and `b` hold a whole group all the
// same.
template <typename E>
[[gnu::noinline]] void special_group(Chunk<E>& chunk, const typename E::Type* a, const typename E::Type* b,
                                     const double* bound, std::size_t count, std::size_t origin) noexcept {
    Specials& s = chunk.specials;
    if (!chunk.used_specials) {
        std::memset(&s, 0, sizeof(s));
        for (std::size_t g = 0; g < wides; ++g) {
            s.apart[g] = all(-1.0);
            s.low_a[g] = s.low_b[g] = all(infinite);
            s.high_a[g] = s.high_b[g] = all(-infinite);
        }
        chunk.used_specials = true;
    }
    if (!chunk.block_specials) {
        std::memset(&s.terms, 0, sizeof(s.terms));
        chunk.block_specials = true;
    }
    I64 lane;
    for (std::size_t i = 0; i < wide; ++i) {
        lane[i] = static_cast<std::int64_t>(i);
    }
    const F64 inf = all(infinite);
    const F64 zero{};
    for (std::size_t g = 0; g < wides; ++g, lane += static_cast<std::int64_t>(wide)) {
        const Mask valid = first_lanes(lane, static_cast<std::int64_t>(count));
        const F64 x = E::numbers(a + g * wide);
        const F64 y = E::numbers(b + g * wide);
        const Mask finite_x = less(absolute(x), inf) & valid;
        const Mask finite_y = less(absolute(y), inf) & valid;
        const Mask both = finite_x & finite_y;
        const Mask nan_x = ~equal(x, x) & valid;
        const Mask nan_y = ~equal(y, y) & valid;
        const Mask same = (both | (nan_x & nan_y) | equal(x, y)) & valid;
        const F64 left = choose(both, x, zero);
        const F64 right = choose(both, y, zero);
        const F64 apart = absolute(left - right);
        F64 term = apart;
        if constexpr (!E::exact_products) {
            if (!every(less(apart, all(huge)))) {
                for (std::size_t i = 0; i < wide; ++i) {
                    if (!(term[i] < huge)) {
                        grow(chunk.sums.huge, __builtin_fabs(left[i] * huge_scale - right[i] * huge_scale));
                        term[i] = 0.0;
                    }
                }
            }
        }
        s.terms.apart[g] += term;
        s.apart[g] = larger(choose(same, apart, all(-1.0)), s.apart[g]);
        const F64 limit = bound != nullptr ? load<F64>(bound + g * wide)
                                           : all(chunk.options.atol) + all(chunk.options.rtol) * absolute(right);
        s.over[g] = plus(s.over[g], greater(apart, limit) & same);
        s.low_a[g] = smaller(choose(finite_x, x, inf), s.low_a[g]);
        s.high_a[g] = larger(choose(finite_x, x, -inf), s.high_a[g]);
        s.low_b[g] = smaller(choose(finite_y, y, inf), s.low_b[g]);
        s.high_b[g] = larger(choose(finite_y, y, -inf), s.high_b[g]);
        s.nan_a = plus(s.nan_a, nan_x);
        s.nan_b = plus(s.nan_b, nan_y);
        s.posinf_a = plus(s.posinf_a, equal(x, inf) & valid);
        s.posinf_b = plus(s.posinf_b, equal(y, inf) & valid);
        s.neginf_a = plus(s.neginf_a, equal(x, -inf) & valid);
        s.neginf_b = plus(s.neginf_b, equal(y, -inf) & valid);
        s.not_finite = plus(s.not_finite, ~both & valid);
        const Mask differs = ~same & valid;
        s.mismatched = plus(s.mismatched, differs);
        if (chunk.totals.first_mismatch < 0 && any(differs)) {
            find_mismatch<E>(a, b, count, origin, chunk.totals);
        }
        s.terms.dot[g] += left * right;
        s.terms.square_a[g] += left * left;
        s.terms.square_b[g] += right * right;
    }
    if (chunk.options.relative) {
        renew_ratio<E>(a, b, count, chunk.totals);
    }
}

// Whole groups. Without Careful all numbers are taken to be finite and their differences not huge; returns false,
// having changed no more than max_rel, where that was wrong.
template <typename E, bool Extra, bool Careful>
[[nodiscard, gnu::noinline]] bool whole_groups(Chunk<E>& chunk, const typename E::Type* a, const typename E::Type* b,
                                               const double* bound, std::size_t count, std::size_t origin,
                                               Terms& terms) noexcept {
    constexpr std::size_t limits = Lanes<E>::limits;
    constexpr std::size_t lanes_a_limit = limit_lanes<E>;
    // Far enough ahead for the next lines of both arrays to arrive in time.
    constexpr std::size_t ahead = 2048 / sizeof(typename E::Type);
    Lanes<E> lanes = chunk.lanes;
    Terms sum{};
    const F64 atol = all(chunk.options.atol);
    const F64 rtol = all(chunk.options.rtol);
    F64 ratio = threshold(chunk.totals.max_rel);
    for (std::size_t i = 0; i < count; i += group) {
        __builtin_prefetch(a + i + ahead);
        __builtin_prefetch(b + i + ahead);
        if constexpr (Careful) {
            // One test a group: a branch for each vector costs more than the comparisons.
            Mask plain = less(absolute(E::numbers(a + i) - E::numbers(b + i)), all(huge));
#pragma GCC unroll 8
            for (std::size_t g = 1; g < wides; ++g) {
                const F64 apart = absolute(E::numbers(a + i + g * wide) - E::numbers(b + i + g * wide));
                plain = plain & less(apart, all(huge));
            }
            if (!every(plain)) [[unlikely]] {
                special_group<E>(chunk, a + i, b + i, bound != nullptr ? bound + i : nullptr, group, origin + i);
                ratio = threshold(chunk.totals.max_rel);
                continue;
            }
        }
#pragma GCC unroll 8
        for (std::size_t l = 0; l < limits; ++l) {
            const auto x = E::limits(a + i + l * lanes_a_limit);
            const auto y = E::limits(b + i + l * lanes_a_limit);
            lanes.low_a[l] = smaller(x, lanes.low_a[l]);
            lanes.high_a[l] = larger(x, lanes.high_a[l]);
            lanes.low_b[l] = smaller(y, lanes.low_b[l]);
            lanes.high_b[l] = larger(y, lanes.high_b[l]);
        }
        Mask exceeding{};
#pragma GCC unroll 8
        for (std::size_t g = 0; g < wides; ++g) {
            const F64 x = E::numbers(a + i + g * wide);
            const F64 y = E::numbers(b + i + g * wide);
            const F64 apart = absolute(x - y);
            const F64 size_y = absolute(y);
            sum.apart[g] += apart;
            lanes.apart[g] = larger(apart, lanes.apart[g]);
            const F64 limit = bound != nullptr ? load<F64>(bound + i + g * wide) : atol + rtol * size_y;
            lanes.over[g] = plus(lanes.over[g], greater(apart, limit));
            if constexpr (Extra) {
                const F64 scale = larger(absolute(x), size_y);
                exceeding = exceeding | may_exceed<E>(apart, scale, ratio);
                if constexpr (E::exact_products) {
                    sum.dot[g] = add_exact_product(x, y, sum.dot[g]);
                    sum.square_a[g] = add_exact_product(x, x, sum.square_a[g]);
                    sum.square_b[g] = add_exact_product(y, y, sum.square_b[g]);
                } else {
                    sum.dot[g] += x * y;
                    sum.square_a[g] += x * x;
                    sum.square_b[g] += y * y;
                }
            }
        }
        if constexpr (Extra) {
            if (any(exceeding)) [[unlikely]] {
                renew_ratio<E>(a + i, b + i, group, chunk.totals);
                ratio = threshold(chunk.totals.max_rel);
            }
        }
    }
    bool plain = true;
    for (std::size_t g = 0; g < wides; ++g) {
        plain = plain && every(less(sum.apart[g], all(huge)));
    }
    if (!Careful && !plain) {
        return false;
    }
    chunk.lanes = lanes;
    terms = sum;
    return true;
}

template <typename E, bool Extra>
void add_block(Chunk<E>& chunk, const typename E::Type* a, const typename E::Type* b, const double* bound,
               std::size_t count, std::size_t origin) noexcept {
    using Type = typename E::Type;
    const std::size_t even = count - count % group;
    chunk.block_specials = false;
    Terms terms{};
    bool taken = false;
    if constexpr (Singles<E>::here && !Extra) {
        if (count == block && chunk.singles && chunk.totals.careful == 0 && chunk.totals.inexact-- <= 0) {
            taken = single_block<E>(chunk, a, b, terms);
            chunk.totals.inexact = taken ? 0 : inexact_blocks;
        }
    }
    if (even != 0 && !taken) {
        if (chunk.totals.careful > 0 || !whole_groups<E, Extra, false>(chunk, a, b, bound, even, origin, terms)) {
            (void)whole_groups<E, Extra, true>(chunk, a, b, bound, even, origin, terms);
        }
        chunk.totals.careful =
            chunk.block_specials ? careful_blocks : chunk.totals.careful - (chunk.totals.careful > 0 ? 1 : 0);
    }
    if (even != count) {
        Type left[group] = {};
        Type right[group] = {};
        double limit[group] = {};
        const std::size_t rest = count - even;
        std::memcpy(left, a + even, rest * sizeof(Type));
        std::memcpy(right, b + even, rest * sizeof(Type));
        if (bound != nullptr) {
            std::memcpy(limit, bound + even, rest * sizeof(double));
        }
        special_group<E>(chunk, left, right, bound != nullptr ? limit : nullptr, rest, origin + even);
    }
    Mask further{};
    for (std::size_t g = 0; g < wides; ++g) {
        further = further | greater(chunk.lanes.apart[g], all(chunk.totals.max_abs));
    }
    if (chunk.block_specials) {
        const Specials& s = chunk.specials;
        for (std::size_t g = 0; g < wides; ++g) {
            terms.apart[g] += s.terms.apart[g];
            terms.dot[g] += s.terms.dot[g];
            terms.square_a[g] += s.terms.square_a[g];
            terms.square_b[g] += s.terms.square_b[g];
            further = further | greater(s.apart[g], all(chunk.totals.max_abs));
        }
    }
    if (any(further)) {
        renew_argmax<E>(a, b, count, origin, chunk.totals);
    }
    for (std::size_t g = 0; g < wides; ++g) {
        chunk.apart.add(g, terms.apart[g]);
        if constexpr (Extra) {
            chunk.dot.add(g, terms.dot[g]);
            chunk.square_a.add(g, terms.square_a[g]);
            chunk.square_b.add(g, terms.square_b[g]);
        }
    }
}

IRFUZZ_INLINE std::int64_t sum_of(I64 lanes) noexcept {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < wide; ++i) {
        total += lanes[i];
    }
    return total;
}

template <typename V>
[[gnu::always_inline]] inline void lower(double& limit, V lanes) noexcept {
    for (std::size_t i = 0; i < sizeof(V) / sizeof(lanes[0]); ++i) {
        const double value = static_cast<double>(lanes[i]);
        limit = value < limit ? value : limit;
    }
}

template <typename V>
[[gnu::always_inline]] inline void raise(double& limit, V lanes) noexcept {
    for (std::size_t i = 0; i < sizeof(V) / sizeof(lanes[0]); ++i) {
        const double value = static_cast<double>(lanes[i]);
        limit = value > limit ? value : limit;
    }
}

template <typename E>
void merge_specials(Chunk<E>& chunk) noexcept {
    const Specials& s = chunk.specials;
    Totals& t = chunk.totals;
    for (std::size_t g = 0; g < wides; ++g) {
        t.beyond += sum_of(s.over[g]);
        lower(t.low_a, s.low_a[g]);
        raise(t.high_a, s.high_a[g]);
        lower(t.low_b, s.low_b[g]);
        raise(t.high_b, s.high_b[g]);
    }
    t.nan_a += sum_of(s.nan_a);
    t.nan_b += sum_of(s.nan_b);
    t.posinf_a += sum_of(s.posinf_a);
    t.posinf_b += sum_of(s.posinf_b);
    t.neginf_a += sum_of(s.neginf_a);
    t.neginf_b += sum_of(s.neginf_b);
    t.mismatched += sum_of(s.mismatched);
    t.not_finite += sum_of(s.not_finite);
}

template <typename E>
void begin(Chunk<E>& chunk) noexcept {
    using Number = decltype(typename E::Limit{}[0] + typename E::Limit{}[0]);
    for (std::size_t g = 0; g < wides; ++g) {
        chunk.lanes.apart[g] = all(-1.0);
        chunk.lanes.over[g] = I64{};
    }
    for (std::size_t l = 0; l < Lanes<E>::limits; ++l) {
        chunk.lanes.low_a[l] = chunk.lanes.low_b[l] = all(static_cast<Number>(infinite));
        chunk.lanes.high_a[l] = chunk.lanes.high_b[l] = all(static_cast<Number>(-infinite));
    }
}

template <typename E>
void finish(Chunk<E>& chunk, ChunkSums& sums) noexcept {
    if (chunk.used_specials) {
        merge_specials(chunk);
    }
    for (std::size_t g = 0; g < wides; ++g) {
        chunk.totals.beyond += sum_of(chunk.lanes.over[g]);
    }
    for (std::size_t l = 0; l < Lanes<E>::limits; ++l) {
        lower(chunk.totals.low_a, chunk.lanes.low_a[l]);
        raise(chunk.totals.high_a, chunk.lanes.high_a[l]);
        lower(chunk.totals.low_b, chunk.lanes.low_b[l]);
        raise(chunk.totals.high_b, chunk.lanes.high_b[l]);
    }
    sums.apart = chunk.apart.total();
    sums.dot = chunk.dot.total();
    sums.square_a = chunk.square_a.total();
    sums.square_b = chunk.square_b.total();
}

// The blocks of a chunk; `after` gets each one while it is in the cache, and whether all its numbers are finite.
template <typename E, typename After>
[[gnu::always_inline]] inline void add_blocks(const typename E::Type* a, const typename E::Type* b, const double* bound,
                                              std::size_t count, std::size_t origin, const Options& options,
                                              Totals& totals, ChunkSums& sums, const After& after) {
    Chunk<E> chunk(options, totals, sums);
    begin(chunk);
    if constexpr (Singles<E>::here) {
        chunk.singles = bound == nullptr && single_tolerance(options.atol) && single_tolerance(options.rtol);
    }
    const bool extra = options.relative || options.cosine;
    for (std::size_t i = 0; i < count; i += block) {
        const std::size_t size = count - i < block ? count - i : block;
        const double* limit = bound != nullptr ? bound + i : nullptr;
        if (extra) {
            add_block<E, true>(chunk, a + i, b + i, limit, size, origin + i);
        } else {
            add_block<E, false>(chunk, a + i, b + i, limit, size, origin + i);
        }
        after(a + i, b + i, size, !chunk.block_specials);
    }
    finish(chunk, sums);
}

// Floating-point types.
template <typename E>
void add_floats(const void* a, const void* b, const double* bound, std::size_t count, std::size_t origin,
                const Options& options, Totals& totals, ChunkSums& sums) {
    using Type = typename E::Type;
    const auto* left = static_cast<const Type*>(a);
    const auto* right = static_cast<const Type*>(b);
    if (!options.ulp) {
        add_blocks<E>(left, right, bound, count, origin, options, totals, sums,
                      [](const Type* /*a*/, const Type* /*b*/, std::size_t /*count*/, bool /*finite*/) {});
        return;
    }
    UlpCounts<typename UlpOf<E>::Bits> ulps;
    add_blocks<E>(left, right, bound, count, origin, options, totals, sums,
                  [&](const Type* x, const Type* y, std::size_t size, bool finite) {
                      if (finite) {
                          ulps.template add<true>(x, y, size);
                      } else {
                          ulps.template add<false>(x, y, size);
                      }
                  });
    ulps.flush(totals);
}

// Integers of at most 32 bits and booleans: every value of them is a float or a double.
template <typename T, typename E>
void add_narrow(const void* a, const void* b, const double* bound, std::size_t count, std::size_t origin,
                const Options& options, Totals& totals, ChunkSums& sums) {
    using Type = typename E::Type;
    const auto* left = static_cast<const T*>(a);
    const auto* right = static_cast<const T*>(b);
    Chunk<E> chunk(options, totals, sums);
    begin(chunk);
    const bool extra = options.relative || options.cosine;
    Type wide_left[block + group];
    Type wide_right[block + group];
    for (std::size_t i = 0; i < count; i += block) {
        const std::size_t size = count - i < block ? count - i : block;
        for (std::size_t j = 0; j < size; ++j) {
            wide_left[j] = static_cast<Type>(left[i + j]);
            wide_right[j] = static_cast<Type>(right[i + j]);
        }
        const double* limit = bound != nullptr ? bound + i : nullptr;
        if (extra) {
            add_block<E, true>(chunk, wide_left, wide_right, limit, size, origin + i);
        } else {
            add_block<E, false>(chunk, wide_left, wide_right, limit, size, origin + i);
        }
    }
    finish(chunk, sums);
}

void add_booleans(const void* a, const void* b, const double* bound, std::size_t count, std::size_t origin,
                  const Options& options, Totals& totals, ChunkSums& sums) {
    const auto* left = static_cast<const std::uint8_t*>(a);
    const auto* right = static_cast<const std::uint8_t*>(b);
    // Bytes of 0 and 1, so that the integers' kernel takes any other byte for true.
    std::uint8_t clean_left[block];
    std::uint8_t clean_right[block];
    ChunkSums part{};
    ChunkSums total{};
    for (std::size_t i = 0; i < count; i += block) {
        const std::size_t size = count - i < block ? count - i : block;
        for (std::size_t j = 0; j < size; ++j) {
            clean_left[j] = left[i + j] != 0 ? 1 : 0;
            clean_right[j] = right[i + j] != 0 ? 1 : 0;
        }
        add_narrow<std::uint8_t, Float32>(clean_left, clean_right, bound != nullptr ? bound + i : nullptr, size,
                                          origin + i, options, totals, part);
        total.apart.high += part.apart.high;  // small integers: exact
        total.dot.high += part.dot.high;
        total.square_a.high += part.square_a.high;
        total.square_b.high += part.square_b.high;
    }
    sums = total;
}

}  // namespace

const DistanceTable& distance_table() noexcept {
    static constexpr DistanceTable table = {
        {add_booleans, add_narrow<std::int8_t, Float32>, add_narrow<std::uint8_t, Float32>,
         add_narrow<std::int16_t, Float32>, add_narrow<std::uint16_t, Float32>, add_narrow<std::int32_t, Float64>,
         add_narrow<std::uint32_t, Float64>, add_wide<std::int64_t>, add_wide<std::uint64_t>, add_floats<Half16>,
         add_floats<Brain16>, add_floats<Float32>, add_floats<Float64>}};
    return table;
}

}  // namespace irfuzz::IRFUZZ_TARGET
