#include "arrays.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace irfuzz::bindings {
namespace {

using py::detail::npy_api;

// Types of ml_dtypes without a kernel of their own; every value of them is a float exactly.
constexpr std::array<std::string_view, 11> through_float = {
    "float8_e3m4",     "float8_e4m3",    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",      "float6_e3m2fn", "float4_e2m1fn"};
// And integers, each one of 8 bits.
constexpr std::array<std::string_view, 3> through_int8 = {"int4", "int2", "int1"};
constexpr std::array<std::string_view, 3> through_uint8 = {"uint4", "uint2", "uint1"};
constexpr int half_number = 23;      // NPY_HALF
constexpr int first_foreign = 256;   // NPY_USERDEF
constexpr char swapped_order = '>';  // this is Linux on little-endian machines
constexpr int tidy_flags = int{npy_api::NPY_ARRAY_C_CONTIGUOUS_} | int{npy_api::NPY_ARRAY_ALIGNED_};

template <typename Signed>
[[nodiscard]] constexpr Element integer(bool is_signed) {
    switch (sizeof(Signed)) {
        case 1:
            return is_signed ? Element::int8 : Element::uint8;
        case 2:
            return is_signed ? Element::int16 : Element::uint16;
        case 4:
            return is_signed ? Element::int32 : Element::uint32;
        default:
            return is_signed ? Element::int64 : Element::uint64;
    }
}

[[nodiscard]] std::optional<Element> element_of_number(int number) {
    switch (number) {
        case npy_api::NPY_BOOL_:
            return Element::boolean;
        case npy_api::NPY_BYTE_:
            return Element::int8;
        case npy_api::NPY_UBYTE_:
            return Element::uint8;
        case npy_api::NPY_SHORT_:
            return integer<short>(true);
        case npy_api::NPY_USHORT_:
            return integer<short>(false);
        case npy_api::NPY_INT_:
            return integer<int>(true);
        case npy_api::NPY_UINT_:
            return integer<int>(false);
        case npy_api::NPY_LONG_:
            return integer<long>(true);
        case npy_api::NPY_ULONG_:
            return integer<long>(false);
        case npy_api::NPY_LONGLONG_:
            return integer<long long>(true);
        case npy_api::NPY_ULONGLONG_:
            return integer<long long>(false);
        case npy_api::NPY_FLOAT_:
            return Element::float32;
        case npy_api::NPY_DOUBLE_:
            return Element::float64;
        case half_number:
            return Element::float16;
        default:
            return std::nullopt;
    }
}

[[nodiscard]] py::dtype dtype_of(PyObject* array) { return py::reinterpret_borrow<py::array>(array).dtype(); }

}  // namespace

std::string name_of(const py::dtype& type) { return py::str(type.attr("name")).cast<std::string>(); }

std::string shape_of(PyObject* array) {
    return py::str(py::reinterpret_borrow<py::object>(array).attr("shape")).cast<std::string>();
}

std::string type_of(PyObject* object) { return Py_TYPE(object)->tp_name; }

bool is_array(PyObject* object) { return npy_api::get().PyArray_Check_(object); }

std::size_t size_of_array(PyObject* array) {
    const auto* raw = proxy(array);
    std::size_t size = 1;
    for (int i = 0; i < raw->nd; ++i) {
        size *= static_cast<std::size_t>(raw->dimensions[i]);
    }
    return size;
}

std::optional<Element> element_of_array(PyObject* array) {
    const auto* type = py::detail::array_descriptor_proxy(proxy(array)->descr);
    if (type->byteorder == swapped_order) {
        return std::nullopt;
    }
    if (type->type_num >= first_foreign) {
        // bfloat16's number is given out when ml_dtypes is imported.
        static int brain_number = -1;
        if (type->type_num == brain_number) {
            return Element::bfloat16;
        }
        if (name_of(dtype_of(array)) == "bfloat16") {
            brain_number = type->type_num;
            return Element::bfloat16;
        }
        return std::nullopt;
    }
    return element_of_number(type->type_num);
}

bool is_tidy(PyObject* array) { return (proxy(array)->flags & tidy_flags) == tidy_flags; }

void require_array(PyObject* object, const std::string& what) {
    if (!is_array(object)) {
        const py::object type = py::type::of(py::reinterpret_borrow<py::object>(object));
        throw py::type_error(what + " must be a numpy.ndarray, got " +
                             py::str(type.attr("__name__")).cast<std::string>());
    }
}

py::object tidy_array(PyObject* array, const char* function) {
    auto held = py::reinterpret_borrow<py::object>(array);
    const py::dtype type = dtype_of(array);
    const py::dtype native =
        type.attr("isnative").cast<bool>() ? type : type.attr("newbyteorder")("=").cast<py::dtype>();
    const std::string name = name_of(native);
    const auto among = [&name](const auto& names) { return std::ranges::find(names, name) != names.end(); };
    const char* through = among(through_float)   ? "float32"
                          : among(through_int8)  ? "int8"
                          : among(through_uint8) ? "uint8"
                                                 : nullptr;
    if (through != nullptr) {
        return held.attr("astype")(through, py::arg("order") = "C");
    }
    if (!type.is(native) || !is_tidy(array)) {
        held = held.attr("astype")(native, py::arg("order") = "C", py::arg("copy") = true);
    }
    if (!element_of_array(held.ptr())) {
        throw py::type_error(std::string(function) + ": no kernel for dtype " + name_of(type) +
                             ", expected bool, an integer, or a floating-point type of at most 64 bits");
    }
    return held;
}

py::object tidy_of(PyObject* object, const char* dtype, const std::string& what) {
    require_array(object, what);
    const py::dtype wanted(dtype);
    const py::dtype type = dtype_of(object);
    const bool swapped = !type.attr("isnative").cast<bool>();
    if (!type.equal(wanted) && !(swapped && type.attr("newbyteorder")("=").equal(wanted))) {
        throw py::type_error(what + " must be of dtype " + dtype + ", got " + name_of(type));
    }
    auto held = py::reinterpret_borrow<py::object>(object);
    if (swapped || !is_tidy(object)) {
        held = held.attr("astype")(wanted, py::arg("order") = "C", py::arg("copy") = true);
    }
    return held;
}

void require_in_place(PyObject* object, const char* dtype, const std::string& what) {
    require_array(object, what);
    const py::dtype type = dtype_of(object);
    if (!type.equal(py::dtype(dtype)) || !type.attr("isnative").cast<bool>()) {
        throw py::type_error(what + " must be of dtype " + dtype + ", got " + name_of(type));
    }
    if (!is_tidy(object) || (proxy(object)->flags & int{npy_api::NPY_ARRAY_WRITEABLE_}) == 0) {
        throw py::value_error(what + " is written in place: it must be writeable, row-major and aligned");
    }
}

unsigned threads_of(Py_ssize_t threads) {
    constexpr Py_ssize_t most = 1024;
    if (threads < 1 || threads > most) {
        throw py::value_error("threads must be in 1 to 1024, got " + std::to_string(threads));
    }
    return static_cast<unsigned>(threads);
}

}  // namespace irfuzz::bindings
