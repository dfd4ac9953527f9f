// Bytes of a model enter onnx's checker and strict shape inference; AFL++'s persistent mode and libFuzzer alike.
//
// With IRFUZZ_COUNTS=FILE the file gets, as five 64-bit numbers: executions, inputs that parse, that pass the checker,
// whose types were inferred, and that ended by a signal. With IRFUZZ_SURVIVE the process goes on after those (with
// libFuzzer's -handle_segv=0 -handle_abrt=0) and after a second of work without an end, which counts among them: one
// known crash would end a run that is to be compared with another.
#include <csetjmp>
#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "onnx/checker.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "onnx/shape_inference/implementation.h"

// onnx's inliner refers to its version converter, which nothing here calls and which takes minutes to compile.
namespace onnx::version_conversion {
ModelProto ConvertVersion(const ModelProto&, int) { std::abort(); }
}  // namespace onnx::version_conversion

namespace {

struct Counts {
    std::uint64_t executed, parsed, checked, inferred, crashed;
};

Counts* open_counts() {
    static Counts nowhere{};
    const char* path = std::getenv("IRFUZZ_COUNTS");
    if (path == nullptr)
        return &nowhere;
    const int file = ::open(path, O_RDWR | O_CREAT, 0644);
    if (file < 0 || ::ftruncate(file, sizeof(Counts)) != 0)
        return &nowhere;
    void* memory = ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return memory == MAP_FAILED ? &nowhere : static_cast<Counts*>(memory);
}

sigjmp_buf before_input;

void leave(int) { siglongjmp(before_input, 1); }

// What crashes or runs on outside of the target is not to be survived.
void guard(bool on) {
    const itimerval limit{{0, 0}, {on ? 1 : 0, 0}};
    for (const int number : {SIGSEGV, SIGABRT, SIGVTALRM})
        std::signal(number, on ? leave : SIG_DFL);
    ::setitimer(ITIMER_VIRTUAL, &limit, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    // All schemas are registered before the first input, or their code would count as reached by whatever comes first.
    onnx::OpSchemaRegistry::get_all_schemas_with_history();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Counts* const counts = open_counts();
    static const bool survive = std::getenv("IRFUZZ_SURVIVE") != nullptr;
    ++counts->executed;
    if (survive) {
        if (sigsetjmp(before_input, /*savemask=*/1) != 0) {
            ++counts->crashed;
            guard(/*on=*/false);
            return 0;
        }
        guard(/*on=*/true);
    }
    onnx::ModelProto model;
    try {
        if (!model.ParseFromArray(data, static_cast<int>(size)))
            throw std::runtime_error("no model");
        ++counts->parsed;
        onnx::checker::check_model(model);
        ++counts->checked;
        const onnx::ShapeInferenceOptions options(/*check_type=*/true, /*strict_mode=*/1, /*data_prop=*/true);
        onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
        ++counts->inferred;
    } catch (const std::exception&) {  // refused, as it should be
    }
    if (survive)
        guard(/*on=*/false);
    return 0;
}
