// The stand-in for the `neuron` device: device memory is host memory, and every kernel is the CPU's.
#pragma once
#include <ATen/ATen.h>
#include <c10/core/Allocator.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace neuron_standin {

constexpr auto kNeuron = c10::DeviceType::PrivateUse1;

struct MemoryStats {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0, allocations = 0, frees = 0;
};

// What the real device refuses. `enforced` is off when a CUDA original runs here as the reference.
struct Limits {
  bool enforced = true;
  int visible = 1; // devices this process sees
  int owned = -1;  // the only index it may use, once it has joined a process group
  bool used = false;   // something already ran on the device
  bool forked = false; // this is a forked child of a process that had used it
};

// device.cpp
Limits& limits();
void touch(c10::DeviceIndex index); // marks first use; throws where the device would
void set_current_device(c10::DeviceIndex index);
c10::DeviceIndex current_device();
MemoryStats memory_stats(c10::DeviceIndex index);
void reset_peak(c10::DeviceIndex index);
const at::Generator& default_generator(c10::DeviceIndex index);
at::Generator cpu_generator_of(const at::Generator& neuron);
void forget_spare_normals(const at::Generator& neuron); // after each operator: its state is seed and offset alone
void install_hooks();

using Reporter = std::function<void(const std::string& code, const std::string& severity, const std::string& message)>;
void set_reporter(Reporter reporter);
constexpr auto kFirstUse = "first use"; // in place of a code: no hazard, the device is used for the first time
void report(const std::string& code, const std::string& severity, const std::string& message);

// operators.cpp
inline bool is_neuron(const at::Tensor& t) {
  return t.defined() && t.device().type() == kNeuron;
}
at::Tensor alias_on_cpu(const at::Tensor& neuron);         // same memory, seen as a CPU tensor
at::Tensor adopt(const at::Tensor& cpu, c10::Device device); // same memory, seen as a neuron tensor
std::map<std::string, int64_t> operator_counts();
void clear_operator_counts();
int claim_cpu_kernels();

} // namespace neuron_standin
