// Arrays of activations and bitmaps enter, the kernels of coverage run on them.
#include "coverage.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arrays.hpp"

namespace irfuzz::bindings {
namespace {

[[nodiscard]] void* memory(const py::object& array) { return proxy(array.ptr())->data; }

[[nodiscard]] std::span<const std::uint8_t> bytes_of(const py::object& array) {
    return {static_cast<const std::uint8_t*>(memory(array)), size_of_array(array.ptr())};
}

// A tidy array of activations, which keeps the memory alive.
struct Held {
    py::object array;
    Activations values;
};

[[nodiscard]] Held activations(const py::object& object, const std::string& function) {
    const std::string what = function + ": values";
    require_array(object.ptr(), what);
    if (proxy(object.ptr())->nd != 2) {
        throw py::value_error(what + " must have a row a sample and a column a neuron, got shape " +
                              shape_of(object.ptr()));
    }
    Held held{tidy_array(object.ptr(), function.c_str()), {}};
    const auto* raw = proxy(held.array.ptr());
    const auto element = element_of_array(held.array.ptr());
    if (!element || !is_float(*element)) {
        throw py::type_error(what + " must be of a floating-point dtype, got " +
                             name_of(py::reinterpret_borrow<py::array>(object).dtype()));
    }
    held.values = {raw->data, static_cast<std::size_t>(raw->dimensions[0]),
                   static_cast<std::size_t>(raw->dimensions[1]), *element};
    return held;
}

[[nodiscard]] std::size_t bytes_in(const Held& held) {
    return held.values.rows * held.values.columns * size_of(held.values.element);
}

// One bound a neuron, of the dtype that goes with the activations.
[[nodiscard]] py::object bounds(const py::object& object, const Held& held, const std::string& what) {
    py::object array = tidy_of(object.ptr(), held.values.element == Element::float64 ? "float64" : "float32", what);
    if (proxy(array.ptr())->nd != 1 || size_of_array(array.ptr()) != held.values.columns) {
        throw py::value_error(what + " must have shape (" + std::to_string(held.values.columns) + ",), got " +
                              shape_of(object.ptr()));
    }
    return array;
}

// A bitmap with exactly the bytes that `bits` bits need, in each of `rows` rows (0: there is one dimension only).
[[nodiscard]] std::uint8_t* bitmap(const py::object& object, std::size_t rows, std::size_t bits,
                                   const std::string& what) {
    require_in_place(object.ptr(), "uint8", what);
    const auto* raw = proxy(object.ptr());
    const auto bytes = static_cast<py::ssize_t>(bytes_for(bits));
    const bool fits =
        rows == 0 ? raw->nd == 1 && raw->dimensions[0] == bytes
                  : raw->nd == 2 && raw->dimensions[0] == static_cast<py::ssize_t>(rows) && raw->dimensions[1] == bytes;
    if (!fits) {
        throw py::value_error(what + " must have shape (" + (rows == 0 ? "" : std::to_string(rows) + ", ") +
                              std::to_string(bytes) + (rows == 0 ? ",)" : ")") + ", got " + shape_of(object.ptr()));
    }
    return static_cast<std::uint8_t*>(memory(object));
}

[[nodiscard]] std::uint64_t find_new_bits(const py::object& seen, const py::object& found) {
    const py::object left = tidy_of(seen.ptr(), "uint8", "new_bits: seen");
    const py::object right = tidy_of(found.ptr(), "uint8", "new_bits: found");
    const Unlocked unlocked(bytes_of(left).size());
    return new_bits(bytes_of(left), bytes_of(right));
}

std::uint64_t merge(const py::object& seen, const py::object& found) {
    require_in_place(seen.ptr(), "uint8", "merge_bits: seen");
    const py::object right = tidy_of(found.ptr(), "uint8", "merge_bits: found");
    const auto bytes = bytes_of(seen);
    auto other = bytes_of(right);
    std::vector<std::uint8_t> copy;
    if (other.data() != bytes.data() && other.data() < bytes.data() + bytes.size() &&
        bytes.data() < other.data() + other.size()) {
        copy.assign(other.begin(), other.end());  // parts of one array, which change as they are read
        other = copy;
    }
    const Unlocked unlocked(bytes.size());
    return merge_bits({const_cast<std::uint8_t*>(bytes.data()), bytes.size()}, other);
}

std::uint64_t sections(const py::object& values, const py::object& low, const py::object& high, py::ssize_t count,
                       const py::object& covered, py::ssize_t threads) {
    const std::string name = "cover_sections";
    const Held held = activations(values, name);
    const py::object lows = bounds(low, held, name + ": low");
    const py::object highs = bounds(high, held, name + ": high");
    if (count < 1 || count > 0x7fffffff) {
        throw py::value_error(name + ": sections must be in 1 to 2147483647, got " + std::to_string(count));
    }
    if (held.values.columns == 0) {
        return 0;
    }
    const auto parts = static_cast<std::size_t>(count);
    std::uint8_t* bits = bitmap(covered, held.values.columns, parts, name + ": covered");
    const unsigned workers = threads_of(threads);
    const Unlocked unlocked(bytes_in(held));
    return cover_sections(held.values, memory(lows), memory(highs), parts, bits, workers);
}

std::uint64_t boundaries(const py::object& values, const py::object& low, const py::object& high,
                         const py::object& below, const py::object& above) {
    const std::string name = "cover_boundaries";
    const Held held = activations(values, name);
    const py::object lows = bounds(low, held, name + ": low");
    const py::object highs = bounds(high, held, name + ": high");
    std::uint8_t* under = below.is_none() ? nullptr : bitmap(below, 0, held.values.columns, name + ": below");
    std::uint8_t* over = bitmap(above, 0, held.values.columns, name + ": above");
    const Unlocked unlocked(bytes_in(held));
    return cover_boundaries(held.values, memory(lows), memory(highs), under, over);
}

std::uint64_t neurons(const py::object& values, double threshold, const py::object& covered, bool scaled) {
    const std::string name = "cover_neurons";
    const Held held = activations(values, name);
    if (std::isnan(threshold)) {
        throw py::value_error(name + ": threshold must be a number, got nan");
    }
    std::uint8_t* bits = bitmap(covered, 0, held.values.columns, name + ": covered");
    const Unlocked unlocked(bytes_in(held));
    return cover_neurons(held.values, threshold, scaled, bits);
}

[[nodiscard]] std::size_t checked_k(py::ssize_t k, const Held& held, const std::string& name) {
    if (k < 1 || static_cast<std::size_t>(k) > held.values.columns) {
        throw py::value_error(name + ": k must be in 1 to " + std::to_string(held.values.columns) + ", got " +
                              std::to_string(k));
    }
    return static_cast<std::size_t>(k);
}

std::uint64_t tops(const py::object& values, py::ssize_t k, const py::object& covered) {
    const Held held = activations(values, "cover_top");
    const std::size_t most = checked_k(k, held, "cover_top");
    std::uint8_t* bits = bitmap(covered, 0, held.values.columns, "cover_top: covered");
    const Unlocked unlocked(bytes_in(held));
    return cover_top(held.values, most, bits);
}

[[nodiscard]] py::array_t<std::int64_t> top_columns(const py::object& values, py::ssize_t k) {
    const Held held = activations(values, "top");
    const std::size_t most = checked_k(k, held, "top");
    py::array_t<std::int64_t> columns({held.values.rows, most});
    std::int64_t* to = columns.mutable_data();
    const Unlocked unlocked(bytes_in(held));
    top(held.values, most, to);
    return columns;
}

[[nodiscard]] py::array_t<std::int64_t> label_ranks(const py::object& values, const py::object& labels) {
    const Held held = activations(values, "ranks");
    const py::object of = tidy_of(labels.ptr(), "int64", "ranks: labels");
    if (proxy(of.ptr())->nd != 1 || size_of_array(of.ptr()) != held.values.rows) {
        throw py::value_error("ranks: labels must have shape (" + std::to_string(held.values.rows) + ",), got " +
                              shape_of(labels.ptr()));
    }
    py::array_t<std::int64_t> found(static_cast<py::ssize_t>(held.values.rows));
    std::int64_t* to = found.mutable_data();
    const Unlocked unlocked(bytes_in(held));
    ranks(held.values, static_cast<const std::int64_t*>(memory(of)), to);
    return found;
}

// CRADLE's score of a classification, equation 1.
[[nodiscard]] py::array_t<double> class_scores(const py::object& values, const py::object& labels, py::ssize_t k) {
    if (k < 1 || k > 1000) {
        throw py::value_error("class_scores: k must be in 1 to 1000, got " + std::to_string(k));
    }
    const py::array_t<std::int64_t> places = label_ranks(values, labels);
    py::array_t<double> scores(places.size());
    for (py::ssize_t i = 0; i < places.size(); ++i) {
        const std::int64_t rank = places.at(i);
        scores.mutable_at(i) = rank <= k ? std::ldexp(1.0, static_cast<int>(k - rank)) : 0.0;
    }
    return scores;
}

}  // namespace

void add_coverage(py::module_& module) {
    const auto last = py::pos_only();
    module.def("new_bits", &find_new_bits, py::arg("seen"), py::arg("found"), last,
               "Number of bits that found has and seen has not.");
    module.def("merge_bits", &merge, py::arg("seen"), py::arg("found"), last,
               "Set the bits of found in seen; gives the number of new ones.");
    module.def("cover_sections", &sections, py::arg("values"), py::arg("low"), py::arg("high"), py::arg("sections"),
               py::arg("covered"), last, py::kw_only(), py::arg("threads") = 1, "k-multisection neuron coverage.");
    module.def("cover_boundaries", &boundaries, py::arg("values"), py::arg("low"), py::arg("high"), py::arg("below"),
               py::arg("above"), last, "Neuron boundary coverage.");
    module.def("cover_neurons", &neurons, py::arg("values"), py::arg("threshold"), py::arg("covered"), last,
               py::kw_only(), py::arg("scaled") = true, "Neuron coverage.");
    module.def("cover_top", &tops, py::arg("values"), py::arg("k"), py::arg("covered"), last, "Top-k neuron coverage.");
    module.def("top", &top_columns, py::arg("values"), py::arg("k"), last, "The columns of each row's largest values.");
    module.def("ranks", &label_ranks, py::arg("values"), py::arg("labels"), last, "The place of each row's label.");
    module.def("class_scores", &class_scores, py::arg("values"), py::arg("labels"), last, py::kw_only(),
               py::arg("k") = 5, "CRADLE's score of each row's label.");
}

}  // namespace irfuzz::bindings
