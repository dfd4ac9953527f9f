#include "novelty.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>

#include "dispatch.hpp"
#include "simd/kernels.hpp"
#include "threads.hpp"

namespace irfuzz {
namespace {

constexpr std::size_t lanes = 16;    // vectors a block
constexpr std::size_t batch = 128;   // queries that see the same corpus; those among them are compared afterwards
constexpr std::size_t stretch = 16;  // blocks that all queries of a batch are compared with while they are in the cache
constexpr float largest_code = 63.0F;
constexpr float largest_query = 127.0F;
constexpr int offset = 64;
// More than the rounding of a double to a float takes away.
constexpr double upwards = 1.0 + 1e-5;

struct Coded {
    float scale = 0.0F;
    float square = 0.0F;
    float error = 0.0F;
};

// The numbers as multiples of one scale, by `put(i, multiple)`.
template <typename Put>
[[nodiscard]] Coded encode(const float* vector, std::size_t dimensions, float largest, const Put& put) {
    float top = 0.0F;
    for (std::size_t i = 0; i < dimensions; ++i) {
        top = std::max(top, std::fabs(vector[i]));
    }
    const float scale = top / largest;
    double square = 0.0;
    double error = 0.0;
    for (std::size_t i = 0; i < dimensions; ++i) {
        // Of subnormal numbers the scale is rough, and the quotient may be too large.
        const float multiple = scale > 0.0F ? std::clamp(std::nearbyint(vector[i] / scale), -largest, largest) : 0.0F;
        const double meant = static_cast<double>(scale) * static_cast<double>(multiple);
        const double missed = static_cast<double>(vector[i]) - meant;
        square += meant * meant;
        error += missed * missed;
        put(i, static_cast<int>(multiple));
    }
    return {scale, static_cast<float>(square), static_cast<float>(std::sqrt(error) * upwards)};
}

}  // namespace

// Some queries, coded, and what was found for them.
struct Novelty::Search {
    std::vector<std::int32_t> quads;
    std::vector<NoveltyQuery> queries;

    Search(const float* vectors, std::size_t rows, std::size_t dimensions, std::size_t quads_each)
        : quads(rows * quads_each, 0), queries(rows) {
        for (std::size_t row = 0; row < rows; ++row) {
            std::int32_t* to = quads.data() + row * quads_each;
            auto* bytes = reinterpret_cast<std::int8_t*>(to);
            int sum = 0;
            const float* vector = vectors + row * dimensions;
            const Coded coded = encode(vector, dimensions, largest_query, [&](std::size_t i, int multiple) {
                bytes[i] = static_cast<std::int8_t>(multiple);
                sum += multiple;
            });
            queries[row] = {to,
                            vector,
                            coded.scale,
                            coded.square,
                            coded.error,
                            offset * sum,
                            std::numeric_limits<double>::infinity(),
                            -1};
        }
    }
};

Novelty::Novelty(std::size_t dimensions) : dimensions_(dimensions), quads_((dimensions + 3) / 4) {
    if (dimensions < 1 || dimensions > 100'000) {
        throw std::invalid_argument("vectors of " + std::to_string(dimensions) + " dimensions are not compared");
    }
}

std::size_t Novelty::bytes() const noexcept {
    return codes_.capacity() +
           sizeof(float) * (vectors_.capacity() + scales_.capacity() + squares_.capacity() + errors_.capacity());
}

std::size_t Novelty::rows_of(std::span<const float> vectors) const {
    if (vectors.size() % dimensions_ != 0) {
        throw std::invalid_argument("not whole vectors of " + std::to_string(dimensions_) + " numbers");
    }
    const auto wrong = std::ranges::find_if_not(vectors, [](float value) { return std::isfinite(value); });
    if (wrong != vectors.end()) {
        const auto place = static_cast<std::size_t>(wrong - vectors.begin());
        throw std::invalid_argument("vectors must hold finite numbers, number " + std::to_string(place % dimensions_) +
                                    " of vector " + std::to_string(place / dimensions_) + " is " +
                                    std::to_string(*wrong));
    }
    return vectors.size() / dimensions_;
}

void Novelty::append(const float* vector) {
    const std::size_t index = size();
    const std::size_t block_bytes = quads_ * lanes * 4;
    if (index % lanes == 0) {
        codes_.resize(codes_.size() + block_bytes, static_cast<std::uint8_t>(offset));
    }
    std::uint8_t* block = codes_.data() + index / lanes * block_bytes + index % lanes * 4;
    const Coded coded = encode(vector, dimensions_, largest_code, [&](std::size_t i, int multiple) {
        block[i / 4 * lanes * 4 + i % 4] = static_cast<std::uint8_t>(multiple + offset);
    });
    vectors_.insert(vectors_.end(), vector, vector + dimensions_);
    for (std::vector<float>* each : {&scales_, &squares_, &errors_}) {
        each->resize((index / lanes + 1) * lanes, 0.0F);  // whole blocks
    }
    squares_[index] = coded.square;
    errors_[index] = coded.error;
    scales_[index] = coded.scale;
    ++size_;
}

void Novelty::add(std::span<const float> vectors) {
    const std::size_t rows = rows_of(vectors);
    for (std::size_t row = 0; row < rows; ++row) {
        append(vectors.data() + row * dimensions_);
    }
}

void Novelty::search(Search& search, unsigned threads) const {
    const NoveltyTable& kernels = chosen_kernels().novelty;
    const std::size_t blocks = (size() + lanes - 1) / lanes;
    const Codes codes{codes_.data(),  vectors_.data(), scales_.data(), squares_.data(),
                      errors_.data(), size(),          dimensions_,    quads_};
    constexpr std::size_t worth_a_thread = 64;  // blocks
    const std::size_t workers = std::clamp<std::size_t>(blocks / worth_a_thread, 1, threads);
    std::atomic<std::size_t> next{0};
    std::mutex merging;
    std::vector<NoveltyQuery>& found = search.queries;
    run_on_threads(static_cast<unsigned>(workers), [&] {
        std::vector<NoveltyQuery> mine;
        {
            const std::scoped_lock lock(merging);
            mine = found;
        }
        for (std::size_t first = next.fetch_add(stretch); first < blocks; first = next.fetch_add(stretch)) {
            kernels.scan(codes, first, std::min(first + stretch, blocks), mine.data(), mine.size());
        }
        const std::scoped_lock lock(merging);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const bool nearer = mine[i].nearest < found[i].nearest;
            const bool earlier = mine[i].nearest == found[i].nearest && mine[i].index >= 0 &&
                                 (found[i].index < 0 || mine[i].index < found[i].index);
            if (nearer || earlier) {
                found[i] = mine[i];
            }
        }
    });
}

void Novelty::nearest(std::span<const float> vectors, std::span<double> distances, std::span<std::int64_t> indices,
                      unsigned threads) const {
    const std::size_t rows = rows_of(vectors);
    if (distances.size() != rows || indices.size() != rows) {
        throw std::invalid_argument("as many results as vectors are needed");
    }
    for (std::size_t first = 0; first < rows; first += batch) {
        const std::size_t count = std::min(batch, rows - first);
        Search some(vectors.data() + first * dimensions_, count, dimensions_, quads_);
        search(some, threads);
        for (std::size_t i = 0; i < count; ++i) {
            distances[first + i] = std::sqrt(some.queries[i].nearest);
            indices[first + i] = some.queries[i].index;
        }
    }
}

void Novelty::add_novel(std::span<const float> vectors, double threshold, std::span<double> distances,
                        std::span<std::uint8_t> added, unsigned threads) {
    const std::size_t rows = rows_of(vectors);
    if (distances.size() != rows || added.size() != rows) {
        throw std::invalid_argument("as many results as vectors are needed");
    }
    const NoveltyTable& kernels = chosen_kernels().novelty;
    for (std::size_t first = 0; first < rows; first += batch) {
        const std::size_t count = std::min(batch, rows - first);
        Search some(vectors.data() + first * dimensions_, count, dimensions_, quads_);
        search(some, threads);
        const std::size_t before = size();
        for (std::size_t i = 0; i < count; ++i) {
            NoveltyQuery& query = some.queries[i];
            for (std::size_t other = before; other < size(); ++other) {
                const double square = kernels.square(query.vector, vectors_.data() + other * dimensions_, dimensions_);
                query.nearest = std::min(query.nearest, square);
            }
            distances[first + i] = std::sqrt(query.nearest);
            const bool novel = distances[first + i] > threshold;
            added[first + i] = novel ? 1 : 0;
            if (novel) {
                append(query.vector);
            }
        }
    }
}

}  // namespace irfuzz
