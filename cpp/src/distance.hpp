// Figures on pairs of spans of one length and element type, in one pass over memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "element.hpp"

namespace irfuzz {

// Types with a kernel of their own; the order is that of the kernels' table.
enum class Element : std::uint8_t {
    boolean,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float16,
    bfloat16,
    float32,
    float64
};
inline constexpr std::size_t element_types = 13;

[[nodiscard]] constexpr std::size_t size_of(Element element) noexcept {
    constexpr std::array<std::size_t, element_types> sizes = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
    return sizes[static_cast<std::size_t>(element)];
}

[[nodiscard]] constexpr bool is_float(Element element) noexcept { return element >= Element::float16; }

// Equal to a bucket of the ULP histogram: 0 ULP, then [2^(k-1), 2^k) for k = 1 to 64.
inline constexpr std::size_t ulp_buckets = 65;

// What two arrays differ in. "Compared" are the pairs of two finite numbers, of two NaNs and of two infinities of one
// sign; the last two count as equal. Every other pair (a NaN against a number, +Inf against -Inf, ...) is mismatched.
// The layout is that of the structured NumPy type in the bindings: members of 8 bytes only.
struct Distance {
    std::int64_t count = 0;            // pairs
    std::int64_t compared = 0;         // pairs that are not mismatched
    std::int64_t mismatched = 0;       // pairs whose class (finite, NaN, +Inf, -Inf) differs
    std::int64_t first_mismatch = -1;  // row-major index of the first of them, -1 without
    double mean_abs = 0.0;             // mean of |a - b| over the compared pairs, 0 without any
    double max_abs = 0.0;              // largest |a - b| over the compared pairs; infinite where it exceeds a double
    std::int64_t argmax = -1;          // row-major index of the first pair at max_abs, -1 without compared pairs
    double max_rel = 0.0;              // relative: largest |a - b| / max(|a|, |b|) over finite pairs; 0 where a == b
    double max_a = 0.0;                // largest |a| over the finite elements of a, 0 without any
    double max_b = 0.0;
    std::int64_t nan_a = 0;
    std::int64_t nan_b = 0;
    std::int64_t posinf_a = 0;
    std::int64_t posinf_b = 0;
    std::int64_t neginf_a = 0;
    std::int64_t neginf_b = 0;
    double low_a = 0.0;   // smallest finite element of a, NaN without any; never -0
    double high_a = 0.0;  // largest finite element of a, NaN without any
    double low_b = 0.0;
    double high_b = 0.0;
    std::int64_t beyond = 0;    // compared pairs with |a - b| > atol + rtol * |b|, or > bound
    double sum_abs = 0.0;       // sum of |a - b| over the compared pairs; infinite where it exceeds a double
    std::uint64_t max_ulp = 0;  // ulp: largest number of steps from a to b over finite pairs; 0 for integers
    double dot = 0.0;           // cosine: sum of a * b over finite pairs
    double norm_a = 0.0;        // cosine: root of the sum of a * a over finite pairs
    double norm_b = 0.0;
    double cosine = 0.0;                                     // dot / (norm_a * norm_b), NaN where a norm is 0
    std::array<std::uint64_t, ulp_buckets> ulp_histogram{};  // ulp: finite pairs in each bucket; zeros for integers
};

struct Options {
    double atol = 0.0;
    double rtol = 0.0;
    bool relative = false;  // max_rel, NaN where not asked for
    bool cosine = false;    // dot, norms and cosine, NaN where not asked for
    bool ulp = false;       // max_ulp and its histogram, 0 where not asked for
};

// One pair of arrays; `bound` is null, or one limit a pair, taken instead of atol + rtol * |b|.
struct Pair {
    const void* a = nullptr;
    const void* b = nullptr;
    const double* bound = nullptr;
    std::size_t count = 0;
    Element element = Element::float32;
};

// Every |a - b| is the exact one rounded once to double; which is the largest is decided on exact values for integers
// (neighbours above 2^53 are told apart) and on rounded ones otherwise. The mean's relative error is below 1e-14.
// The results have the same bits for any number of threads and on every instruction set. Threads are started only where
// there is work for them, and joined before this returns. Throws std::invalid_argument where the spans' lengths differ.
void distances(std::span<const Pair> pairs, std::span<Distance> results, const Options& options, unsigned threads);

template <typename T>
inline constexpr Element element_of = [] {
    static_assert(sizeof(T) == 0, "no kernel for this type");
    return Element::boolean;
}();
template <>
inline constexpr Element element_of<Bool> = Element::boolean;
template <>
inline constexpr Element element_of<std::int8_t> = Element::int8;
template <>
inline constexpr Element element_of<std::uint8_t> = Element::uint8;
template <>
inline constexpr Element element_of<std::int16_t> = Element::int16;
template <>
inline constexpr Element element_of<std::uint16_t> = Element::uint16;
template <>
inline constexpr Element element_of<std::int32_t> = Element::int32;
template <>
inline constexpr Element element_of<std::uint32_t> = Element::uint32;
template <>
inline constexpr Element element_of<std::int64_t> = Element::int64;
template <>
inline constexpr Element element_of<std::uint64_t> = Element::uint64;
template <>
inline constexpr Element element_of<Float16> = Element::float16;
template <>
inline constexpr Element element_of<BFloat16> = Element::bfloat16;
template <>
inline constexpr Element element_of<float> = Element::float32;
template <>
inline constexpr Element element_of<double> = Element::float64;

// One pair of spans; throws std::invalid_argument where the lengths differ.
template <typename T>
[[nodiscard]] Distance distance(std::span<const T> a, std::span<const T> b, const Options& options,
                                unsigned threads = 1);

}  // namespace irfuzz
