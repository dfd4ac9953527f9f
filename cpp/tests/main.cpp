// Runs every test and exits 1 where a check failed.
#include <cstdlib>
#include <iostream>

#include "check.hpp"

void test_element();
void test_coverage();
void test_distance();
void test_novelty();

int main() {
    test_element();
    test_coverage();
    test_distance();
    test_novelty();
    std::cout << check::checks << " checks, " << check::failures << " failed\n";
    return check::failures == 0 && check::checks > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
