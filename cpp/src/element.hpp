// Reads elements that C++ has no type for, as bytes or bit patterns, as float.
#pragma once

#include <cstdint>

namespace irfuzz {

// IEEE 754 binary16, as stored in memory.
struct Float16 {
    std::uint16_t bits;
};

// The upper half of an IEEE 754 binary32, as stored in memory.
struct BFloat16 {
    std::uint16_t bits;
};

// A boolean as stored by NumPy; any byte but 0 is true (as a C++ bool, a byte above 1 would be undefined behaviour).
struct Bool {
    std::uint8_t byte;
};

// Always inlined: kernels are compiled for several instruction sets, and a copy for one of them must not serve another.
#define IRFUZZ_INLINE [[nodiscard, gnu::always_inline]] inline

// Exact for every pattern, subnormals, infinities and NaN included. Without branches, so that loops over it vectorise.
IRFUZZ_INLINE float widen(Float16 half) noexcept {
    const std::uint32_t bits = half.bits;
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    // Exponent and fraction moved into place are 2^-112 times the number; the product is exact also for subnormals.
    const float scaled = __builtin_bit_cast(float, (bits & 0x7fffU) << 13U) * 0x1p112F;
    const std::uint32_t special = (bits & 0x7c00U) == 0x7c00U ? 0x7f800000U : 0U;
    return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, scaled) | special | sign);
}

IRFUZZ_INLINE float widen(BFloat16 half) noexcept {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(half.bits) << 16U);
}

IRFUZZ_INLINE float widen(Bool value) noexcept { return value.byte != 0 ? 1.0F : 0.0F; }

}  // namespace irfuzz
