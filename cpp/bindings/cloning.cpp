// Copies a graph of Python objects; no object that can change is shared.
//
// copy.deepcopy in native code, without its recursion: a model of 30 nodes is a thousand small objects, and running
// their constructors again takes most of a millisecond. Nothing is known here of the classes: the caller says of each
// one, once, whether its instances are copied.
#include <Python.h>
#include <pybind11/pybind11.h>
#include <structmember.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

enum class Kind : std::uint8_t { share, freeze, slots, attributes, list, dict, set, tuple, probe };

struct Plan {
    Kind kind = Kind::share;
    std::vector<Py_ssize_t> slots;
};

[[nodiscard]] PyObject*& slot(PyObject* object, Py_ssize_t offset) {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

// True for an object of which a slot is a graph, or a list or tuple that begins with one.
[[nodiscard]] bool holds_graph(PyObject* object, const Plan& plan, const PyTypeObject* graph) {
    for (const Py_ssize_t offset : plan.slots) {
        PyObject* held = slot(object, offset);
        if (held != nullptr && PyList_CheckExact(held) && PyList_GET_SIZE(held) > 0) {
            held = PyList_GET_ITEM(held, 0);
        } else if (held != nullptr && PyTuple_CheckExact(held) && PyTuple_GET_SIZE(held) > 0) {
            held = PyTuple_GET_ITEM(held, 0);
        }
        if (held != nullptr && Py_TYPE(held) == graph) {
            return true;
        }
    }
    return false;
}

// Which copy stands for which object, by open addressing; it owns the copies.
class Memo {
  public:
    Memo() : places_(1U << 12U) {}
    Memo(const Memo&) = delete;
    Memo& operator=(const Memo&) = delete;
    ~Memo() {
        for (const auto& place : places_) {
            Py_XDECREF(place.second);
        }
    }

    [[nodiscard]] PyObject* find(const PyObject* object) const { return places_[at(object)].second; }

    // Takes over a reference to the copy.
    void add(PyObject* object, PyObject* copy) {
        if (2 * ++count_ > places_.size()) {
            grow();
        }
        places_[at(object)] = {object, copy};
    }

  private:
    using Place = std::pair<PyObject*, PyObject*>;

    [[nodiscard]] std::size_t at(const PyObject* object) const {
        const std::size_t mask = places_.size() - 1;
        std::size_t place = ((reinterpret_cast<std::uintptr_t>(object) >> 4U) * 0x9E3779B97F4A7C15U >> 20U) & mask;
        while (places_[place].first != nullptr && places_[place].first != object) {
            place = (place + 1) & mask;
        }
        return place;
    }

    void grow() {
        std::vector<Place> old(2 * places_.size());
        old.swap(places_);
        for (const auto& place : old) {
            if (place.first != nullptr) {
                places_[at(place.first)] = place;
            }
        }
    }

    std::vector<Place> places_;
    std::size_t count_ = 0;
};

// One copy in the making. Functions that fail have set a Python error.
class Copying {
  public:
    Copying(std::unordered_map<PyTypeObject*, Plan>& plans, PyObject* classify, PyTypeObject* graph, PyObject* freeze)
        : plans_(plans), classify_(classify), graph_(graph), freeze_(freeze) {}

    [[nodiscard]] PyObject* run(PyObject* root) {
        PyObject* copy = twin(root);
        if (copy == nullptr) {
            return nullptr;
        }
        while (!open_.empty()) {
            const Open next = open_.back();
            open_.pop_back();
            if (!fill(next)) {
                return nullptr;
            }
        }
        for (const auto& [source, target] : by_id_) {
            if (!fill_by_id(source, target)) {
                return nullptr;
            }
        }
        return Py_NewRef(copy);
    }

  private:
    struct Open {
        PyObject* source;
        PyObject* target;
        const Plan* plan;
    };

    // What stands for an object in the copy, borrowed: its copy, which may have to be filled yet, or the object itself.
    [[nodiscard]] PyObject* twin(PyObject* object) {
        const Plan* plan = plan_of(Py_TYPE(object), object);
        if (plan == nullptr) {
            return nullptr;
        }
        if (plan->kind == Kind::share) {
            return object;
        }
        if (plan->kind == Kind::freeze) {
            PyObject* done = PyObject_CallMethodNoArgs(object, freeze_);
            Py_XDECREF(done);
            return done == nullptr ? nullptr : object;
        }
        if (PyObject* known = memo_.find(object); known != nullptr) {
            return known;
        }
        if (plan->kind == Kind::tuple) {
            return tuple(object);
        }
        if (plan->kind == Kind::probe && !holds_graph(object, *plan, graph_)) {
            return object;
        }
        PyObject* copy = allocate(object, *plan);
        if (copy == nullptr) {
            return nullptr;
        }
        memo_.add(object, copy);
        open_.push_back({object, copy, plan});
        return copy;
    }

    [[nodiscard]] static PyObject* allocate(PyObject* object, const Plan& plan) {
        PyTypeObject* type = Py_TYPE(object);
        switch (plan.kind) {
            case Kind::list:
                return PyList_New(0);
            case Kind::set:
                return PySet_New(nullptr);
            case Kind::dict: {
                if (type == &PyDict_Type) {
                    return PyDict_New();
                }
                PyObject* none = PyTuple_New(0);
                PyObject* made = none == nullptr ? nullptr : type->tp_new(type, none, nullptr);
                Py_XDECREF(none);
                return made;
            }
            default:
                return type->tp_alloc(type, 0);
        }
    }

    [[nodiscard]] bool fill(const Open& open) {
        switch (open.plan->kind) {
            case Kind::list:
                return fill_list(open.source, open.target);
            case Kind::dict:
                return fill_dict(open.source, open.target);
            case Kind::set:
                return fill_set(open.source, open.target);
            case Kind::attributes:
                return fill_attributes(open.source, open.target);
            default:
                return fill_slots(open.source, open.target, *open.plan);
        }
    }

    [[nodiscard]] bool fill_slots(PyObject* source, PyObject* target, const Plan& plan) {
        for (const Py_ssize_t offset : plan.slots) {
            PyObject* held = slot(source, offset);
            if (held != nullptr) {
                PyObject* copy = twin(held);
                if (copy == nullptr) {
                    return false;
                }
                slot(target, offset) = Py_NewRef(copy);
            }
        }
        return true;
    }

    [[nodiscard]] bool fill_attributes(PyObject* source, PyObject* target) {
        PyObject* attributes = PyObject_GenericGetDict(source, nullptr);
        if (attributes == nullptr) {
            return false;
        }
        PyObject* name = nullptr;
        PyObject* held = nullptr;
        Py_ssize_t position = 0;
        bool well = true;
        while (well && PyDict_Next(attributes, &position, &name, &held) != 0) {
            PyObject* copy = twin(held);
            well = copy != nullptr && PyObject_GenericSetAttr(target, name, copy) == 0;
        }
        Py_DECREF(attributes);
        return well;
    }

    [[nodiscard]] bool fill_list(PyObject* source, PyObject* target) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(source); ++i) {
            PyObject* copy = twin(PyList_GET_ITEM(source, i));
            if (copy == nullptr || PyList_Append(target, copy) != 0) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] bool fill_dict(PyObject* source, PyObject* target) {
        PyObject* key = nullptr;
        PyObject* held = nullptr;
        Py_ssize_t position = 0;
        while (PyDict_Next(source, &position, &key, &held) != 0) {
            PyObject* copy = twin(held);
            if (copy == nullptr) {
                return false;
            }
            if (PyLong_CheckExact(key)) {
                // It may be the id of an object that is met later only.
                by_id_.emplace_back(source, target);
                return visit_values(source);
            }
            PyObject* twin_key = twin(key);
            if (twin_key == nullptr || PyDict_SetItem(target, twin_key, copy) != 0) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] bool visit_values(PyObject* source) {
        PyObject* held = nullptr;
        Py_ssize_t position = 0;
        while (PyDict_Next(source, &position, nullptr, &held) != 0) {
            if (twin(held) == nullptr) {
                return false;
            }
        }
        return true;
    }

    // Of a dictionary with an integer among its keys: whoever is found by its id is found by the id of its copy.
    [[nodiscard]] bool fill_by_id(PyObject* source, PyObject* target) {
        PyObject* key = nullptr;
        PyObject* held = nullptr;
        Py_ssize_t position = 0;
        PyDict_Clear(target);
        while (PyDict_Next(source, &position, &key, &held) != 0) {
            PyObject* copy = twin(held);
            PyObject* twin_key = key_by_id(key);
            const bool well = copy != nullptr && twin_key != nullptr && PyDict_SetItem(target, twin_key, copy) == 0;
            Py_XDECREF(twin_key);
            if (!well) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] PyObject* key_by_id(PyObject* key) {
        if (PyLong_CheckExact(key)) {
            const void* address = PyLong_AsVoidPtr(key);
            if (address == nullptr && PyErr_Occurred() != nullptr) {
                PyErr_Clear();
                return Py_NewRef(key);
            }
            PyObject* copy = memo_.find(static_cast<const PyObject*>(address));
            return copy == nullptr ? Py_NewRef(key) : PyLong_FromVoidPtr(copy);
        }
        PyObject* copy = twin(key);
        return Py_XNewRef(copy);
    }

    [[nodiscard]] bool fill_set(PyObject* source, PyObject* target) {
        PyObject* iterator = PyObject_GetIter(source);
        if (iterator == nullptr) {
            return false;
        }
        bool well = true;
        while (PyObject* held = PyIter_Next(iterator)) {
            PyObject* copy = twin(held);
            well = copy != nullptr && PySet_Add(target, copy) == 0;
            Py_DECREF(held);
            if (!well) {
                break;
            }
        }
        Py_DECREF(iterator);
        return well && PyErr_Occurred() == nullptr;
    }

    [[nodiscard]] PyObject* tuple(PyObject* object) {
        const Py_ssize_t size = PyTuple_GET_SIZE(object);
        bool same = true;
        if (Py_EnterRecursiveCall(" while cloning") != 0) {
            return nullptr;
        }
        for (Py_ssize_t i = 0; i < size; ++i) {
            PyObject* copy = twin(PyTuple_GET_ITEM(object, i));
            if (copy == nullptr) {
                Py_LeaveRecursiveCall();
                return nullptr;
            }
            same = same && copy == PyTuple_GET_ITEM(object, i);
        }
        PyTypeObject* type = Py_TYPE(object);
        PyObject* made = same ? nullptr : type == &PyTuple_Type ? PyTuple_New(size) : type->tp_alloc(type, size);
        for (Py_ssize_t i = 0; made != nullptr && i < size; ++i) {
            // Each item is known by now, so that this neither allocates nor fails.
            PyTuple_SET_ITEM(made, i, Py_NewRef(twin(PyTuple_GET_ITEM(object, i))));
        }
        Py_LeaveRecursiveCall();
        if (made != nullptr) {
            memo_.add(object, made);
        }
        return same ? object : made;
    }

    [[nodiscard]] const Plan* plan_of(PyTypeObject* type, PyObject* object) {
        if (const auto found = plans_.find(type); found != plans_.end()) {
            return &found->second;
        }
        PyObject* answer = PyObject_CallOneArg(classify_, object);
        if (answer == nullptr) {
            return nullptr;
        }
        const char* text = PyUnicode_Check(answer) != 0 ? PyUnicode_AsUTF8(answer) : "";
        const std::string word = text == nullptr ? "" : text;
        Py_DECREF(answer);
        Plan plan;
        if (word == "copy") {
            plan.kind = PyList_CheckExact(object) ? Kind::list
                        : PyDict_Check(object)    ? Kind::dict
                        : PySet_Check(object)     ? Kind::set
                        : PyTuple_Check(object)   ? Kind::tuple
                        : type->tp_itemsize == 0  ? Kind::attributes
                                                  : Kind::share;
        } else if (word == "slots" || word == "probe") {
            plan.kind = word == "slots" ? Kind::slots : Kind::probe;
            if (!slots_of(type, plan.slots)) {
                return nullptr;
            }
        } else if (word == "freeze") {
            plan.kind = Kind::freeze;
        } else if (word != "share") {
            PyErr_Format(PyExc_TypeError, "it is not known how instances of %R are copied", type);
            return nullptr;
        }
        Py_INCREF(type);  // what is remembered of it must not be taken for that of a later one
        return &plans_.emplace(type, std::move(plan)).first->second;
    }

    [[nodiscard]] static bool slots_of(PyTypeObject* type, std::vector<Py_ssize_t>& slots) {
        for (PyTypeObject* base = type; base != nullptr; base = base->tp_base) {
            for (const PyMemberDef* member = base->tp_members; member != nullptr && member->name != nullptr; ++member) {
                if (member->type != T_OBJECT_EX) {
                    PyErr_Format(PyExc_TypeError, "slot %s of %R holds no object", member->name, base);
                    return false;
                }
                slots.push_back(member->offset);
            }
        }
        return true;
    }

    std::unordered_map<PyTypeObject*, Plan>& plans_;  // references to its elements stay good when it grows
    PyObject* classify_;
    PyTypeObject* graph_;
    PyObject* freeze_;
    Memo memo_;
    std::vector<Open> open_;
    std::vector<std::pair<PyObject*, PyObject*>> by_id_;
};

// How often each object of a graph is referred to from inside of it, found as Python's own collector finds it.
class Census {
  public:
    Census(const std::unordered_map<PyTypeObject*, Plan>& plans, const PyTypeObject* graph)
        : plans_(plans), places_(1U << 12U), graph_(graph) {}

    void count(PyObject* root) {
        (void)see(root);
        for (std::size_t next = 0; next < objects_.size(); ++next) {
            PyObject* object = objects_[next];
            if (const traverseproc traverse = Py_TYPE(object)->tp_traverse; traverse != nullptr) {
                (void)traverse(object, &Census::visit, this);
            }
        }
    }

    // True where nobody outside has a reference, weak or not, but for one to the root, and nothing wants to be told.
    [[nodiscard]] bool closed() const {
        for (const PyObject* object : objects_) {
            const Py_ssize_t inside = places_[at(object)].second + (object == objects_.front() ? 1 : 0);
            const PyTypeObject* type = Py_TYPE(object);
            if (Py_REFCNT(object) != inside || type->tp_finalize != nullptr || type->tp_del != nullptr ||
                (type->tp_weaklistoffset != 0 &&
                 *reinterpret_cast<PyObject* const*>(reinterpret_cast<const char*>(object) + type->tp_weaklistoffset) !=
                     nullptr)) {
                return false;
            }
        }
        return !objects_.empty();
    }

    // Lets go of all references between the objects, so that they are freed with the last one to each.
    void clear() const {
        for (PyObject* object : objects_) {
            Py_INCREF(object);
        }
        for (PyObject* object : objects_) {
            if (const inquiry let_go = Py_TYPE(object)->tp_clear; let_go != nullptr) {
                (void)let_go(object);
            }
        }
        for (PyObject* object : objects_) {
            Py_DECREF(object);
        }
    }

  private:
    using Place = std::pair<const PyObject*, Py_ssize_t>;

    static int visit(PyObject* object, void* self) {
        if (Py_ssize_t* inside = static_cast<Census*>(self)->see(object); inside != nullptr) {
            ++*inside;
        }
        return 0;
    }

    // The count of an object, nullptr where it is one of those that are shared.
    [[nodiscard]] Py_ssize_t* see(PyObject* object) {
        std::size_t place = at(object);
        if (places_[place].first == object) {
            return &places_[place].second;
        }
        if (!copied(object)) {
            return nullptr;
        }
        objects_.push_back(object);
        if (2 * objects_.size() > places_.size()) {
            std::vector<Place> old(2 * places_.size());
            old.swap(places_);
            for (const Place& one : old) {
                if (one.first != nullptr) {
                    places_[at(one.first)] = one;
                }
            }
            place = at(object);
        }
        places_[place] = {object, 0};
        return &places_[place].second;
    }

    // True for an object of which a clone has a copy.
    [[nodiscard]] bool copied(PyObject* object) const {
        const auto plan = plans_.find(Py_TYPE(object));
        if (plan == plans_.end()) {
            return false;
        }
        switch (plan->second.kind) {
            case Kind::share:
            case Kind::freeze:
                return false;
            case Kind::probe:
                return holds_graph(object, plan->second, graph_);
            case Kind::tuple:
                for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
                    PyObject* item = PyTuple_GET_ITEM(object, i);
                    if (PyTuple_Check(item) == 0 && copied(item)) {
                        return true;
                    }
                }
                return false;
            default:
                return PyObject_IS_GC(object) != 0;
        }
    }

    [[nodiscard]] std::size_t at(const PyObject* object) const {
        const std::size_t mask = places_.size() - 1;
        std::size_t place = ((reinterpret_cast<std::uintptr_t>(object) >> 4U) * 0x9E3779B97F4A7C15U >> 20U) & mask;
        while (places_[place].first != nullptr && places_[place].first != object) {
            place = (place + 1) & mask;
        }
        return place;
    }

    const std::unordered_map<PyTypeObject*, Plan>& plans_;
    std::vector<Place> places_;
    std::vector<PyObject*> objects_;
    const PyTypeObject* graph_;
};

class Cloner {
  public:
    Cloner(py::function classify, py::type graph) : classify_(std::move(classify)), graph_(std::move(graph)) {}

    [[nodiscard]] py::object clone(const py::object& root) {
        Copying copying(plans_, classify_.ptr(), reinterpret_cast<PyTypeObject*>(graph_.ptr()), freeze_.ptr());
        PyObject* copy = copying.run(root.ptr());
        if (copy == nullptr) {
            throw py::error_already_set();
        }
        return py::reinterpret_steal<py::object>(copy);
    }

    [[nodiscard]] bool free(const py::list& holder) const {
        if (holder.size() != 1) {
            throw py::value_error("free: expected a list of one object, got " + std::to_string(holder.size()));
        }
        Census census(plans_, reinterpret_cast<const PyTypeObject*>(graph_.ptr()));
        census.count(PyList_GET_ITEM(holder.ptr(), 0));
        const bool closed = census.closed();
        if (closed) {
            census.clear();
        }
        holder.attr("clear")();
        return closed;
    }

  private:
    std::unordered_map<PyTypeObject*, Plan> plans_;
    py::function classify_;
    py::type graph_;
    py::str freeze_{"freeze"};
};

}  // namespace

PYBIND11_MODULE(_cloning, m) {
    m.doc() = "Copies of graphs of Python objects.";
    py::class_<Cloner>(m, "Cloner", R"(Copies an object with all that hangs on it.

    Args:
        classify: called with the first object of each class; "copy" copies its instances (lists, dictionaries, sets,
            tuples, and what has its attributes in a dictionary), "slots" those that have all attributes in slots,
            "probe" those with slots of which one is a graph or starts with one, "share" shares them, "freeze" shares
            them after a call of their method ``freeze``.
        graph: the class that "probe" looks for.
    )")
        .def(py::init<py::function, py::type>(), py::arg("classify"), py::arg("graph"))
        .def("clone", &Cloner::clone, py::arg("root"), R"(A copy of an object.

    Raises:
        TypeError: ``classify`` answers something else.
    )")
        .def("free", &Cloner::free, py::arg("holder"), R"(Frees an object at once, with all that hangs on it.

    Objects that refer to each other wait for the garbage collector, which takes ten times as long to find them.

    Args:
        holder: a list with the only reference to the object; it is emptied.

    Returns:
        False where something else refers to the object, or to one that hangs on it: then all stay as they are.
    )");
}
