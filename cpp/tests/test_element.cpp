#include <cmath>
#include <cstdint>

#include "check.hpp"
#include "element.hpp"

namespace {

// The definition of binary16, spelled out: sign, 5 bits of exponent with bias 15, 10 bits of fraction.
double by_definition(std::uint16_t bits) {
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    const int exponent = (bits >> 10) & 0x1f;
    const double fraction = static_cast<double>(bits & 0x3ff);
    if (exponent == 0) {
        return sign * std::ldexp(fraction, -24);
    }
    return sign * std::ldexp(1024.0 + fraction, exponent - 25);
}

void every_float16() {
    for (std::uint32_t pattern = 0; pattern <= 0xffffU; ++pattern) {
        const auto bits = static_cast<std::uint16_t>(pattern);
        const float wide = irfuzz::widen(irfuzz::Float16{bits});
        CHECK_EQUAL(std::signbit(wide), (bits & 0x8000U) != 0);
        if ((bits & 0x7c00U) != 0x7c00U) {
            CHECK_EQUAL(static_cast<double>(wide), by_definition(bits));
        } else if ((bits & 0x3ffU) == 0) {
            CHECK(std::isinf(wide));
        } else {
            CHECK(std::isnan(wide));
        }
    }
}

void some_bfloat16() {
    CHECK_EQUAL(irfuzz::widen(irfuzz::BFloat16{0x3f80}), 1.0F);
    CHECK_EQUAL(irfuzz::widen(irfuzz::BFloat16{0xc040}), -3.0F);
    CHECK_EQUAL(irfuzz::widen(irfuzz::BFloat16{0x0001}), std::ldexp(1.0F, -133));
    CHECK(std::isinf(irfuzz::widen(irfuzz::BFloat16{0x7f80})));
    CHECK(std::isnan(irfuzz::widen(irfuzz::BFloat16{0x7fc0})));
}

void any_byte_but_zero_is_true() {
    CHECK_EQUAL(irfuzz::widen(irfuzz::Bool{0}), 0.0F);
    CHECK_EQUAL(irfuzz::widen(irfuzz::Bool{1}), 1.0F);
    CHECK_EQUAL(irfuzz::widen(irfuzz::Bool{2}), 1.0F);
}

}  // namespace

void test_element() {
    every_float16();
    some_bfloat16();
    any_byte_but_zero_is_true();
}
