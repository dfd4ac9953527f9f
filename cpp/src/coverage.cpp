#include "coverage.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "dispatch.hpp"
#include "simd/kernels.hpp"
#include "threads.hpp"

namespace irfuzz {
namespace {

// Neurons taken together: what is kept of them stays in the first-level cache.
constexpr std::size_t block = 512;
// And where bits are set in maps that are not in any cache: memory is asked for a block ahead.
constexpr std::size_t section_neurons = 128;

[[nodiscard]] const CoverageKernels& kernels_for(const Activations& values) {
    if (!is_float(values.element)) {
        throw std::invalid_argument("activations must be of a floating-point type");
    }
    return chosen_kernels()
        .coverage.of[static_cast<std::size_t>(values.element) - static_cast<std::size_t>(Element::float16)];
}

[[nodiscard]] const std::byte* at(const Activations& values, std::size_t row, std::size_t column) {
    return static_cast<const std::byte*>(values.data) + (row * values.columns + column) * size_of(values.element);
}

[[nodiscard]] const std::byte* bound_at(const Activations& values, const void* bounds, std::size_t column) {
    return static_cast<const std::byte*>(bounds) +
           column * (values.element == Element::float64 ? sizeof(double) : sizeof(float));
}

void require_equal(std::size_t seen, std::size_t found) {
    if (seen != found) {
        throw std::invalid_argument("bitmaps must be of one size, got " + std::to_string(seen) + " and " +
                                    std::to_string(found) + " bytes");
    }
}

// Rows of activations, and the map in which a bit is set for each part of a neuron's range.
struct Sections {
    const CoverageKernels& kernels;
    const Activations& values;
    const void* low;
    const void* high;
    std::size_t sections;
    std::uint8_t* covered;

    [[nodiscard]] std::size_t row_bytes() const noexcept { return bytes_for(sections); }
};

// Some neurons: how wide their parts are, and in which of them one row's values lie.
struct SectionBlock {
    std::size_t first;
    std::size_t count;
    std::array<double, section_neurons> scale;
    std::array<std::int32_t, section_neurons> parts;

    void find(const Sections& of, std::size_t row) noexcept {
        of.kernels.sections(at(of.values, row, first), bound_at(of.values, of.low, first),
                            bound_at(of.values, of.high, first), scale.data(), count,
                            static_cast<double>(of.sections - 1), parts.data());
    }

    void begin(const Sections& of, std::size_t from) noexcept {
        first = from;
        count = std::min(section_neurons, of.values.columns - from);
        of.kernels.scales(bound_at(of.values, of.low, first), bound_at(of.values, of.high, first), count,
                          static_cast<double>(of.sections), scale.data());
        find(of, 0);
    }

    [[nodiscard]] std::uint8_t* bytes(const Sections& of) const noexcept { return of.covered + first * of.row_bytes(); }

    // Sets one row's bits, and has the memory of the next block's sent to the second cache, which can wait
    // for more of it at once than the first: that is what takes the time.
    template <bool Next>
    [[nodiscard]] std::uint64_t cover(const Sections& of, const SectionBlock* next) const noexcept {
        const std::size_t row_bytes = of.row_bytes();
        std::uint8_t* here = bytes(of);
        [[maybe_unused]] const std::uint8_t* there = Next ? next->bytes(of) : nullptr;
        std::uint64_t fresh = 0;
        for (std::size_t i = 0; i < count; ++i, here += row_bytes) {
            if constexpr (Next) {
                if (i < next->count && next->parts[i] >= 0) {
                    __builtin_prefetch(there + i * row_bytes + (static_cast<std::uint32_t>(next->parts[i]) >> 3U), 0,
                                       2);
                }
            }
            if (parts[i] >= 0) {
                const auto part = static_cast<std::uint32_t>(parts[i]);
                const std::uint32_t old = here[part >> 3U];
                fresh += ~(old >> (part & 7U)) & 1U;
                here[part >> 3U] = static_cast<std::uint8_t>(old | (1U << (part & 7U)));
            }
        }
        return fresh;
    }
};

}  // namespace

std::uint64_t new_bits(std::span<const std::uint8_t> seen, std::span<const std::uint8_t> found) {
    require_equal(seen.size(), found.size());
    return chosen_kernels().coverage.new_bits(seen.data(), found.data(), seen.size());
}

std::uint64_t merge_bits(std::span<std::uint8_t> seen, std::span<const std::uint8_t> found) {
    require_equal(seen.size(), found.size());
    return chosen_kernels().coverage.merge_bits(seen.data(), found.data(), seen.size());
}

std::uint64_t cover_sections(const Activations& values, const void* low, const void* high, std::size_t sections,
                             std::uint8_t* covered, unsigned threads) {
    if (sections < 1 || sections > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        throw std::invalid_argument("sections must be in 1 to 2147483647, got " + std::to_string(sections));
    }
    const Sections of{kernels_for(values), values, low, high, sections, covered};
    const std::size_t blocks = values.rows == 0 ? 0 : (values.columns + section_neurons - 1) / section_neurons;
    std::atomic<std::size_t> next{0};
    std::atomic<std::uint64_t> total{0};
    const auto work = [&] {
        std::array<SectionBlock, 2> turns;  // the one that is being covered, and the one after it
        std::uint64_t fresh = 0;
        std::size_t now = next.fetch_add(1);
        if (now < blocks) {
            turns[0].begin(of, now * section_neurons);
        }
        for (std::size_t turn = 0; now < blocks; turn ^= 1U) {
            const std::size_t later = next.fetch_add(1);
            SectionBlock& here = turns[turn];
            SectionBlock& there = turns[turn ^ 1U];
            for (std::size_t row = 1; row < values.rows; ++row) {
                fresh += here.cover<false>(of, nullptr);
                here.find(of, row);
            }
            if (later < blocks) {
                there.begin(of, later * section_neurons);
                fresh += here.cover<true>(of, &there);
            } else {
                fresh += here.cover<false>(of, nullptr);
            }
            now = later;
        }
        total += fresh;
    };
    constexpr std::size_t worth_a_thread = 256;  // blocks
    run_on_threads(static_cast<unsigned>(std::clamp<std::size_t>(blocks / worth_a_thread, 1, threads)), work);
    return total;
}

std::uint64_t cover_boundaries(const Activations& values, const void* low, const void* high, std::uint8_t* below,
                               std::uint8_t* above) {
    const CoverageKernels& kernels = kernels_for(values);
    const Kernels& chosen = chosen_kernels();
    std::uint64_t fresh = 0;
    for (std::size_t first = 0; first < values.columns; first += block) {
        const std::size_t count = std::min(block, values.columns - first);
        std::array<std::uint8_t, block / 8> under{};
        std::array<std::uint8_t, block / 8> over{};
        for (std::size_t row = 0; row < values.rows; ++row) {
            kernels.boundaries(at(values, row, first), bound_at(values, low, first), bound_at(values, high, first),
                               count, under.data(), over.data());
        }
        if (below != nullptr) {
            fresh += chosen.coverage.merge_bits(below + first / 8, under.data(), bytes_for(count));
        }
        fresh += chosen.coverage.merge_bits(above + first / 8, over.data(), bytes_for(count));
    }
    return fresh;
}

std::uint64_t cover_neurons(const Activations& values, double threshold, bool scaled, std::uint8_t* covered) {
    const CoverageKernels& kernels = kernels_for(values);
    std::vector<std::uint8_t> bits(bytes_for(values.columns), 0);
    for (std::size_t row = 0; row < values.rows; ++row) {
        double low = 0.0;
        double high = 1.0;
        if (scaled) {
            kernels.range(at(values, row, 0), values.columns, &low, &high);
        }
        if (low <= high) {
            kernels.above(at(values, row, 0), values.columns, low, threshold * (high - low), bits.data());
        }
    }
    return chosen_kernels().coverage.merge_bits(covered, bits.data(), bits.size());
}

void top(const Activations& values, std::size_t k, std::int64_t* columns) {
    const CoverageKernels& kernels = kernels_for(values);
    std::vector<double> best(k);
    for (std::size_t row = 0; row < values.rows && k > 0; ++row) {
        kernels.top(at(values, row, 0), values.columns, k, best.data(), columns + row * k);
    }
}

std::uint64_t cover_top(const Activations& values, std::size_t k, std::uint8_t* covered) {
    const CoverageKernels& kernels = kernels_for(values);
    std::vector<double> best(k);
    std::vector<std::int64_t> columns(k);
    std::uint64_t fresh = 0;
    for (std::size_t row = 0; row < values.rows && k > 0; ++row) {
        kernels.top(at(values, row, 0), values.columns, k, best.data(), columns.data());
        for (const std::int64_t column : columns) {
            if (column >= 0) {
                const auto bit = static_cast<std::size_t>(column);
                fresh += ~(static_cast<std::uint64_t>(covered[bit / 8]) >> (bit % 8)) & 1U;
                covered[bit / 8] = static_cast<std::uint8_t>(covered[bit / 8] | (1U << (bit % 8)));
            }
        }
    }
    return fresh;
}

void ranks(const Activations& values, const std::int64_t* labels, std::int64_t* ranks) {
    const CoverageKernels& kernels = kernels_for(values);
    for (std::size_t row = 0; row < values.rows; ++row) {
        if (labels[row] < 0 || static_cast<std::size_t>(labels[row]) >= values.columns) {
            throw std::invalid_argument("label " + std::to_string(labels[row]) + " of row " + std::to_string(row) +
                                        " is not one of " + std::to_string(values.columns) + " classes");
        }
        ranks[row] = kernels.rank(at(values, row, 0), values.columns, static_cast<std::size_t>(labels[row]));
    }
}

}  // namespace irfuzz
