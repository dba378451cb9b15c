// Python bindings.
#include "collectives.h"
#include "standin.h"

#include <torch/csrc/utils/pybind.h>

namespace neuron_standin {
namespace {

// The callback lives as long as the process: destroying it at exit would need the GIL.
void set_python_reporter(const py::function& callback) {
  auto* kept = new py::function(callback);
  set_reporter([kept](const std::string& code, const std::string& severity, const std::string& message) {
    if (!Py_IsInitialized()) return;
    py::gil_scoped_acquire gil;
    (*kept)(code, severity, message);
  });
}

} // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("install_hooks", &install_hooks);
  m.def("claim_cpu_kernels", &claim_cpu_kernels);
  m.def("set_reporter", &set_python_reporter);
  m.def("set_enforced", [](bool on) { limits().enforced = on; });
  m.def("set_visible", [](int count) { limits().visible = count; });
  m.def("set_owned", [](int index) { limits().owned = index; });
  m.def("set_forked", [] { limits().forked = limits().used; });
  m.def("is_used", [] { return limits().used; });
  m.def("is_forked", [] { return limits().forked; });
  m.def("owned", [] { return limits().owned; });
  m.def("device_count", [] { return limits().visible; });
  m.def("current_device", [] { return int(current_device()); });
  m.def("set_device", [](int index) { set_current_device(c10::DeviceIndex(index)); });
  m.def("memory_stats", [](int index) {
    const auto s = memory_stats(c10::DeviceIndex(index));
    return std::map<std::string, int64_t>{{"current", s.current},   {"peak", s.peak},
                                          {"allocated", s.allocated}, {"freed", s.freed},
                                          {"allocations", s.allocations}, {"frees", s.frees}};
  });
  m.def("reset_peak", [](int index) { reset_peak(c10::DeviceIndex(index)); });
  m.def("default_generator", [](int index) { return default_generator(c10::DeviceIndex(index)); });
  m.def("operator_counts", &operator_counts);
  m.def("clear_operator_counts", &clear_operator_counts);
  m.def("alias_on_cpu", &alias_on_cpu);
  // The holder type of Backend is registered by torch.distributed.
  py::module_::import("torch.distributed");
  m.def("wrap_backend", &wrap_backend);
}

} // namespace neuron_standin
