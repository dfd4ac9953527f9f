// NumPy arrays enter, kernels run on spans of them without the interpreter's lock, plain results leave.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "difference.hpp"

namespace py = pybind11;

namespace {

using irfuzz::Difference;

// Types of ml_dtypes without a kernel of their own; every value of them is a float exactly.
constexpr std::array<std::string_view, 17> through_float = {"float8_e3m4",
                                                            "float8_e4m3",
                                                            "float8_e4m3b11fnuz",
                                                            "float8_e4m3fn",
                                                            "float8_e4m3fnuz",
                                                            "float8_e5m2",
                                                            "float8_e5m2fnuz",
                                                            "float8_e8m0fnu",
                                                            "float6_e2m3fn",
                                                            "float6_e3m2fn",
                                                            "float4_e2m1fn",
                                                            "int4",
                                                            "uint4",
                                                            "int2",
                                                            "uint2",
                                                            "int1",
                                                            "uint1"};

[[nodiscard]] std::string name_of(const py::dtype& type) { return py::str(type.attr("name")).cast<std::string>(); }

[[nodiscard]] std::string shape_of(const py::array& array) { return py::str(array.attr("shape")).cast<std::string>(); }

[[nodiscard]] py::array as_array(const py::object& object, const char* name) {
    if (!py::isinstance<py::array>(object)) {
        throw py::type_error(std::string("difference: ") + name + " must be a numpy.ndarray, got " +
                             py::str(py::type::of(object).attr("__name__")).cast<std::string>());
    }
    return py::reinterpret_borrow<py::array>(object);
}

// A row-major, aligned array in the machine's byte order: the same one where it is that already, else a copy.
[[nodiscard]] py::array tidy(const py::array& array) {
    constexpr int wanted = int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
    const bool native = array.dtype().attr("isnative").cast<bool>();
    if (native && (array.flags() & wanted) == wanted) {
        return array;
    }
    const py::object type = native ? py::object(array.dtype()) : array.dtype().attr("newbyteorder")("=");
    return array.attr("astype")(type, py::arg("order") = "C", py::arg("copy") = true).cast<py::array>();
}

using Kernel = Difference (*)(const py::array&, const py::array&);

template <typename T>
[[nodiscard]] Difference compare(const py::array& a, const py::array& b) {
    const auto size = static_cast<std::size_t>(a.size());
    const std::span<const T> left(static_cast<const T*>(a.data()), size);
    const std::span<const T> right(static_cast<const T*>(b.data()), size);
    const py::gil_scoped_release unlocked;
    return irfuzz::difference<T>(left, right);
}

// The kernel for NumPy's own types, by kind and size.
[[nodiscard]] Kernel own_kernel(char kind, py::ssize_t size) {
    switch (kind) {
        case 'b':
            return compare<irfuzz::Bool>;
        case 'f':
            return size == 2   ? compare<irfuzz::Float16>
                   : size == 4 ? compare<float>
                   : size == 8 ? compare<double>
                               : nullptr;
        case 'i':
            return size == 1   ? compare<std::int8_t>
                   : size == 2 ? compare<std::int16_t>
                   : size == 4 ? compare<std::int32_t>
                               : compare<std::int64_t>;
        case 'u':
            return size == 1   ? compare<std::uint8_t>
                   : size == 2 ? compare<std::uint16_t>
                   : size == 4 ? compare<std::uint32_t>
                               : compare<std::uint64_t>;
        default:
            return nullptr;
    }
}

[[nodiscard]] Difference dispatch(const py::array& a, const py::array& b) {
    if (const Kernel kernel = own_kernel(a.dtype().kind(), a.dtype().itemsize()); kernel != nullptr) {
        return kernel(a, b);
    }
    const std::string name = name_of(a.dtype());
    if (name == "bfloat16") {
        return compare<irfuzz::BFloat16>(a, b);
    }
    if (std::ranges::find(through_float, name) != through_float.end()) {
        return compare<float>(a.attr("astype")("float32").cast<py::array>(),
                              b.attr("astype")("float32").cast<py::array>());
    }
    throw py::type_error("difference: no kernel for dtype " + name +
                         ", expected bool, an integer, or a floating-point type of at most 64 bits");
}

[[nodiscard]] Difference difference(const py::object& first, const py::object& second) {
    const py::array a = as_array(first, "a");
    const py::array b = as_array(second, "b");
    const py::array left = tidy(a);
    const py::array right = tidy(b);
    if (!left.dtype().equal(right.dtype())) {
        throw py::type_error("difference: a and b must have one dtype, got " + name_of(a.dtype()) + " and " +
                             name_of(b.dtype()));
    }
    if (a.ndim() != b.ndim() || !a.attr("shape").equal(b.attr("shape"))) {
        throw py::value_error("difference: a and b must have one shape, got " + shape_of(a) + " and " + shape_of(b));
    }
    return dispatch(left, right);
}

[[nodiscard]] py::dict as_dict(const Difference& d) {
    py::dict fields;
    fields["count"] = d.count;
    fields["compared"] = d.compared;
    fields["mismatched"] = d.mismatched;
    fields["first_mismatch"] = d.first_mismatch;
    fields["mean_abs"] = d.mean_abs;
    fields["max_abs"] = d.max_abs;
    fields["argmax"] = d.argmax;
    fields["max_rel"] = d.max_rel;
    fields["max_a"] = d.max_a;
    fields["max_b"] = d.max_b;
    fields["nan_a"] = d.nan_a;
    fields["nan_b"] = d.nan_b;
    fields["posinf_a"] = d.posinf_a;
    fields["posinf_b"] = d.posinf_b;
    fields["neginf_a"] = d.neginf_a;
    fields["neginf_b"] = d.neginf_b;
    return fields;
}

[[nodiscard]] std::string repr_of(const Difference& d) {
    std::string text = "Difference(";
    std::string_view separator;
    for (const auto& [name, value] : as_dict(d)) {
        text += separator;
        text += py::str(name).cast<std::string>() + "=" + py::repr(value).cast<std::string>();
        separator = ", ";
    }
    return text + ")";
}

}  // namespace

PYBIND11_MODULE(_native, module) {
    module.doc() = "Native kernels of irfuzz: arrays enter, numbers leave. Signatures: _native.pyi.";

    py::class_<Difference>(module, "Difference", "What two arrays differ in, as difference() found it.")
        .def_readonly("count", &Difference::count)
        .def_readonly("compared", &Difference::compared)
        .def_readonly("mismatched", &Difference::mismatched)
        .def_readonly("first_mismatch", &Difference::first_mismatch)
        .def_readonly("mean_abs", &Difference::mean_abs)
        .def_readonly("max_abs", &Difference::max_abs)
        .def_readonly("argmax", &Difference::argmax)
        .def_readonly("max_rel", &Difference::max_rel)
        .def_readonly("max_a", &Difference::max_a)
        .def_readonly("max_b", &Difference::max_b)
        .def_readonly("nan_a", &Difference::nan_a)
        .def_readonly("nan_b", &Difference::nan_b)
        .def_readonly("posinf_a", &Difference::posinf_a)
        .def_readonly("posinf_b", &Difference::posinf_b)
        .def_readonly("neginf_a", &Difference::neginf_a)
        .def_readonly("neginf_b", &Difference::neginf_b)
        .def("as_dict", &as_dict, "The fields by name, JSON-able but for an infinite max_abs.")
        .def("__repr__", &repr_of);

    module.def("difference", &difference, py::arg("a"), py::arg("b"), py::pos_only(),
               "Compare two arrays of one shape and dtype in one pass; see Difference for what is counted how.");
}
