#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "dispatch.hpp"
#include "novelty.hpp"
#include "simd/kernels.hpp"

namespace {

double apart(const float* a, const float* b, std::size_t dimensions) {
    double sum = 0.0;
    for (std::size_t i = 0; i < dimensions; ++i) {
        const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        sum += difference * difference;
    }
    return std::sqrt(sum);
}

std::vector<float> points(std::size_t rows, std::size_t dimensions, unsigned seed, float spread) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(rows * dimensions);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = normal(random) * (i / dimensions % 3 == 0 ? spread : 1.0F);
    }
    return values;
}

void the_nearest_is_the_nearest() {
    for (const std::size_t dimensions : {1U, 3U, 16U, 37U}) {
        for (const float spread : {1.0F, 1e-3F, 1e20F, 1e-40F}) {
            const std::size_t rows = 2100;
            const auto seen = points(rows, dimensions, 1, spread);
            const auto others = points(20, dimensions, 2, spread);
            irfuzz::Novelty novelty(dimensions);
            novelty.add(seen);
            CHECK_EQUAL(novelty.size(), rows);
            std::vector<double> distances(20);
            std::vector<std::int64_t> indices(20);
            for (const unsigned threads : {1U, 2U}) {
                novelty.nearest(others, distances, indices, threads);
                for (std::size_t i = 0; i < 20; ++i) {
                    double least = std::numeric_limits<double>::infinity();
                    for (std::size_t j = 0; j < rows; ++j) {
                        least = std::min(least, apart(&others[i * dimensions], &seen[j * dimensions], dimensions));
                    }
                    CHECK(std::fabs(distances[i] - least) <= 1e-12 * least);
                }
            }
        }
    }
}

void one_after_the_other() {
    irfuzz::Novelty novelty(2);
    const std::vector<float> vectors = {0, 0, 3, 4, 3, 4.5F, 0, 5, 3, 5.5F, 0, 0};
    std::vector<double> distances(6);
    std::vector<std::uint8_t> added(6);
    novelty.add_novel(vectors, 1.0, distances, added, 1);
    CHECK(added == (std::vector<std::uint8_t>{1, 1, 0, 1, 1, 0}));
    CHECK(std::isinf(distances[0]));
    CHECK_EQUAL(distances[1], 5.0);
    CHECK_EQUAL(distances[2], 0.5);
    CHECK_EQUAL(distances[4], 1.5);
    CHECK_EQUAL(novelty.size(), 4U);
}

void numbers_that_are_not_finite_are_refused() {
    irfuzz::Novelty novelty(2);
    bool refused = false;
    try {
        novelty.add(std::vector<float>{0.0F, 1.0F, std::numeric_limits<float>::infinity(), 0.0F});
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);
    CHECK_EQUAL(novelty.size(), 0U);
}

}  // namespace

void test_novelty() {
    for (const irfuzz::Kernels* kernels : irfuzz::usable_kernels()) {
        irfuzz::choose_kernels(kernels->name);
        the_nearest_is_the_nearest();
    }
    one_after_the_other();
    numbers_that_are_not_finite_are_refused();
}
