// Test functions enter a table by hand; CHECK counts and prints what does not hold.
#pragma once

#include <iostream>

namespace check {

inline int failures = 0;
inline int checks = 0;

template <typename Left, typename Right>
void equal(const Left& left, const Right& right, const char* text, const char* file, int line) {
    ++checks;
    if (!(left == right)) {
        ++failures;
        std::cerr << file << ':' << line << ": " << text << ": got " << +left << ", expected " << +right << '\n';
    }
}

}  // namespace check

#define CHECK_EQUAL(left, right) check::equal((left), (right), #left " == " #right, __FILE__, __LINE__)
#define CHECK(condition) check::equal((condition), true, #condition, __FILE__, __LINE__)
