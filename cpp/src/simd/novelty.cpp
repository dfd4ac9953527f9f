// The scan of one instruction set: the nearest vector of a corpus for each query, by their codes.
#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"
#include "simd/vector.hpp"

namespace irfuzz::IRFUZZ_TARGET {
namespace {

constexpr std::size_t lanes = 16;    // vectors a block
constexpr std::size_t together = 4;  // queries that share a load of codes

using Dots = std::int32_t[together][lanes];

#if defined(__AVX512F__)
[[gnu::target("avx512vnni")]] void fused_dots(const std::uint8_t* block, std::size_t quads,
                                              const std::int32_t* const* queries, Dots& dots) {
    __m512i sum[together] = {};
    for (std::size_t i = 0; i < quads; ++i, block += 64) {
        const __m512i codes = _mm512_loadu_si512(block);
#pragma GCC unroll 4
        for (std::size_t q = 0; q < together; ++q) {
            sum[q] = _mm512_dpbusd_epi32(sum[q], codes, _mm512_set1_epi32(queries[q][i]));
        }
    }
    for (std::size_t q = 0; q < together; ++q) {
        _mm512_storeu_si512(dots[q], sum[q]);
    }
}

void find_dots(const std::uint8_t* block, std::size_t quads, const std::int32_t* const* queries, Dots& dots) {
    __m512i sum[together] = {};
    const __m512i ones = _mm512_set1_epi16(1);
    for (std::size_t i = 0; i < quads; ++i, block += 64) {
        const __m512i codes = _mm512_loadu_si512(block);
#pragma GCC unroll 4
        for (std::size_t q = 0; q < together; ++q) {
            // No sum of two products exceeds 2 * 127 * 127, so nothing saturates.
            const __m512i pairs = _mm512_maddubs_epi16(codes, _mm512_set1_epi32(queries[q][i]));
            sum[q] = _mm512_add_epi32(sum[q], _mm512_madd_epi16(pairs, ones));
        }
    }
    for (std::size_t q = 0; q < together; ++q) {
        _mm512_storeu_si512(dots[q], sum[q]);
    }
}
#elif defined(__AVX2__)
void find_dots(const std::uint8_t* block, std::size_t quads, const std::int32_t* const* queries, Dots& dots) {
    __m256i sum[together][2] = {};
    const __m256i ones = _mm256_set1_epi16(1);
    for (std::size_t i = 0; i < quads; ++i, block += 64) {
        const __m256i codes[2] = {load<__m256i>(block), load<__m256i>(block + 32)};
#pragma GCC unroll 4
        for (std::size_t q = 0; q < together; ++q) {
            const __m256i query = _mm256_set1_epi32(queries[q][i]);
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
                // No sum of two products exceeds 2 * 127 * 127, so nothing saturates.
                const __m256i pairs = _mm256_maddubs_epi16(codes[half], query);
                sum[q][half] = _mm256_add_epi32(sum[q][half], _mm256_madd_epi16(pairs, ones));
            }
        }
    }
    std::memcpy(dots, sum, sizeof(dots));
}
#else
void find_dots(const std::uint8_t* block, std::size_t quads, const std::int32_t* const* queries, Dots& dots) {
    std::memset(dots, 0, sizeof(dots));
    for (std::size_t i = 0; i < quads; ++i, block += 64) {
        for (std::size_t q = 0; q < together; ++q) {
            std::int8_t query[4];
            std::memcpy(query, queries[q] + i, sizeof(query));
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                const std::uint8_t* codes = block + 4 * lane;
                dots[q][lane] += codes[0] * query[0] + codes[1] * query[1] + codes[2] * query[2] + codes[3] * query[3];
            }
        }
    }
}
#endif

double square_distance(const float* a, const float* b, std::size_t dimensions) {
    F64 sum[wides] = {};
    const std::size_t even = dimensions - dimensions % group;
    for (std::size_t i = 0; i < even; i += group) {
#pragma GCC unroll 8
        for (std::size_t g = 0; g < wides; ++g) {
            const F64 apart = Float32::numbers(a + i + g * wide) - Float32::numbers(b + i + g * wide);
            sum[g] += apart * apart;
        }
    }
    double parts[group];
    std::memcpy(parts, sum, sizeof(parts));
    for (std::size_t i = even; i < dimensions; ++i) {
        const double apart = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        parts[i - even] += apart * apart;
    }
    for (std::size_t half = group / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) {
            parts[i] += parts[i + half];
        }
    }
    return parts[0];
}

// Lanes where it is not sure that x exceeds y, NaN included; the lowest bit is the first lane.
IRFUZZ_INLINE unsigned may_not_exceed(F32 x, F32 y) noexcept {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(x, y, _CMP_NGT_UQ);
#elif defined(__AVX2__)
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_NGT_UQ)));
#elif defined(__x86_64__)
    return static_cast<unsigned>(_mm_movemask_ps(_mm_cmpngt_ps(x, y)));
#else
    unsigned bits = 0;
    for (std::size_t i = 0; i < narrow; ++i) {
        bits |= (x[i] > y[i] ? 0U : 1U) << i;
    }
    return bits;
#endif
}

void compare(const Codes& codes, std::size_t block, unsigned candidates, NoveltyQuery& query) {
    for (; candidates != 0; candidates &= candidates - 1) {
        const std::size_t index = block * lanes + static_cast<std::size_t>(__builtin_ctz(candidates));
        if (index >= codes.size) {
            return;
        }
        const double square = square_distance(query.vector, codes.vectors + index * codes.dimensions, codes.dimensions);
        const auto place = static_cast<std::int64_t>(index);
        if (square < query.nearest || (square == query.nearest && (query.index < 0 || place < query.index))) {
            query.nearest = square;
            query.index = place;
        }
    }
}

void scan(const Codes& codes, std::size_t first, std::size_t last, NoveltyQuery* queries, std::size_t count) {
    using I32 = Vector<std::int32_t, narrow>;
#if defined(__AVX512F__)
    const auto dots_of = __builtin_cpu_supports("avx512vnni") != 0 ? fused_dots : find_dots;
#else
    const auto dots_of = find_dots;
#endif
    for (std::size_t start = 0; start < count; start += together) {
        const std::size_t here = count - start < together ? count - start : together;
        const std::int32_t* quads[together];
        for (std::size_t q = 0; q < together; ++q) {
            quads[q] = queries[start + (q < here ? q : 0)].quads;
        }
        for (std::size_t block = first; block < last; ++block) {
            Dots dots;
            dots_of(codes.codes + block * codes.quads * 64, codes.quads, quads, dots);
            for (std::size_t q = 0; q < here; ++q) {
                NoveltyQuery& query = queries[start + q];
                // Rounded up generously: what is let through here for nothing only costs a comparison in full.
                const float reach = static_cast<float>(__builtin_sqrt(query.nearest)) * (1.0F + 0x1p-20F) + query.error;
                unsigned candidates = 0;
                for (std::size_t l = 0; l < narrows; ++l) {
                    const std::size_t at = block * lanes + l * narrow;
                    const I32 dot = load<I32>(dots[q] + l * narrow) - query.shift;
                    const F32 product = __builtin_convertvector(dot, F32) * load<F32>(codes.scales + at) * query.scale;
                    const F32 squares = load<F32>(codes.squares + at) + query.square;
                    const F32 limit = load<F32>(codes.errors + at) + reach;
                    const F32 square = squares - product * 2.0F;
                    candidates |= may_not_exceed(square, limit * limit + squares * 0x1p-19F + 0x1p-120F)
                                  << (l * narrow);
                }
                if (candidates != 0) {
                    compare(codes, block, candidates, query);
                }
            }
        }
    }
}

}  // namespace

const NoveltyTable& novelty_table() noexcept {
    static constexpr NoveltyTable table = {scan, square_distance};
    return table;
}

}  // namespace irfuzz::IRFUZZ_TARGET
