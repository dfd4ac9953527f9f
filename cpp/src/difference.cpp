#include "difference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>

namespace irfuzz {
namespace {

// Independent accumulators: they let the compiler vectorise, and they keep the sums short and so accurate.
constexpr std::size_t lanes = 8;
constexpr std::size_t block = 128 * lanes;

template <typename T>
inline constexpr bool is_wide_integer = std::is_integral_v<T> && sizeof(T) == 8;

template <typename T>
[[nodiscard]] double as_double(T value) noexcept {
    if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<double>(value);
    } else {
        return static_cast<double>(widen(value));
    }
}

[[nodiscard]] double larger(double x, double y) noexcept { return x > y ? x : y; }

// |a - b| without overflow, whatever the signs.
template <typename T>
[[nodiscard]] std::uint64_t distance(T a, T b) noexcept {
    const auto low = static_cast<std::uint64_t>(a);
    const auto high = static_cast<std::uint64_t>(b);
    return a > b ? low - high : high - low;
}

struct State {
    Difference result;
    // Wider than double, so that a sum of huge differences neither overflows nor loses the small ones. Every term is
    // positive and a block's sum is one term, so no further compensation is needed.
    long double sum = 0.0L;
    double max_abs = -1.0; // below every difference: the first compared pair becomes argmax
};

enum class Class : std::uint8_t { finite, nan, posinf, neginf };

[[nodiscard]] Class classify(double value) noexcept {
    if (std::isfinite(value)) {
        return Class::finite;
    }
    if (std::isnan(value)) {
        return Class::nan;
    }
    return value > 0.0 ? Class::posinf : Class::neginf;
}

void count_special(Class kind, std::int64_t& nan, std::int64_t& posinf, std::int64_t& neginf) noexcept {
    nan += kind == Class::nan ? 1 : 0;
    posinf += kind == Class::posinf ? 1 : 0;
    neginf += kind == Class::neginf ? 1 : 0;
}

// One pair at a time: for blocks with NaN, infinities or a difference that exceeds a double.
template <typename T>
void add_pairs(State& state, std::span<const T> a, std::span<const T> b, std::size_t begin, std::size_t end) {
    Difference& result = state.result;
    for (std::size_t i = begin; i < end; ++i) {
        const double x = as_double(a[i]);
        const double y = as_double(b[i]);
        const Class kind_a = classify(x);
        const Class kind_b = classify(y);
        count_special(kind_a, result.nan_a, result.posinf_a, result.neginf_a);
        count_special(kind_b, result.nan_b, result.posinf_b, result.neginf_b);
        if (kind_a == Class::finite) {
            result.max_a = larger(std::fabs(x), result.max_a);
        }
        if (kind_b == Class::finite) {
            result.max_b = larger(std::fabs(y), result.max_b);
        }
        if (kind_a != kind_b) {
            if (result.mismatched == 0) {
                result.first_mismatch = static_cast<std::int64_t>(i);
            }
            ++result.mismatched;
            continue;
        }
        double apart = 0.0;
        if (kind_a == Class::finite) {
            apart = std::fabs(x - y);
            state.sum += std::fabs(static_cast<long double>(x) - static_cast<long double>(y));
            const double scale = larger(std::fabs(x), std::fabs(y));
            if (scale > 0.0) {
                // Divide first where the difference itself overflows.
                const double ratio = std::isinf(apart) ? std::fabs(x / scale - y / scale) : apart / scale;
                result.max_rel = larger(ratio, result.max_rel);
            }
        }
        if (apart > state.max_abs) {
            state.max_abs = apart;
            result.argmax = static_cast<std::int64_t>(i);
        }
    }
}

// A whole block of finite numbers. Returns false, having changed nothing, where it holds anything else.
template <typename T>
[[nodiscard]] bool add_block(State& state, std::span<const T> a, std::span<const T> b, std::size_t begin) {
    std::array<double, lanes> sum{};
    std::array<double, lanes> apart{};
    std::array<double, lanes> ratio{};
    std::array<double, lanes> max_a{};
    std::array<double, lanes> max_b{};
    std::array<double, lanes> poison{};
    const T* left = a.data() + begin;
    const T* right = b.data() + begin;
    for (std::size_t i = 0; i < block; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double x = as_double(left[i + lane]);
            const double y = as_double(right[i + lane]);
            const double size_x = std::fabs(x);
            const double size_y = std::fabs(y);
            const double distance_xy = std::fabs(x - y);
            const double scale = larger(larger(size_x, size_y), std::numeric_limits<double>::denorm_min());
            sum[lane] += distance_xy;
            apart[lane] = larger(distance_xy, apart[lane]);
            ratio[lane] = larger(distance_xy / scale, ratio[lane]);
            max_a[lane] = larger(size_x, max_a[lane]);
            max_b[lane] = larger(size_y, max_b[lane]);
            poison[lane] += x * 0.0 + y * 0.0; // NaN where x or y is not finite
        }
    }
    double total = 0.0;
    double poisoned = 0.0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        total += sum[lane];
        poisoned += poison[lane];
    }
    if (!std::isfinite(total) || std::isnan(poisoned)) {
        return false;
    }
    Difference& result = state.result;
    state.sum += static_cast<long double>(total);
    result.max_a = larger(*std::ranges::max_element(max_a), result.max_a);
    result.max_b = larger(*std::ranges::max_element(max_b), result.max_b);
    result.max_rel = larger(*std::ranges::max_element(ratio), result.max_rel);
    const double furthest = *std::ranges::max_element(apart);
    if (furthest > state.max_abs) {
        state.max_abs = furthest;
        // Found again rather than carried along: this happens in few blocks, and the index would slow down all of them.
        std::size_t i = 0;
        while (std::fabs(as_double(left[i]) - as_double(right[i])) != furthest) {
            ++i;
        }
        result.argmax = static_cast<std::int64_t>(begin + i);
    }
    return true;
}

template <typename T>
void add_narrow(State& state, std::span<const T> a, std::span<const T> b) {
    std::size_t begin = 0;
    for (; begin + block <= a.size(); begin += block) {
        if (!add_block(state, a, b, begin)) {
            add_pairs(state, a, b, begin, begin + block);
        }
    }
    add_pairs(state, a, b, begin, a.size());
}

// 64-bit integers: a double would not tell neighbours above 2^53 apart.
template <typename T>
void add_wide(State& state, std::span<const T> a, std::span<const T> b) {
    Difference& result = state.result;
    std::uint64_t furthest = 0;
    std::uint64_t max_a = 0;
    std::uint64_t max_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::uint64_t size_a = distance(a[i], T{0});
        const std::uint64_t size_b = distance(b[i], T{0});
        const std::uint64_t apart = distance(a[i], b[i]);
        max_a = std::max(max_a, size_a);
        max_b = std::max(max_b, size_b);
        state.sum += static_cast<long double>(apart);
        if (apart != 0) {
            const double ratio = static_cast<double>(apart) / static_cast<double>(std::max(size_a, size_b));
            result.max_rel = larger(ratio, result.max_rel);
        }
        if (apart > furthest || result.argmax < 0) {
            furthest = apart;
            result.argmax = static_cast<std::int64_t>(i);
        }
    }
    result.max_a = static_cast<double>(max_a);
    result.max_b = static_cast<double>(max_b);
    state.max_abs = static_cast<double>(furthest);
}

}  // namespace

template <typename T>
Difference difference(std::span<const T> a, std::span<const T> b) {
    if (a.size() != b.size()) {
        throw std::invalid_argument("difference: spans of different length");
    }
    State state;
    if constexpr (is_wide_integer<T>) {
        add_wide(state, a, b);
    } else {
        add_narrow(state, a, b);
    }
    Difference& result = state.result;
    result.count = static_cast<std::int64_t>(a.size());
    result.compared = result.count - result.mismatched;
    if (result.compared > 0) {
        result.max_abs = state.max_abs;
        result.mean_abs = static_cast<double>(state.sum / static_cast<long double>(result.compared));
    }
    return result;
}

template Difference difference<float>(std::span<const float>, std::span<const float>);
template Difference difference<double>(std::span<const double>, std::span<const double>);
template Difference difference<Float16>(std::span<const Float16>, std::span<const Float16>);
template Difference difference<BFloat16>(std::span<const BFloat16>, std::span<const BFloat16>);
template Difference difference<Bool>(std::span<const Bool>, std::span<const Bool>);
template Difference difference<std::int8_t>(std::span<const std::int8_t>, std::span<const std::int8_t>);
template Difference difference<std::int16_t>(std::span<const std::int16_t>, std::span<const std::int16_t>);
template Difference difference<std::int32_t>(std::span<const std::int32_t>, std::span<const std::int32_t>);
template Difference difference<std::int64_t>(std::span<const std::int64_t>, std::span<const std::int64_t>);
template Difference difference<std::uint8_t>(std::span<const std::uint8_t>, std::span<const std::uint8_t>);
template Difference difference<std::uint16_t>(std::span<const std::uint16_t>, std::span<const std::uint16_t>);
template Difference difference<std::uint32_t>(std::span<const std::uint32_t>, std::span<const std::uint32_t>);
template Difference difference<std::uint64_t>(std::span<const std::uint64_t>, std::span<const std::uint64_t>);

}  // namespace irfuzz
