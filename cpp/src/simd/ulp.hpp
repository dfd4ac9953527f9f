// How many representable numbers lie between the two of a pair: counted in powers of two, a bit plane a binary digit.
//
// Every distance becomes a word with its highest bit, or that and those below it, set. Counters hold the number of
// words that have a certain bit, one binary digit a plane, and grow by carry-save addition: about two operations a
// vector.
#pragma once

#include <bit>

#include "simd/kernels.hpp"
#include "simd/vector.hpp"

namespace irfuzz::IRFUZZ_TARGET {
namespace {

template <typename E>
struct UlpOf;
template <>
struct UlpOf<Float64> {
    using Bits = std::uint64_t;
    static constexpr Bits infinity = 0x7ff0000000000000U;
};
template <>
struct UlpOf<Float32> {
    using Bits = std::uint32_t;
    static constexpr Bits infinity = 0x7f800000U;
};
template <>
struct UlpOf<Brain16> {
    using Bits = std::uint16_t;
    static constexpr Bits infinity = 0x7f80U;
};
template <>
struct UlpOf<Half16> {
    using Bits = std::uint16_t;
    static constexpr Bits infinity = 0x7c00U;
};

template <typename T>
struct UlpInfinity;
template <>
struct UlpInfinity<double> : UlpOf<Float64> {};
template <>
struct UlpInfinity<float> : UlpOf<Float32> {};
template <>
struct UlpInfinity<irfuzz::BFloat16> : UlpOf<Brain16> {};
template <>
struct UlpInfinity<irfuzz::Float16> : UlpOf<Half16> {};

template <typename V>
IRFUZZ_INLINE V unsigned_max(V x, V y) noexcept {
#if defined(__AVX512F__)
    const auto left = reinterpret_cast<__m512i>(x);
    const auto right = reinterpret_cast<__m512i>(y);
    if constexpr (sizeof(x[0]) == 8) {
        return reinterpret_cast<V>(_mm512_max_epu64(left, right));
    } else if constexpr (sizeof(x[0]) == 4) {
        return reinterpret_cast<V>(_mm512_max_epu32(left, right));
    } else {
        return reinterpret_cast<V>(_mm512_max_epu16(left, right));
    }
#else
    return x > y ? x : y;
#endif
}

template <typename V>
IRFUZZ_INLINE V unsigned_min(V x, V y) noexcept {
#if defined(__AVX512F__)
    const auto left = reinterpret_cast<__m512i>(x);
    const auto right = reinterpret_cast<__m512i>(y);
    if constexpr (sizeof(x[0]) == 8) {
        return reinterpret_cast<V>(_mm512_min_epu64(left, right));
    } else if constexpr (sizeof(x[0]) == 4) {
        return reinterpret_cast<V>(_mm512_min_epu32(left, right));
    } else {
        return reinterpret_cast<V>(_mm512_min_epu16(left, right));
    }
#else
    return x > y ? y : x;
#endif
}

// Whether mark() leaves the highest bit alone; otherwise those below it are set too.
template <typename Bits>
#if defined(__AVX512CD__)
inline constexpr bool marks_highest = sizeof(Bits) >= 4;
#else
inline constexpr bool marks_highest = false;
#endif

template <typename Bits, typename V>
IRFUZZ_INLINE V mark(V word) noexcept {
#if defined(__AVX512CD__)
    // A shift by all digits, for a word of 0, gives 0.
    if constexpr (sizeof(Bits) == 8) {
        const __m512i zeros = _mm512_lzcnt_epi64(reinterpret_cast<__m512i>(word));
        return reinterpret_cast<V>(_mm512_srlv_epi64(_mm512_set1_epi64(-0x7fffffffffffffff - 1), zeros));
    } else if constexpr (sizeof(Bits) == 4) {
        const __m512i zeros = _mm512_lzcnt_epi32(reinterpret_cast<__m512i>(word));
        return reinterpret_cast<V>(_mm512_srlv_epi32(_mm512_set1_epi32(-0x7fffffff - 1), zeros));
    }
#endif
#pragma GCC unroll 8
    for (std::size_t shift = 1; shift < 8 * sizeof(Bits); shift *= 2) {
        word |= word >> static_cast<Bits>(shift);
    }
    return word;
}

template <typename Bits>
class UlpCounts {
  public:
    // At most chunk_size pairs in all.
    template <bool Finite, typename Type>
    void add(const Type* a, const Type* b, std::size_t count) noexcept {
        constexpr Bits infinity = UlpInfinity<Type>::infinity;
        std::size_t i = 0;
        V furthest = furthest_;
        V ones = planes_[0];
        V twos = planes_[1];
        V fours = planes_[2];
        V eights = planes_[3];
        for (; i + 16 * lanes <= count; i += 16 * lanes) {
            V eight[2];
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
                const std::size_t first = i + half * 8 * lanes;
                V words[8];
#pragma GCC unroll 8
                for (std::size_t j = 0; j < 8; ++j) {
                    const V apart =
                        distance<Finite>(load<V>(a + first + j * lanes), load<V>(b + first + j * lanes), infinity);
                    furthest = unsigned_max(apart, furthest);
                    words[j] = mark<Bits>(apart);
                }
                V two[4];
                V four[2];
                save(ones, words[0], words[1], two[0]);
                save(ones, words[2], words[3], two[1]);
                save(ones, words[4], words[5], two[2]);
                save(ones, words[6], words[7], two[3]);
                save(twos, two[0], two[1], four[0]);
                save(twos, two[2], two[3], four[1]);
                save(fours, four[0], four[1], eight[half]);
            }
            V sixteen;
            save(eights, eight[0], eight[1], sixteen);
            ripple(sixteen, 4);
        }
        planes_[0] = ones;
        planes_[1] = twos;
        planes_[2] = fours;
        planes_[3] = eights;
        for (; i < count; i += lanes) {
            V left{};
            V right{};
            const std::size_t size = count - i < lanes ? count - i : lanes;
            std::memcpy(&left, a + i, size * sizeof(Bits));
            std::memcpy(&right, b + i, size * sizeof(Bits));
            const V apart = distance<Finite>(left, right, infinity);
            furthest = unsigned_max(apart, furthest);
            ripple(mark<Bits>(apart), 0);
        }
        furthest_ = furthest;
    }

    // Numbers of pairs that are at least 2^(k-1) apart go to bucket k of the histogram, to be made differences of
    // later.
    void flush(Totals& totals) noexcept {
        for (std::size_t bit = 0; bit < digits; ++bit) {
            std::uint64_t total = 0;
            for (std::size_t plane = 0; plane < most_planes; ++plane) {
                const V set = (planes_[plane] >> static_cast<Bits>(bit)) & static_cast<Bits>(1);
                std::uint64_t here = 0;
                for (std::size_t lane = 0; lane < lanes; ++lane) {
                    here += set[lane];
                }
                total += here << plane;
            }
            totals.ulp_histogram[bit + 1] += total;
            if (!marks_highest<Bits>) {
                totals.ulp_histogram[bit] -= bit > 0 ? total : 0;
            }
        }
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const std::uint64_t value = furthest_[lane];
            totals.max_ulp = value > totals.max_ulp ? value : totals.max_ulp;
        }
    }

  private:
    static constexpr std::size_t lanes = vector_bytes / sizeof(Bits);
    static constexpr std::size_t digits = 8 * sizeof(Bits);
    static constexpr std::size_t most_planes = std::bit_width(chunk_size / lanes);  // as many words as that
    using V = Vector<Bits, lanes>;

    // Zero where a side is not finite, unless all are known to be. The numbers of a type in their order are its bit
    // patterns, negative ones reversed; both zeros are one.
    template <bool Finite>
    [[nodiscard, gnu::always_inline]] static V distance(V a, V b, Bits infinity) noexcept {
        constexpr Bits sign = static_cast<Bits>(Bits{1} << (digits - 1));
        // Of one sign: the bit is in both, so that it is in neither difference. Else it is in one, and in the sum.
        const V apart = magnitude(a - b);
        const V result = ((a ^ b) & sign) != V{} ? (a + b) ^ sign : apart;
        if constexpr (Finite) {
            return result;
        }
        return unsigned_max(a & static_cast<Bits>(~sign), b & static_cast<Bits>(~sign)) < infinity ? result : V{};
    }

    // Of a signed number.
    [[nodiscard, gnu::always_inline]] static V magnitude(V x) noexcept {
#if defined(__AVX512F__)
        const auto bits = reinterpret_cast<__m512i>(x);
        if constexpr (sizeof(Bits) == 8) {
            return reinterpret_cast<V>(_mm512_abs_epi64(bits));
        } else if constexpr (sizeof(Bits) == 4) {
            return reinterpret_cast<V>(_mm512_abs_epi32(bits));
        } else {
            return reinterpret_cast<V>(_mm512_abs_epi16(bits));
        }
#else
        return unsigned_min(x, V{} - x);
#endif
    }

    // sum + x + y, of which the carry leaves.
    [[gnu::always_inline]] static void save(V& sum, V x, V y, V& carry) noexcept {
#if defined(__AVX512F__)
        // The last arguments are truth tables: whether two of the three are set, and whether one or all are.
        const auto s = reinterpret_cast<__m512i>(sum);
        const auto p = reinterpret_cast<__m512i>(x);
        const auto q = reinterpret_cast<__m512i>(y);
        carry = reinterpret_cast<V>(_mm512_ternarylogic_epi64(s, p, q, 0xe8));
        sum = reinterpret_cast<V>(_mm512_ternarylogic_epi64(s, p, q, 0x96));
#else
        const V either = sum ^ x;
        carry = (sum & x) | (either & y);
        sum = either ^ y;
#endif
    }

    [[gnu::always_inline]] void ripple(V carry, std::size_t plane) noexcept {
        for (; plane < most_planes; ++plane) {
            const V both = planes_[plane] & carry;
            planes_[plane] ^= carry;
            carry = both;
        }
    }

    V planes_[most_planes] = {};
    V furthest_{};
};

}  // namespace
}  // namespace irfuzz::IRFUZZ_TARGET
