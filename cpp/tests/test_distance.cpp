#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "check.hpp"
#include "dispatch.hpp"
#include "distance.hpp"
#include "simd/kernels.hpp"

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

constexpr irfuzz::Options everything{.atol = 0.25, .rtol = 0.125, .relative = true, .cosine = true, .ulp = true};

template <typename T>
irfuzz::Distance compare(const std::vector<T>& a, const std::vector<T>& b, unsigned threads = 1) {
    return irfuzz::distance(std::span<const T>(a), std::span<const T>(b), everything, threads);
}

bool same_bits(const irfuzz::Distance& left, const irfuzz::Distance& right) {
    return std::memcmp(&left, &right, sizeof(left)) == 0;
}

void nothing() {
    const auto d = compare<float>({}, {});
    CHECK_EQUAL(d.count, 0);
    CHECK_EQUAL(d.compared, 0);
    CHECK_EQUAL(d.argmax, -1);
    CHECK_EQUAL(d.max_abs, 0.0);
    CHECK_EQUAL(d.mean_abs, 0.0);
}

void one_pair() {
    const auto d = compare<float>({1.5F}, {1.0F});
    CHECK_EQUAL(d.compared, 1);
    CHECK_EQUAL(d.argmax, 0);
    CHECK_EQUAL(d.max_abs, 0.5);
    CHECK_EQUAL(d.mean_abs, 0.5);
    CHECK_EQUAL(d.max_rel, 0.5 / 1.5);
    CHECK_EQUAL(d.max_a, 1.5);
    CHECK_EQUAL(d.max_b, 1.0);
}

void equal_pairs_have_an_argmax() {
    const auto d = compare<double>({0.0, -0.0}, {0.0, 0.0});
    CHECK_EQUAL(d.argmax, 0);
    CHECK_EQUAL(d.max_rel, 0.0);
}

void specials_of_one_class_are_equal() {
    const auto d = compare<double>({nan, inf, -inf, 1.0}, {nan, inf, -inf, 3.0});
    CHECK_EQUAL(d.mismatched, 0);
    CHECK_EQUAL(d.first_mismatch, -1);
    CHECK_EQUAL(d.compared, 4);
    CHECK_EQUAL(d.mean_abs, 0.5);
    CHECK_EQUAL(d.max_abs, 2.0);
    CHECK_EQUAL(d.argmax, 3);
    CHECK_EQUAL(d.nan_a, 1);
    CHECK_EQUAL(d.posinf_b, 1);
    CHECK_EQUAL(d.neginf_a, 1);
}

void specials_of_two_classes_are_left_out() {
    const auto d = compare<double>({5.0, nan, inf, inf}, {4.0, 100.0, -inf, nan});
    CHECK_EQUAL(d.mismatched, 3);
    CHECK_EQUAL(d.first_mismatch, 1);
    CHECK_EQUAL(d.compared, 1);
    CHECK_EQUAL(d.mean_abs, 1.0);
    CHECK_EQUAL(d.max_abs, 1.0);
    CHECK_EQUAL(d.max_b, 100.0);
}

void nothing_compared() {
    const auto d = compare<float>({std::numeric_limits<float>::quiet_NaN()}, {0.0F});
    CHECK_EQUAL(d.compared, 0);
    CHECK_EQUAL(d.argmax, -1);
    CHECK_EQUAL(d.max_abs, 0.0);
    CHECK_EQUAL(d.mean_abs, 0.0);
}

// Every position of a special value and of the largest difference, across the seams of lanes and blocks.
void every_position() {
    for (const std::size_t size : {1U, 7U, 8U, 9U, 1023U, 1024U, 1025U, 1031U, 1032U, 2049U}) {
        for (std::size_t position = 0; position < size; position += size < 10 ? 1 : 5) {
            std::vector<double> a(size, 1.0);
            std::vector<double> b(size, 1.0);
            b[position] = 4.0;
            auto d = compare(a, b);
            CHECK_EQUAL(d.argmax, static_cast<std::int64_t>(position));
            CHECK_EQUAL(d.max_abs, 3.0);
            CHECK_EQUAL(d.mean_abs, 3.0 / static_cast<double>(size));
            a[position] = nan;
            d = compare(a, b);
            CHECK_EQUAL(d.first_mismatch, static_cast<std::int64_t>(position));
            CHECK_EQUAL(d.mismatched, 1);
            CHECK_EQUAL(d.max_abs, 0.0);
            CHECK_EQUAL(d.max_b, 4.0);
            CHECK_EQUAL(d.nan_a, 1);
        }
    }
}

void the_first_of_equal_maxima() {
    std::vector<double> a(3000, 0.0);
    std::vector<double> b(3000, 0.0);
    b[2500] = b[1500] = b[1400] = -2.0;
    CHECK_EQUAL(compare(a, b).argmax, 1400);
}

void beyond_a_double() {
    const double huge = std::numeric_limits<double>::max();
    const auto d = compare<double>({huge, 1.0}, {-huge, 1.0});
    CHECK_EQUAL(d.max_abs, inf);
    CHECK_EQUAL(d.argmax, 0);
    CHECK_EQUAL(d.max_rel, 2.0);
    CHECK_EQUAL(d.mean_abs, huge);  // 2 * huge / 2
    const std::vector<double> many(2048, huge);
    const std::vector<double> zeros(2048, 0.0);
    CHECK_EQUAL(compare(many, zeros).mean_abs, huge);
}

void subnormals() {
    const double tiny = std::numeric_limits<double>::denorm_min();
    const std::vector<double> a(16, tiny);
    const std::vector<double> b(16, 0.0);
    const auto d = compare(a, b);
    CHECK_EQUAL(d.max_abs, tiny);
    CHECK_EQUAL(d.max_rel, 1.0);
}

void small_terms_are_not_lost() {
    std::vector<double> a(100001, 1e-16);
    const std::vector<double> b(100001, 0.0);
    a[0] = 1.0;
    const double expected = (1.0 + 1e-11) / 100001.0;
    CHECK(std::fabs(compare(a, b).mean_abs / expected - 1.0) < 1e-13);
}

void integers_are_exact() {
    const std::int64_t low = std::numeric_limits<std::int64_t>::min();
    const std::int64_t high = std::numeric_limits<std::int64_t>::max();
    const auto d = compare<std::int64_t>({low, 0}, {high, 0});
    CHECK_EQUAL(d.max_abs, 0x1p64);  // 2^64 - 1, rounded
    CHECK_EQUAL(d.max_a, 0x1p63);
    const std::int64_t big = std::int64_t{1} << 60;
    CHECK_EQUAL(compare<std::int64_t>({big, big}, {big + 1, big + 2}).argmax, 1);
    CHECK_EQUAL(compare<std::int64_t>({big}, {big + 1}).max_abs, 1.0);
    CHECK_EQUAL(compare<std::uint64_t>({0}, {~std::uint64_t{0}}).max_abs, 0x1p64);
    CHECK_EQUAL(compare<std::int64_t>({3, 3}, {3, 3}).argmax, 0);
    CHECK_EQUAL(compare<std::int8_t>({-128}, {127}).max_abs, 255.0);
    CHECK_EQUAL(compare<std::uint32_t>({0}, {0xffffffffU}).max_abs, 4294967295.0);
}

void halves() {
    const auto d = compare<irfuzz::BFloat16>({{0x3f80}, {0x7fc0}}, {{0x4000}, {0x7f80}});
    CHECK_EQUAL(d.max_abs, 1.0);
    CHECK_EQUAL(d.mismatched, 1);
    CHECK_EQUAL(compare<irfuzz::Float16>({{0x0001}}, {{0x0000}}).max_abs, 0x1p-24);
    CHECK_EQUAL(compare<irfuzz::Bool>({{2}, {0}}, {{1}, {1}}).mean_abs, 0.5);
}

void different_lengths_are_refused() {
    bool refused = false;
    try {
        (void)compare<float>({1.0F}, {});
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);
}

// Long enough for several chunks and blocks, with special values in a few places, near the end as well.
template <typename T>
std::vector<T> mixed(std::size_t size, unsigned seed, bool special) {
    std::vector<T> values(size);
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < size; ++i) {
        const std::uint64_t drawn = random();
        if constexpr (std::is_floating_point_v<T>) {
            values[i] = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(drawn)) * 0x1p-60);
            if (special && drawn % 997 == 0) {
                values[i] = static_cast<T>(drawn % 2 == 0 ? nan : drawn % 3 == 0 ? inf : -inf);
            }
        } else {
            std::memcpy(&values[i], &drawn, sizeof(T));
        }
    }
    return values;
}

template <typename T>
void same_on_all() {
    for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 1023U, 1040U, 70001U, 270011U}) {
        for (const bool special : {false, true}) {
            const auto a = mixed<T>(size, 1, special);
            const auto b = mixed<T>(size, 2, special);
            const auto plainest = [&] {
                irfuzz::choose_kernels(irfuzz::usable_kernels().front()->name);
                return compare(a, b);
            }();
            for (const irfuzz::Kernels* kernels : irfuzz::usable_kernels()) {
                irfuzz::choose_kernels(kernels->name);
                for (const unsigned threads : {1U, 2U, 3U}) {
                    CHECK(same_bits(compare(a, b, threads), plainest));
                }
            }
        }
    }
}

void same_on_all_sets_and_threads() {
    same_on_all<float>();
    same_on_all<double>();
    same_on_all<irfuzz::Float16>();
    same_on_all<irfuzz::BFloat16>();
    same_on_all<irfuzz::Bool>();
    same_on_all<std::int8_t>();
    same_on_all<std::uint16_t>();
    same_on_all<std::int32_t>();
    same_on_all<std::uint32_t>();
    same_on_all<std::int64_t>();
    same_on_all<std::uint64_t>();
}

void steps_between_numbers() {
    const float next = std::nextafter(1.0F, 2.0F);
    const auto d =
        compare<float>({1.0F, 1.0F, 0.0F, static_cast<float>(nan), -1e-45F}, {1.0F, next, -0.0F, 1.0F, 1e-45F});
    CHECK_EQUAL(d.max_ulp, 2U);
    CHECK_EQUAL(d.ulp_histogram[0], 2U);
    CHECK_EQUAL(d.ulp_histogram[1], 1U);
    CHECK_EQUAL(d.ulp_histogram[2], 1U);
    const double most = std::numeric_limits<double>::max();
    CHECK_EQUAL(compare<double>({-most}, {most}).max_ulp, 2 * 0x7fefffffffffffffU);
    CHECK_EQUAL(compare<double>({-most}, {most}).ulp_histogram[64], 1U);
}

void beyond_a_tolerance() {
    CHECK_EQUAL(compare<float>({1.0F, 1.375F, 1.40F, static_cast<float>(inf)}, {1.0F, 1.0F, 1.0F, 1.0F}).beyond, 1);
    const std::vector<float> a(40, 2.0F);
    const std::vector<float> b(40, 1.0F);
    std::vector<double> bound(40, 1.0);
    bound[3] = bound[39] = 0.5;
    const irfuzz::Pair pair{a.data(), b.data(), bound.data(), a.size(), irfuzz::Element::float32};
    irfuzz::Distance d;
    irfuzz::distances(std::span(&pair, 1), std::span(&d, 1), everything, 1);
    CHECK_EQUAL(d.beyond, 2);
}

void cosines() {
    const auto d = compare<float>({3.0F, 0.0F, static_cast<float>(nan)}, {3.0F, 4.0F, 1.0F});
    CHECK_EQUAL(d.dot, 9.0);
    CHECK_EQUAL(d.norm_a, 3.0);
    CHECK_EQUAL(d.norm_b, 5.0);
    CHECK_EQUAL(d.cosine, 0.6);
    const auto huge = compare<double>({3e300, 0.0}, {3e300, 4e300});
    CHECK(std::fabs(huge.cosine - 0.6) < 1e-15);
    CHECK(std::fabs(huge.norm_b / 5e300 - 1.0) < 1e-15);
    const auto tiny = compare<double>({3e-300, 0.0}, {3e-300, 4e-300});
    CHECK(std::fabs(tiny.cosine - 0.6) < 1e-15);
    CHECK(std::isnan(compare<double>({0.0}, {1.0}).cosine));
}

void an_unknown_set_is_refused() {
    bool refused = false;
    try {
        irfuzz::choose_kernels("mmx");
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);
}

}  // namespace

void test_distance() {
    same_on_all_sets_and_threads();
    steps_between_numbers();
    beyond_a_tolerance();
    cosines();
    an_unknown_set_is_refused();
    nothing();
    one_pair();
    equal_pairs_have_an_argmax();
    specials_of_one_class_are_equal();
    specials_of_two_classes_are_left_out();
    nothing_compared();
    every_position();
    the_first_of_equal_maxima();
    beyond_a_double();
    subnormals();
    small_terms_are_not_lost();
    integers_are_exact();
    halves();
    different_lengths_are_refused();
}
