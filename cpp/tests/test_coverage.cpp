#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "check.hpp"
#include "coverage.hpp"
#include "dispatch.hpp"
#include "feature_set.hpp"
#include "simd/kernels.hpp"

namespace {

void bits_of_all_sizes() {
    std::mt19937 random(1);
    for (const std::size_t size : {0U, 1U, 63U, 64U, 255U, 256U, 257U, 1000U}) {
        std::vector<std::uint8_t> seen(size);
        std::vector<std::uint8_t> found(size);
        std::uint64_t expected = 0;
        for (std::size_t i = 0; i < size; ++i) {
            seen[i] = static_cast<std::uint8_t>(random());
            found[i] = static_cast<std::uint8_t>(random());
            for (unsigned bit = 0; bit < 8; ++bit) {
                expected += (found[i] >> bit & 1U) & ~(seen[i] >> bit) & 1U;
            }
        }
        CHECK_EQUAL(irfuzz::new_bits(seen, found), expected);
        std::vector<std::uint8_t> merged = seen;
        CHECK_EQUAL(irfuzz::merge_bits(merged, found), expected);
        bool right = true;
        for (std::size_t i = 0; i < size; ++i) {
            right = right && merged[i] == (seen[i] | found[i]);
        }
        CHECK(right);
        CHECK_EQUAL(irfuzz::new_bits(merged, found), 0U);
    }
}

void sections_and_boundaries() {
    const std::size_t columns = 1037;
    std::vector<float> low(columns, 0.0F);
    std::vector<float> high(columns, 1.0F);
    std::vector<float> values(3 * columns, 0.95F);
    values[columns] = std::numeric_limits<float>::quiet_NaN();
    values[columns - 1] = -1.0F;
    values[5] = 1.0F;
    values[6] = 0.0F;
    values[7] = 2.0F;
    low[9] = high[9] = 0.95F;
    high[10] = std::numeric_limits<float>::quiet_NaN();
    const irfuzz::Activations all{values.data(), 1, columns, irfuzz::Element::float32};
    std::vector<std::uint8_t> covered(columns * 2, 0);
    CHECK_EQUAL(irfuzz::cover_sections(all, low.data(), high.data(), 10, covered.data(), 1), columns - 3);
    CHECK_EQUAL(covered[0], 0);
    CHECK_EQUAL(covered[1], 2);
    CHECK_EQUAL(covered[2 * 5 + 1], 2);
    CHECK_EQUAL(covered[2 * 6], 1);
    CHECK_EQUAL(covered[2 * 9], 1);
    CHECK_EQUAL(irfuzz::cover_sections(all, low.data(), high.data(), 10, covered.data(), 3), 0U);
    std::vector<std::uint8_t> below(irfuzz::bytes_for(columns), 0);
    std::vector<std::uint8_t> above(irfuzz::bytes_for(columns), 0);
    CHECK_EQUAL(irfuzz::cover_boundaries(all, low.data(), high.data(), below.data(), above.data()), 2U);
    CHECK_EQUAL(above[0], 128);
    CHECK_EQUAL(below[(columns - 1) / 8], 1U << ((columns - 1) % 8));
}

void largest_values() {
    const double inf = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> values = {nan, 1.0, 3.0, -inf, 3.0, nan, 2.0, nan, nan, nan, nan, -1.0};
    const irfuzz::Activations all{values.data(), 1, values.size(), irfuzz::Element::float64};
    std::vector<std::int64_t> columns(7);
    irfuzz::top(all, 7, columns.data());
    CHECK(columns == (std::vector<std::int64_t>{2, 4, 6, 1, 11, 3, -1}));
    std::vector<std::uint8_t> covered(2, 0);
    CHECK_EQUAL(irfuzz::cover_top(all, 2, covered.data()), 2U);
    CHECK_EQUAL(covered[0], 4 + 16);
    for (const auto& [label, rank] : {std::pair{2, 1}, {4, 2}, {6, 3}, {3, 6}, {0, 7}, {10, 12}}) {
        const std::int64_t of = label;
        std::int64_t found = 0;
        irfuzz::ranks(all, &of, &found);
        CHECK_EQUAL(found, rank);
    }
}

void scaled_neurons() {
    const std::vector<float> values = {0.0F, 5.0F, 10.0F, std::numeric_limits<float>::infinity(), 7.6F};
    const irfuzz::Activations all{values.data(), 1, values.size(), irfuzz::Element::float32};
    std::vector<std::uint8_t> covered(1, 0);
    CHECK_EQUAL(irfuzz::cover_neurons(all, 0.75, true, covered.data()), 3U);
    CHECK_EQUAL(covered[0], 4 + 8 + 16);
    covered[0] = 0;
    CHECK_EQUAL(irfuzz::cover_neurons(all, 7.0, false, covered.data()), 3U);
}

void features() {
    irfuzz::FeatureSet set;
    std::unordered_map<std::uint64_t, std::uint64_t> expected;
    std::mt19937_64 random(7);
    for (int round = 0; round < 50; ++round) {
        std::vector<std::uint64_t> keys(97);
        for (std::uint64_t& key : keys) {
            key = random() % 1500 * (random() % 2 == 0 ? 1 : 0x100000000U);
        }
        std::vector<std::uint8_t> fresh(keys.size());
        set.is_new(keys, fresh);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            CHECK_EQUAL(fresh[i] != 0, !expected.contains(keys[i]));
        }
        std::size_t added = 0;
        std::vector<std::uint8_t> want(keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            want[i] = expected[keys[i]]++ == 0 ? 1 : 0;
            added += want[i];
        }
        CHECK_EQUAL(set.add(keys, fresh), added);
        CHECK(fresh == want);
        std::vector<std::uint64_t> counts(keys.size());
        set.counts(keys, counts);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            CHECK_EQUAL(counts[i], expected[keys[i]]);
        }
    }
    CHECK_EQUAL(set.size(), expected.size());
    for (const auto& [key, count] : set.items()) {
        CHECK_EQUAL(count, expected[key]);
    }
    irfuzz::FeatureSet other;
    CHECK_EQUAL(other.merge(set), set.size());
    CHECK_EQUAL(other.merge(set), 0U);
    CHECK_EQUAL(set.merge(set), 0U);
}

}  // namespace

void test_coverage() {
    for (const irfuzz::Kernels* kernels : irfuzz::usable_kernels()) {
        irfuzz::choose_kernels(kernels->name);
        bits_of_all_sizes();
        sections_and_boundaries();
        largest_values();
        scaled_neurons();
    }
    features();
}
