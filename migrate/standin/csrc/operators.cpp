// One boxed kernel for every operator: see the same memory as CPU tensors, run the CPU kernel, hand the results
// back as neuron tensors. Nothing is copied, so views, in-place operators and out= arguments behave as on a device.
#include "standin.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <torch/library.h>

#include <mutex>
#include <set>
#include <unordered_map>

namespace neuron_standin {
namespace {

std::mutex count_mutex;
std::unordered_map<const c10::FunctionSchema*, int64_t> counts;

// Operators that take host tensors beside device tensors on every backend.
bool host_arguments_allowed(const std::string& name) {
  static const std::set<std::string> allowed = {
      "aten::index", "aten::index_put_", "aten::_index_put_impl_", "aten::index_put", "aten::_copy_from",
      "aten::_copy_from_and_resize", "aten::_pack_padded_sequence", "aten::set_", "aten::record_stream",
      "aten::_foreach_copy_", "aten::_ctc_loss", "aten::_ctc_loss_backward"};
  return allowed.count(name) > 0;
}

at::Tensor tensor_over(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), like.dtype());
  impl->set_storage_offset(like.storage_offset());
  impl->set_sizes_and_strides(like.sizes(), like.strides());
  if (like.is_conj()) impl->_set_conj(true);
  if (like.is_neg()) impl->_set_neg(true);
  return at::Tensor(std::move(impl));
}

// A view of `base` with the geometry of `like`. It takes its keys from the base, as every view does: in inference
// mode a view of an ordinary tensor is an ordinary tensor, which autograd gives a version counter.
at::Tensor view_of(const at::Tensor& base, const at::Tensor& like) {
  const auto keys = base.key_set() - c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  auto impl =
      c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(base.storage()), keys, like.dtype());
  impl->set_storage_offset(like.storage_offset());
  impl->set_sizes_and_strides(like.sizes(), like.strides());
  if (like.is_conj()) impl->_set_conj(true);
  if (like.is_neg()) impl->_set_neg(true);
  return at::Tensor(std::move(impl));
}

// A storage over the memory of `of`, on another device; it keeps `of` alive.
c10::Storage share(const c10::Storage& of, c10::Device device) {
  auto* keep = new c10::Storage(of);
  c10::DataPtr data(of.mutable_data(), keep, [](void* kept) { delete static_cast<c10::Storage*>(kept); }, device);
  return c10::Storage(c10::Storage::use_byte_size_t(), of.nbytes(), std::move(data), c10::GetAllocator(device.type()),
                      /*resizable=*/true);
}

// The arguments of one call, with the CPU alias of each neuron tensor.
struct Call {
  struct Argument {
    at::Tensor neuron, cpu;
  };
  std::vector<Argument> arguments;
  std::vector<std::pair<const void*, c10::Storage>> storages;
  std::optional<c10::Device> device;
  bool has_host_tensor = false;
  bool has_two_devices = false;

  at::Tensor to_cpu(const at::Tensor& t) {
    if (!t.defined()) return t;
    if (!is_neuron(t)) {
      if (t.dim() > 0 && t.device().is_cpu()) has_host_tensor = true;
      return t;
    }
    if (!device) device = t.device();
    else if (*device != t.device() && t.dim() > 0) has_two_devices = true;
    for (auto& a : arguments) {
      if (a.neuron.is_same(t)) return a.cpu;
    }
    const void* id = t.storage().unsafeGetStorageImpl();
    const c10::Storage* shared = nullptr;
    for (auto& s : storages) {
      if (s.first == id) shared = &s.second;
    }
    if (!shared) {
      storages.emplace_back(id, share(t.storage(), at::kCPU));
      shared = &storages.back().second;
    }
    arguments.push_back({t, tensor_over(*shared, c10::DispatchKey::CPU, t)});
    return arguments.back().cpu;
  }

  // The CPU kernel may have resized an out= argument.
  void write_back() {
    for (auto& a : arguments) {
      if (a.cpu.storage().data() != a.neuron.storage().data() ||
          a.cpu.storage().nbytes() != a.neuron.storage().nbytes()) {
        c10::Storage fresh = share(a.cpu.storage(), a.neuron.device());
        auto* stale = a.neuron.storage().unsafeGetStorageImpl();
        stale->set_data_ptr_noswap(fresh.unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr()));
        stale->set_nbytes(a.cpu.storage().nbytes());
      }
      if (a.cpu.sizes() != a.neuron.sizes() || a.cpu.strides() != a.neuron.strides()) {
        auto* impl = a.neuron.unsafeGetTensorImpl();
        impl->set_storage_offset(a.cpu.storage_offset());
        impl->set_sizes_and_strides(a.cpu.sizes(), a.cpu.strides());
      }
    }
  }

  at::Tensor to_neuron(const at::Tensor& t) {
    if (!t.defined() || is_neuron(t) || !t.has_storage()) return t;
    for (auto& a : arguments) {
      if (a.cpu.is_same(t)) return a.neuron;
    }
    for (auto& a : arguments) { // a view of an argument
      if (t.storage().unsafeGetStorageImpl() == a.cpu.storage().unsafeGetStorageImpl()) {
        return view_of(a.neuron, t);
      }
    }
    return adopt(t, *device);
  }
};

void boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const size_t base = stack->size() - schema.arguments().size();
  {
    std::lock_guard<std::mutex> lock(count_mutex);
    counts[&schema]++;
  }
  Call call;
  at::Generator generator;
  size_t unnamed_generator = 0; // where the device's default generator is meant
  for (size_t i = base; i < stack->size(); i++) {
    c10::IValue& v = (*stack)[i];
    if (v.isTensor()) {
      v = call.to_cpu(v.toTensor());
    } else if (v.isTensorList()) {
      c10::List<at::Tensor> out;
      for (const at::Tensor& t : v.toTensorVector()) out.push_back(call.to_cpu(t));
      v = out;
    } else if (v.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> out;
      for (const auto& t : v.toOptionalTensorList().vec()) {
        out.push_back(t ? std::make_optional(call.to_cpu(*t)) : std::nullopt);
      }
      v = out;
    } else if (v.isDevice() && v.toDevice().type() == kNeuron) {
      const auto d = v.toDevice();
      call.device = d.has_index() ? d : c10::Device(kNeuron, current_device());
      v = c10::Device(at::kCPU);
    } else if (v.isGenerator() && v.toGenerator().device().type() == kNeuron) {
      generator = v.toGenerator();
      v = cpu_generator_of(generator);
    } else if (v.isNone() && schema.arguments()[i - base].name() == "generator") {
      unnamed_generator = i;
    }
  }
  const bool mixed = (call.has_host_tensor && !call.arguments.empty()) || call.has_two_devices;
  if (mixed && !host_arguments_allowed(schema.name())) {
    const std::string found = call.has_host_tensor ? "neuron and cpu" : "two neuron devices";
    report("TN125", "error", c10::str(schema.name(), " got tensors on ", found));
    TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices: ", found,
                " (", schema.name(), ")");
  }
  if (!call.device) call.device = c10::Device(kNeuron, current_device());
  touch(call.device->index());
  if (unnamed_generator != 0) {
    generator = default_generator(call.device->index());
    (*stack)[unnamed_generator] = cpu_generator_of(generator);
  }

  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);

  if (generator.defined()) forget_spare_normals(generator);
  call.write_back();
  for (size_t i = stack->size() - schema.returns().size(); i < stack->size(); i++) {
    c10::IValue& v = (*stack)[i];
    if (v.isTensor()) {
      v = call.to_neuron(v.toTensor());
    } else if (v.isTensorList()) {
      c10::List<at::Tensor> out;
      for (const at::Tensor& t : v.toTensorVector()) out.push_back(call.to_neuron(t));
      v = out;
    }
  }
}

void note_dtype(at::ScalarType dtype) {
  if (dtype == at::kDouble) report("TN204", "warning", "a float64 tensor is made on neuron, which computes in float32");
}

at::Tensor empty_memory_format(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
                               std::optional<c10::Device> device, std::optional<bool>,
                               std::optional<c10::MemoryFormat> format) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  const auto type = c10::dtype_or_default(dtype);
  note_dtype(type);
  if (limits().enforced && format &&
      (*format == c10::MemoryFormat::ChannelsLast || *format == c10::MemoryFormat::ChannelsLast3d)) {
    report("TN502", "error", "channels_last is asked for on neuron");
    TORCH_CHECK(false, "Neuron tensors only support contiguous or preserve memory format");
  }
  return at::detail::empty_generic(size, c10::GetAllocator(kNeuron),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type, format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<c10::ScalarType> dtype,
                         std::optional<c10::Layout>, std::optional<c10::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  const auto type = c10::dtype_or_default(dtype);
  note_dtype(type);
  return at::detail::empty_strided_generic(size, stride, c10::GetAllocator(kNeuron),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type);
}

at::Tensor on_cpu(const at::Tensor& t) { return is_neuron(t) ? alias_on_cpu(t) : t; }

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool) {
  at::Tensor target = on_cpu(to);
  target.copy_(on_cpu(self));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  to.resize_(self.sizes());
  return copy_from(self, to, false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) { return alias_on_cpu(self).item(); }

const at::Tensor& resize_(const at::Tensor& self, c10::IntArrayRef size, std::optional<c10::MemoryFormat> format) {
  auto* impl = self.unsafeGetTensorImpl();
  const auto need =
      at::detail::computeStorageNbytesContiguous(size, self.dtype().itemsize(), self.storage_offset());
  if (need > self.storage().nbytes()) {
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(self.storage(), need);
  }
  if (self.sizes() != size) impl->set_sizes_contiguous(size);
  if (format) impl->empty_tensor_restride(*format);
  return self;
}

at::Tensor& set_storage_at(at::Tensor& self, c10::Storage storage, int64_t offset, c10::IntArrayRef size,
                           c10::IntArrayRef stride) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(storage));
  impl->set_storage_offset(offset);
  if (stride.data() == nullptr || stride.size() != size.size()) {
    impl->set_sizes_contiguous(size);
  } else {
    impl->set_sizes_and_strides(size, stride);
  }
  return self;
}
at::Tensor& set_storage(at::Tensor& self, c10::Storage storage) {
  const auto n = static_cast<int64_t>(storage.nbytes() / self.dtype().itemsize());
  return set_storage_at(self, std::move(storage), 0, {n}, {});
}
at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& from) {
  return set_storage_at(self, from.storage(), from.storage_offset(), from.sizes(), from.strides());
}
at::Tensor& set_empty(at::Tensor& self) {
  self.unsafeGetTensorImpl()->set_sizes_contiguous({0});
  return self;
}

// Convolutions of PrivateUse1 devices take this path instead of an ordinary kernel.
at::Tensor convolution(const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& b,
                       c10::IntArrayRef stride, c10::IntArrayRef pad, c10::IntArrayRef dilation, bool transposed,
                       c10::IntArrayRef output_pad, int64_t groups) {
  std::optional<at::Tensor> bias;
  if (b && b->defined()) bias = on_cpu(*b);
  return adopt(at::convolution(on_cpu(x), on_cpu(w), bias, stride, pad, dilation, transposed, output_pad, groups),
               x.device());
}
std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad, const at::Tensor& x, const at::Tensor& w, c10::IntArrayRef stride, c10::IntArrayRef pad,
    c10::IntArrayRef dilation, bool transposed, c10::IntArrayRef output_pad, int64_t groups, std::array<bool, 3> mask) {
  const int64_t channels = transposed ? w.size(1) * groups : w.size(0);
  auto [gx, gw, gb] =
      at::convolution_backward(on_cpu(grad), on_cpu(x), on_cpu(w), c10::IntArrayRef{channels}, stride, pad, dilation,
                               transposed, output_pad, groups, mask);
  return {adopt(gx, x.device()), adopt(gw, x.device()), adopt(gb, x.device())};
}

void record_stream(at::Tensor&, c10::Stream) {}

// Module.to keeps its Parameter objects, as TorchNeuron's own override of this operator allows.
bool compatible_shallow_copy(const at::Tensor&, const at::Tensor&) { return true; }

// nn.LSTM and nn.GRU pick fused cells on PrivateUse1, which have no CPU kernel: spelled out, so that autograd
// sees ordinary operators.
using Optional = std::optional<at::Tensor>;
at::Tensor plus(const at::Tensor& x, const Optional& bias) { return bias && bias->defined() ? x + *bias : x; }

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor& input, const at::Tensor& hidden,
                                                         const at::Tensor& cell, const Optional& input_bias,
                                                         const Optional& hidden_bias) {
  const auto gates = plus(input, input_bias) + plus(hidden, hidden_bias);
  const auto part = gates.chunk(4, 1);
  const auto next = part[1].sigmoid() * cell + part[0].sigmoid() * part[2].tanh();
  return {part[3].sigmoid() * next.tanh(), next, gates.detach()};
}
std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& state,
                                            const Optional& input_bias, const Optional& hidden_bias) {
  const auto i = plus(input, input_bias).chunk(3, 1), h = plus(hidden, hidden_bias).chunk(3, 1);
  const auto reset = (i[0] + h[0]).sigmoid(), update = (i[1] + h[1]).sigmoid();
  const auto fresh = (i[2] + reset * h[2]).tanh();
  return {fresh + update * (state - fresh), reset.detach()};
}

} // namespace

at::Tensor alias_on_cpu(const at::Tensor& neuron) {
  return tensor_over(share(neuron.storage(), at::kCPU), c10::DispatchKey::CPU, neuron);
}

at::Tensor adopt(const at::Tensor& cpu, c10::Device device) {
  if (!cpu.defined() || is_neuron(cpu)) return cpu;
  return tensor_over(share(cpu.storage(), device), c10::DispatchKey::PrivateUse1, cpu);
}

std::map<std::string, int64_t> operator_counts() {
  std::lock_guard<std::mutex> lock(count_mutex);
  std::map<std::string, int64_t> named;
  for (const auto& [schema, n] : counts) named[c10::toString(schema->operator_name())] += n;
  return named;
}

void clear_operator_counts() {
  std::lock_guard<std::mutex> lock(count_mutex);
  counts.clear();
}

// Where an operator has both a CPU kernel and a generic decomposition, PrivateUse1 would take the decomposition
// (layer_norm, for one), which rounds differently. Claim those, so that results are bit for bit the CPU's.
int claim_cpu_kernels() {
  using c10::DispatchKey;
  static torch::Library library(torch::Library::IMPL, "aten", DispatchKey::PrivateUse1, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  int claimed = 0;
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op || !op->hasKernelForDispatchKey(DispatchKey::CPU) || op->hasKernelForDispatchKey(DispatchKey::PrivateUse1)) {
      continue;
    }
    if (!op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) &&
        !op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional)) {
      continue;
    }
    library.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&boxed>());
    claimed++;
  }
  return claimed;
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&boxed>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty_memory_format);
  m.impl("empty_strided", empty_strided);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", local_scalar_dense);
  m.impl("resize_", resize_);
  m.impl("set_.source_Storage", set_storage);
  m.impl("set_.source_Storage_storage_offset", set_storage_at);
  m.impl("set_.source_Tensor", set_tensor);
  m.impl("set_", set_empty);
  m.impl("convolution_overrideable", convolution);
  m.impl("convolution_backward_overrideable", convolution_backward);
  m.impl("record_stream", record_stream);
  m.impl("_has_compatible_shallow_copy_type", compatible_shallow_copy);
  m.impl("_thnn_fused_lstm_cell", lstm_cell);
  m.impl("_thnn_fused_gru_cell", gru_cell);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", lstm_cell);
  m.impl("_thnn_fused_gru_cell", gru_cell);
}

// The Conjugate and Negative fallbacks clone, and a clone copies: an endless loop, unless the copy sees the bit.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

} // namespace neuron_standin
