// Vectors of the instruction set that this translation unit is compiled for, and the few operations that the compiler's
// own vectors lack; in a namespace of that set, so that nothing here can be taken for another set's.
#pragma once

#ifndef IRFUZZ_TARGET
#error "IRFUZZ_TARGET names the namespace, one for each set of compiler flags"
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "element.hpp"

namespace irfuzz::IRFUZZ_TARGET {
namespace {

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

template <typename T, std::size_t N>
struct VectorOf {
    using type [[gnu::vector_size(N * sizeof(T))]] = T;
};
template <typename T, std::size_t N>
using Vector = typename VectorOf<T, N>::type;

inline constexpr std::size_t wide = vector_bytes / sizeof(double);   // doubles a vector
inline constexpr std::size_t narrow = vector_bytes / sizeof(float);  // floats a vector
// Elements handled together, and so the number of partial sums: the same on every set, for the same rounding.
inline constexpr std::size_t group = 16;
inline constexpr std::size_t wides = group / wide;      // vectors of doubles a group
inline constexpr std::size_t narrows = group / narrow;  // vectors of floats a group

using F64 = Vector<double, wide>;
using I64 = Vector<std::int64_t, wide>;
using F32 = Vector<float, narrow>;

template <typename V>
IRFUZZ_INLINE V load(const void* from) noexcept {
    V vector;
    std::memcpy(&vector, from, sizeof(V));
    return vector;
}

template <typename V>
[[gnu::always_inline]] inline void store(void* to, const V& vector) noexcept {
    std::memcpy(to, &vector, sizeof(V));
}

IRFUZZ_INLINE F64 all(double value) noexcept { return value - F64{}; }  // -0 - 0 is -0
IRFUZZ_INLINE F32 all(float value) noexcept { return value - F32{}; }

IRFUZZ_INLINE F64 absolute(F64 x) noexcept {
    return reinterpret_cast<F64>(reinterpret_cast<I64>(x) & std::int64_t{0x7fffffffffffffff});
}

// Masks of doubles, and min and max. Where an operand is NaN, min and max give the second one (as x86 does).
#if defined(__AVX512F__)
struct Mask {
    __mmask8 bits;
};
IRFUZZ_INLINE Mask operator&(Mask x, Mask y) noexcept { return {static_cast<__mmask8>(x.bits & y.bits)}; }
IRFUZZ_INLINE Mask operator|(Mask x, Mask y) noexcept { return {static_cast<__mmask8>(x.bits | y.bits)}; }
IRFUZZ_INLINE Mask operator~(Mask x) noexcept { return {static_cast<__mmask8>(~x.bits)}; }
IRFUZZ_INLINE Mask greater(F64 x, F64 y) noexcept { return {_mm512_cmp_pd_mask(x, y, _CMP_GT_OQ)}; }
IRFUZZ_INLINE Mask less(F64 x, F64 y) noexcept { return {_mm512_cmp_pd_mask(x, y, _CMP_LT_OQ)}; }
IRFUZZ_INLINE Mask equal(F64 x, F64 y) noexcept { return {_mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ)}; }
IRFUZZ_INLINE Mask first_lanes(I64 lane, std::int64_t count) noexcept {
    return {_mm512_cmplt_epi64_mask(reinterpret_cast<__m512i>(lane), _mm512_set1_epi64(count))};
}
IRFUZZ_INLINE int signs(Mask mask) noexcept { return mask.bits; }
IRFUZZ_INLINE bool any(Mask mask) noexcept { return mask.bits != 0; }
IRFUZZ_INLINE bool every(Mask mask) noexcept { return mask.bits == 0xff; }
IRFUZZ_INLINE F64 choose(Mask mask, F64 x, F64 y) noexcept { return _mm512_mask_blend_pd(mask.bits, y, x); }
IRFUZZ_INLINE I64 plus(I64 count, Mask mask) noexcept {
    const __m512i old = reinterpret_cast<__m512i>(count);
    return reinterpret_cast<I64>(_mm512_mask_add_epi64(old, mask.bits, old, _mm512_set1_epi64(1)));
}
IRFUZZ_INLINE F64 larger(F64 x, F64 y) noexcept { return _mm512_max_pd(x, y); }
IRFUZZ_INLINE F64 smaller(F64 x, F64 y) noexcept { return _mm512_min_pd(x, y); }
IRFUZZ_INLINE F32 larger(F32 x, F32 y) noexcept { return _mm512_max_ps(x, y); }
IRFUZZ_INLINE F32 smaller(F32 x, F32 y) noexcept { return _mm512_min_ps(x, y); }
#else
struct Mask {
    I64 bits;
};
IRFUZZ_INLINE Mask operator&(Mask x, Mask y) noexcept { return {x.bits & y.bits}; }
IRFUZZ_INLINE Mask operator|(Mask x, Mask y) noexcept { return {x.bits | y.bits}; }
IRFUZZ_INLINE Mask operator~(Mask x) noexcept { return {~x.bits}; }
IRFUZZ_INLINE Mask greater(F64 x, F64 y) noexcept { return {x > y}; }
IRFUZZ_INLINE Mask less(F64 x, F64 y) noexcept { return {x < y}; }
IRFUZZ_INLINE Mask equal(F64 x, F64 y) noexcept { return {x == y}; }
IRFUZZ_INLINE Mask first_lanes(I64 lane, std::int64_t count) noexcept { return {lane < count}; }
#if defined(__AVX2__)
IRFUZZ_INLINE int signs(Mask mask) noexcept { return _mm256_movemask_pd(reinterpret_cast<F64>(mask.bits)); }
#elif defined(__x86_64__)
IRFUZZ_INLINE int signs(Mask mask) noexcept { return _mm_movemask_pd(reinterpret_cast<F64>(mask.bits)); }
#else
IRFUZZ_INLINE int signs(Mask mask) noexcept { return static_cast<int>((mask.bits[0] & 1) | (mask.bits[1] & 2)); }
#endif
IRFUZZ_INLINE bool any(Mask mask) noexcept { return signs(mask) != 0; }
IRFUZZ_INLINE bool every(Mask mask) noexcept { return signs(mask) == (1 << wide) - 1; }
IRFUZZ_INLINE F64 choose(Mask mask, F64 x, F64 y) noexcept {
    return reinterpret_cast<F64>((reinterpret_cast<I64>(x) & mask.bits) | (reinterpret_cast<I64>(y) & ~mask.bits));
}
IRFUZZ_INLINE I64 plus(I64 count, Mask mask) noexcept { return count - mask.bits; }
#if defined(__AVX2__)
IRFUZZ_INLINE F64 larger(F64 x, F64 y) noexcept { return _mm256_max_pd(x, y); }
IRFUZZ_INLINE F64 smaller(F64 x, F64 y) noexcept { return _mm256_min_pd(x, y); }
IRFUZZ_INLINE F32 larger(F32 x, F32 y) noexcept { return _mm256_max_ps(x, y); }
IRFUZZ_INLINE F32 smaller(F32 x, F32 y) noexcept { return _mm256_min_ps(x, y); }
#elif defined(__x86_64__)
IRFUZZ_INLINE F64 larger(F64 x, F64 y) noexcept { return _mm_max_pd(x, y); }
IRFUZZ_INLINE F64 smaller(F64 x, F64 y) noexcept { return _mm_min_pd(x, y); }
IRFUZZ_INLINE F32 larger(F32 x, F32 y) noexcept { return _mm_max_ps(x, y); }
IRFUZZ_INLINE F32 smaller(F32 x, F32 y) noexcept { return _mm_min_ps(x, y); }
#else
IRFUZZ_INLINE F64 larger(F64 x, F64 y) noexcept { return x > y ? x : y; }
IRFUZZ_INLINE F64 smaller(F64 x, F64 y) noexcept { return x < y ? x : y; }
IRFUZZ_INLINE F32 larger(F32 x, F32 y) noexcept { return x > y ? x : y; }
IRFUZZ_INLINE F32 smaller(F32 x, F32 y) noexcept { return x < y ? x : y; }
#endif
#endif

// x * y + z where x * y is exact, so that it does not matter whether the instruction set fuses them.
IRFUZZ_INLINE F64 add_exact_product(F64 x, F64 y, F64 z) noexcept {
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(x, y, z);
#elif defined(__FMA__)
    return _mm256_fmadd_pd(x, y, z);
#else
    return x * y + z;
#endif
}

// Elements as vectors: `wide` of them as doubles, or as many as a vector of `Limit` holds, where minima are taken.
struct Float64 {
    using Type = double;
    using Limit = F64;
    static constexpr bool exact_products = false;
    IRFUZZ_INLINE static F64 numbers(const Type* from) noexcept { return load<F64>(from); }
    IRFUZZ_INLINE static Limit limits(const Type* from) noexcept { return load<F64>(from); }
    IRFUZZ_INLINE static double number(Type x) noexcept { return x; }
};

struct Float32 {
    using Type = float;
    using Limit = F32;
    static constexpr bool exact_products = true;
    IRFUZZ_INLINE static F64 numbers(const Type* from) noexcept {
#if defined(__AVX512F__)
        return _mm512_cvtps_pd(_mm256_loadu_ps(from));
#elif defined(__AVX2__)
        return _mm256_cvtps_pd(_mm_loadu_ps(from));
#else
        return __builtin_convertvector(load<Vector<float, wide> >(from), F64);
#endif
    }
    IRFUZZ_INLINE static Limit limits(const Type* from) noexcept { return load<F32>(from); }
    IRFUZZ_INLINE static double number(Type x) noexcept { return static_cast<double>(x); }
};

struct Brain16 {
    using Type = irfuzz::BFloat16;
    using Limit = F32;
    static constexpr bool exact_products = true;
#if defined(__AVX512F__)
    IRFUZZ_INLINE static F64 numbers(const Type* from) noexcept {
        const __m256i words = _mm256_cvtepu16_epi32(load<__m128i>(from));
        return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(words, 16)));
    }
    IRFUZZ_INLINE static Limit limits(const Type* from) noexcept {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load<__m256i>(from)), 16));
    }
#elif defined(__AVX2__)
    IRFUZZ_INLINE static F64 numbers(const Type* from) noexcept {
        const __m128i words = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
        return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(words, 16)));
    }
    IRFUZZ_INLINE static Limit limits(const Type* from) noexcept {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load<__m128i>(from)), 16));
    }
#else
    template <std::size_t N>
    IRFUZZ_INLINE static Vector<float, N> floats(const Type* from) noexcept {
        using Bits = Vector<std::uint32_t, N>;
        const auto halves = load<Vector<std::uint16_t, N> >(from);
        return reinterpret_cast<Vector<float, N> >(__builtin_convertvector(halves, Bits) << 16);
    }
    IRFUZZ_INLINE static F64 numbers(const Type* from) noexcept {
        return __builtin_convertvector(floats<wide>(from), F64);
    }
    IRFUZZ_INLINE static Limit limits(const Type* from) noexcept { return floats<narrow>(from); }
#endif
    IRFUZZ_INLINE static double number(Type x) noexcept { return static_cast<double>(widen(x)); }
};

struct Half16 {
    using Type = irfuzz::Float16;
    using Limit = F32;
    static constexpr bool exact_products = true;
#if defined(__AVX512F__)
    IRFUZZ_INLINE static F64 numbers(const Type* from) noexcept {
        return _mm512_cvtps_pd(_mm256_cvtph_ps(load<__m128i>(from)));
    }
    IRFUZZ_INLINE static Limit limits(const Type* from) noexcept { return _mm512_cvtph_ps(load<__m256i>(from)); }
#elif defined(__F16C__)
    IRFUZZ_INLINE static F64 numbers(const Type* from) noexcept {
        return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
    }
    IRFUZZ_INLINE static Limit limits(const Type* from) noexcept { return _mm256_cvtph_ps(load<__m128i>(from)); }
#else
    // As widen() does it.
    template <std::size_t N>
    IRFUZZ_INLINE static Vector<float, N> floats(const Type* from) noexcept {
        using Bits = Vector<std::uint32_t, N>;
        using Floats = Vector<float, N>;
        const Bits bits = __builtin_convertvector(load<Vector<std::uint16_t, N> >(from), Bits);
        const Floats scaled = reinterpret_cast<Floats>((bits & 0x7fffU) << 13) * 0x1p112F;
        const Bits special = reinterpret_cast<Bits>((bits & 0x7c00U) == 0x7c00U) & 0x7f800000U;
        return reinterpret_cast<Floats>(reinterpret_cast<Bits>(scaled) | special | ((bits & 0x8000U) << 16));
    }
    IRFUZZ_INLINE static F64 numbers(const Type* from) noexcept {
        return __builtin_convertvector(floats<wide>(from), F64);
    }
    IRFUZZ_INLINE static Limit limits(const Type* from) noexcept { return floats<narrow>(from); }
#endif
    IRFUZZ_INLINE static double number(Type x) noexcept { return static_cast<double>(widen(x)); }
};

}  // namespace
}  // namespace irfuzz::IRFUZZ_TARGET
