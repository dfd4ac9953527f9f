// The module irfuzz._native: runs kernels on the memory of NumPy arrays and returns plain results.
#include <pybind11/pybind11.h>

#include <cstdlib>
#include <string>

#include "arrays.hpp"
#include "dispatch.hpp"
#include "simd/kernels.hpp"

namespace py = pybind11;

namespace {

[[nodiscard]] py::tuple instruction_sets() {
    const auto usable = irfuzz::usable_kernels();
    py::tuple names(usable.size());
    for (std::size_t i = 0; i < usable.size(); ++i) {
        names[i] = usable[i]->name;
    }
    return names;
}

}  // namespace

PYBIND11_MODULE(_native, module) {
    module.doc() = "Native kernels of irfuzz on NumPy arrays. Signatures: _native.pyi.";
    if (const char* name = std::getenv("IRFUZZ_INSTRUCTION_SET"); name != nullptr && *name != '\0') {
        irfuzz::choose_kernels(name);
    }
    irfuzz::bindings::add_distances(module);
    irfuzz::bindings::add_coverage(module);
    irfuzz::bindings::add_sets(module);
    module.def("instruction_sets", &instruction_sets, "What this build has and this machine runs, the plainest first.");
    module.def("instruction_set", [] { return irfuzz::chosen_kernels().name; }, "The one in use.");
    module.def("use_instruction_set", &irfuzz::choose_kernels, py::arg("name"), py::pos_only(),
               "Use another one from now on, in the whole process.");
}
