// The coverage kernels of one instruction set: bits and places for rows of activations and bitmaps.
#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"
#include "simd/vector.hpp"

namespace irfuzz::IRFUZZ_TARGET {
namespace {

constexpr double nan = __builtin_nan("");
constexpr double infinite = __builtin_inf();

// Bounds of a neuron are floats but for doubles.
template <typename E>
struct BoundOf {
    using Type = Float32;
};
template <>
struct BoundOf<Float64> {
    using Type = Float64;
};

// A vector of numbers, NaN where there are fewer.
template <typename E>
IRFUZZ_INLINE F64 some(const typename E::Type* from, std::size_t count) noexcept {
    if (count >= wide) {
        return E::numbers(from);
    }
    F64 numbers = all(nan);
    for (std::size_t i = 0; i < count; ++i) {
        numbers[i] = E::number(from[i]);
    }
    return numbers;
}

template <typename E>
void find_scales(const void* low, const void* high, std::size_t count, double sections, double* scale) {
    using Bound = typename BoundOf<E>::Type;
    const auto* lows = static_cast<const typename Bound::Type*>(low);
    const auto* highs = static_cast<const typename Bound::Type*>(high);
    for (std::size_t i = 0; i < count; ++i) {
        const double width = Bound::number(highs[i]) - Bound::number(lows[i]);
        scale[i] = width > 0.0 ? sections / width : 0.0;
    }
}

template <typename E>
void find_sections(const void* values, const void* low, const void* high, const double* scale, std::size_t count,
                   double last, std::int32_t* parts) {
    using Bound = typename BoundOf<E>::Type;
    using I32 = Vector<std::int32_t, wide>;
    const auto* from = static_cast<const typename E::Type*>(values);
    const auto* lows = static_cast<const typename Bound::Type*>(low);
    const auto* highs = static_cast<const typename Bound::Type*>(high);
    const std::size_t even = count - count % wide;
    for (std::size_t i = 0; i < even; i += wide) {
        const F64 x = E::numbers(from + i);
        const F64 bottom = Bound::numbers(lows + i);
        const F64 top = Bound::numbers(highs + i);
        const F64 part = smaller(all(last), (x - bottom) * load<F64>(scale + i));
        // Nothing is covered by or between NaN, nor between infinities.
        const Mask sound =
            (less(bottom, x) | equal(bottom, x)) & (less(x, top) | equal(x, top)) & less(all(-1.0), part);
        const F64 chosen = choose(sound, part, all(-1.0));
        store(parts + i, __builtin_convertvector(chosen, I32));
    }
    for (std::size_t i = even; i < count; ++i) {
        const double x = E::number(from[i]);
        const double bottom = Bound::number(lows[i]);
        const double exact = (x - bottom) * scale[i];
        const double part = exact < last ? exact : exact >= last ? last : nan;
        const bool sound = x >= bottom && x <= Bound::number(highs[i]) && part > -1.0;
        parts[i] = sound ? static_cast<std::int32_t>(part) : -1;
    }
}

// The lowest bits are those of the first lanes.
IRFUZZ_INLINE unsigned bits_of(Mask mask) noexcept { return static_cast<unsigned>(signs(mask)); }

template <typename E>
void find_boundaries(const void* values, const void* low, const void* high, std::size_t count, std::uint8_t* below,
                     std::uint8_t* above) {
    using Bound = typename BoundOf<E>::Type;
    const auto* from = static_cast<const typename E::Type*>(values);
    const auto* lows = static_cast<const typename Bound::Type*>(low);
    const auto* highs = static_cast<const typename Bound::Type*>(high);
    for (std::size_t i = 0; i < count; i += 8) {
        unsigned under = 0;
        unsigned over = 0;
        for (std::size_t j = 0; j < 8 && i + j < count; j += wide) {
            const std::size_t rest = count - i - j;
            const F64 x = some<E>(from + i + j, rest);
            under |= bits_of(less(x, some<Bound>(lows + i + j, rest))) << j;
            over |= bits_of(greater(x, some<Bound>(highs + i + j, rest))) << j;
        }
        if (below != nullptr) {
            below[i / 8] = static_cast<std::uint8_t>(below[i / 8] | under);
        }
        above[i / 8] = static_cast<std::uint8_t>(above[i / 8] | over);
    }
}

template <typename E>
void find_above(const void* values, std::size_t count, double shift, double limit, std::uint8_t* bits) {
    const auto* from = static_cast<const typename E::Type*>(values);
    for (std::size_t i = 0; i < count; i += 8) {
        unsigned over = 0;
        for (std::size_t j = 0; j < 8 && i + j < count; j += wide) {
            over |= bits_of(greater(some<E>(from + i + j, count - i - j) - all(shift), all(limit))) << j;
        }
        bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | over);
    }
}

template <typename E>
void find_range(const void* values, std::size_t count, double* low, double* high) {
    const auto* from = static_cast<const typename E::Type*>(values);
    F64 lows = all(infinite);
    F64 highs = all(-infinite);
    for (std::size_t i = 0; i < count; i += wide) {
        const F64 x = some<E>(from + i, count - i);
        const Mask finite = less(absolute(x), all(infinite));
        lows = smaller(choose(finite, x, all(infinite)), lows);
        highs = larger(choose(finite, x, all(-infinite)), highs);
    }
    *low = infinite;
    *high = -infinite;
    for (std::size_t i = 0; i < wide; ++i) {
        *low = lows[i] < *low ? lows[i] : *low;
        *high = highs[i] > *high ? highs[i] : *high;
    }
}

template <typename E>
void find_top(const void* values, std::size_t count, std::size_t k, double* best, std::int64_t* columns) {
    const auto* from = static_cast<const typename E::Type*>(values);
    std::size_t filled = 0;
    for (std::size_t i = 0; i < k; ++i) {
        columns[i] = -1;
    }
    for (std::size_t i = 0; i < count; i += wide) {
        // Most vectors hold nothing larger than the k largest so far.
        if (filled == k && !any(greater(some<E>(from + i, count - i), all(best[k - 1])))) {
            continue;
        }
        for (std::size_t j = i; j < i + wide && j < count; ++j) {
            const double x = E::number(from[j]);
            if (x != x || (filled == k && !(x > best[k - 1]))) {
                continue;
            }
            std::size_t place = filled < k ? filled : k - 1;
            for (; place > 0 && x > best[place - 1]; --place) {
                best[place] = best[place - 1];
                columns[place] = columns[place - 1];
            }
            best[place] = x;
            columns[place] = static_cast<std::int64_t>(j);
            filled += filled < k ? 1 : 0;
        }
    }
}

template <typename E>
std::int64_t find_rank(const void* values, std::size_t count, std::size_t label) {
    const auto* from = static_cast<const typename E::Type*>(values);
    const double own = E::number(from[label]);
    std::int64_t rank = 1;
    if (own != own) {
        for (std::size_t i = 0; i < count; ++i) {
            const double x = E::number(from[i]);
            rank += x == x || i < label ? 1 : 0;
        }
        return rank;
    }
    I64 before{};
    for (std::size_t i = 0; i < count; i += wide) {
        before = plus(before, greater(some<E>(from + i, count - i), all(own)));
    }
    for (std::size_t i = 0; i < wide; ++i) {
        rank += before[i];
    }
    before = I64{};
    for (std::size_t i = 0; i < label; i += wide) {
        before = plus(before, equal(some<E>(from + i, label - i), all(own)));
    }
    for (std::size_t i = 0; i < wide; ++i) {
        rank += before[i];
    }
    return rank;
}

using Words = Vector<std::uint64_t, wide>;

IRFUZZ_INLINE bool any_word(Words words) noexcept {
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(words), reinterpret_cast<__m512i>(words)) != 0;
#elif defined(__AVX2__)
    return _mm256_testz_si256(reinterpret_cast<__m256i>(words), reinterpret_cast<__m256i>(words)) == 0;
#else
    return (words[0] | words[1]) != 0;
#endif
}

IRFUZZ_INLINE std::uint64_t count_words(Words words) noexcept {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < wide; ++i) {
        total += static_cast<std::uint64_t>(__builtin_popcountll(words[i]));
    }
    return total;
}

template <bool Merge, typename Byte>
std::uint64_t compare_bits(Byte* seen, const std::uint8_t* found, std::size_t bytes) {
    constexpr std::size_t step = 4;
    std::uint64_t total = 0;
    std::size_t i = 0;
    for (; i + step * vector_bytes <= bytes; i += step * vector_bytes) {
        Words fresh[step];
#pragma GCC unroll 4
        for (std::size_t j = 0; j < step; ++j) {
            const std::size_t at = i + j * vector_bytes;
            fresh[j] = load<Words>(found + at) & ~load<Words>(seen + at);
        }
        // Maps are mostly seen already.
        if (any_word(fresh[0] | fresh[1] | fresh[2] | fresh[3])) {
#pragma GCC unroll 4
            for (std::size_t j = 0; j < step; ++j) {
                total += count_words(fresh[j]);
                if constexpr (Merge) {
                    const std::size_t at = i + j * vector_bytes;
                    store(seen + at, load<Words>(seen + at) | fresh[j]);
                }
            }
        }
    }
    for (; i < bytes; ++i) {
        const unsigned fresh = found[i] & ~static_cast<unsigned>(seen[i]);
        total += static_cast<std::uint64_t>(__builtin_popcount(fresh));
        if constexpr (Merge) {
            seen[i] = static_cast<std::uint8_t>(seen[i] | fresh);
        }
    }
    return total;
}

template <typename E>
constexpr CoverageKernels kernels_of = {find_sections<E>, find_scales<E>, find_boundaries<E>, find_above<E>,
                                        find_range<E>,    find_top<E>,    find_rank<E>};

}  // namespace

const CoverageTable& coverage_table() noexcept {
    static constexpr CoverageTable table = {
        {kernels_of<Half16>, kernels_of<Brain16>, kernels_of<Float32>, kernels_of<Float64>},
        compare_bits<false, const std::uint8_t>,
        compare_bits<true, std::uint8_t>};
    return table;
}

}  // namespace irfuzz::IRFUZZ_TARGET
