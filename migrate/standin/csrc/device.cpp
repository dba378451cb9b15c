// Allocator, device guard, hooks and generator. Everything is synchronous: one stream, events are time stamps.
#include "standin.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>

#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <unordered_set>

namespace neuron_standin {
namespace {

constexpr int kMaxDevices = 128;
thread_local c10::DeviceIndex current = 0;

std::mutex memory_mutex;
std::array<MemoryStats, kMaxDevices> memory;
std::mutex reporter_mutex;
Reporter reporter;

struct Block {
  void* data;
  size_t bytes;
  c10::DeviceIndex device;
};

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  {
    std::lock_guard<std::mutex> lock(memory_mutex);
    auto& m = memory[block->device];
    m.current -= static_cast<int64_t>(block->bytes);
    m.freed += static_cast<int64_t>(block->bytes);
    m.frees++;
  }
  c10::free_cpu(block->data);
  delete block;
}

struct NeuronAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    const auto device = current;
    touch(device);
    void* data = c10::alloc_cpu(bytes);
    {
      std::lock_guard<std::mutex> lock(memory_mutex);
      auto& m = memory[device];
      m.current += static_cast<int64_t>(bytes);
      m.allocated += static_cast<int64_t>(bytes);
      m.peak = std::max(m.peak, m.current);
      m.allocations++;
    }
    return {data, new Block{data, bytes, device}, &free_block, c10::Device(kNeuron, device)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; } // data and context differ
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }
};
NeuronAllocator allocator;
REGISTER_ALLOCATOR(kNeuron, &allocator)

// Pinned host memory is plain host memory whose pointers are remembered.
std::mutex pinned_mutex;
std::unordered_set<const void*> pinned;

void free_pinned(void* data) {
  {
    std::lock_guard<std::mutex> lock(pinned_mutex);
    pinned.erase(data);
  }
  c10::free_cpu(data);
}

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* data = c10::alloc_cpu(bytes == 0 ? 1 : bytes);
    std::lock_guard<std::mutex> lock(pinned_mutex);
    pinned.insert(data);
    return {data, data, &free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }
};
PinnedAllocator pinned_allocator;

struct Guard final : c10::impl::DeviceGuardImplInterface {
  using Clock = std::chrono::steady_clock;

  c10::DeviceType type() const override { return kNeuron; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const auto old = getDevice();
    setDevice(device);
    return old;
  }
  c10::Device getDevice() const override { return {kNeuron, current}; }
  void setDevice(c10::Device device) const override {
    if (device.index() >= 0 && device.index() != current) set_current_device(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0) current = device.index();
  }
  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(limits().visible); }

  c10::Stream getStream(c10::Device device) const noexcept override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return getStream(device); }
  c10::Stream getNewStream(c10::Device device, int) const override { return getStream(device); }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return getStream(stream.device()); }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new Clock::time_point();
    *static_cast<Clock::time_point*>(*event) = Clock::now();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Clock::time_point*>(event);
  }
  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {
    const auto passed = *static_cast<Clock::time_point*>(second) - *static_cast<Clock::time_point*>(first);
    return std::chrono::duration<double, std::milli>(passed).count();
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

constexpr uint64_t kFarthestOffset = uint64_t(1) << 32; // reached by drawing: some ten seconds

// A place in the stream of one seed: the engine there, and how many numbers it has drawn since it was seeded.
struct Position {
  explicit Position(uint64_t seed) : engine(seed) {}
  uint64_t seed() const { return engine.seed(); }
  void advance_to(uint64_t target) {
    for (; offset < target; offset++) engine();
  }
  // To the place of `other`, which has the same seed and is not before this one.
  void catch_up(const at::mt19937& other) {
    const auto there = other.data();
    // The engine makes its numbers in blocks; the draw after the last of one makes the next.
    for (auto here = engine.data(); here.state_ != there.state_; here = engine.data()) {
      advance_to(offset + static_cast<uint64_t>(here.left_));
    }
    advance_to(offset + (there.next_ - engine.data().next_));
  }
  at::mt19937 engine;
  uint64_t offset = 0;
};

// Owns a CPU generator, which draws the numbers: the streams are the CPU's. Its state is that of an accelerator,
// 16 bytes of seed and offset, with which DTensor calculates; the offset counts the numbers drawn.
struct NeuronGenerator final : c10::GeneratorImpl {
  explicit NeuronGenerator(c10::DeviceIndex index)
      : c10::GeneratorImpl(c10::Device(kNeuron, index < 0 ? current : index),
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        inner(at::detail::createCPUGenerator()),
        known(inner.current_seed()) {}
  at::CPUGeneratorImpl& cpu() const { return *static_cast<at::CPUGeneratorImpl*>(inner.unsafeGetGeneratorImpl()); }
  void set_current_seed(uint64_t seed) override {
    inner.set_current_seed(seed);
    known = Position(seed);
    recent.clear();
  }
  uint64_t current_seed() const override { return inner.current_seed(); }
  uint64_t seed() override {
    const auto fresh = inner.seed();
    set_current_seed(fresh);
    return fresh;
  }
  uint64_t get_offset() const override {
    known.catch_up(cpu().engine());
    return known.offset;
  }
  void set_offset(uint64_t offset) override { go_to(current_seed(), offset); }
  void set_state(const c10::TensorImpl& state) override {
    TORCH_CHECK(state.is_contiguous() && state.dtype() == caffe2::TypeMeta::Make<uint8_t>() &&
                    state.device().is_cpu() && (state.numel() == 16 || state.numel() == 8),
                "RNG state of a neuron generator must be a CPU ByteTensor of 16 bytes: seed and offset");
    uint64_t words[2] = {0, 0};
    std::memcpy(words, state.data(), static_cast<size_t>(state.numel()));
    go_to(words[0], words[1]);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    const uint64_t words[2] = {current_seed(), get_offset()};
    auto state = at::empty({sizeof(words)}, at::TensorOptions().dtype(at::kByte).device(at::kCPU));
    std::memcpy(state.mutable_data_ptr(), words, sizeof(words));
    remember();
    return state.getIntrusivePtr();
  }
  NeuronGenerator* clone_impl() const override {
    auto* copy = new NeuronGenerator(device().index());
    copy->inner = inner.clone();
    copy->known = known;
    copy->recent = recent;
    return copy;
  }
  static c10::DeviceType device_type() { return kNeuron; }
  at::Generator inner;

 private:
  void go_to(uint64_t seed, uint64_t offset) {
    TORCH_CHECK(offset <= kFarthestOffset, "the stand-in's generator can't go to offset ", offset);
    Position start(seed);
    for (const auto& p : recent) {
      if (p.seed() == seed && p.offset <= offset && p.offset >= start.offset) start = p;
    }
    start.advance_to(offset);
    known = start;
    cpu().set_engine(known.engine);
    cpu().set_next_float_normal_sample(std::nullopt);
    cpu().set_next_double_normal_sample(std::nullopt);
    remember();
  }
  // Activation checkpointing goes back to states of a moment ago, again and again.
  void remember() const {
    recent.push_back(known);
    if (recent.size() > 64) recent.pop_front();
  }
  mutable Position known; // at or before the place of `inner`
  mutable std::deque<Position> recent;
};

struct Hooks final : at::PrivateUse1HooksInterface {
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return limits().visible > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(limits().visible); }
  void setCurrentDevice(c10::DeviceIndex index) const override { set_current_device(index); }
  c10::DeviceIndex getCurrentDevice() const override { return current; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    const auto old = current;
    set_current_device(index);
    return old;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? current : exchangeDevice(index);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override { return default_generator(index); }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return at::make_generator<NeuronGenerator>(index);
  }
  at::Device getDeviceFromPtr(void*) const override { return {kNeuron, current}; }
  bool isPinnedPtr(const void* data) const override {
    std::lock_guard<std::mutex> lock(pinned_mutex);
    return pinned.count(data) > 0;
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto* impl = storage.unsafeGetStorageImpl();
    c10::DataPtr fresh = allocator.allocate(bytes);
    const auto kept = std::min<size_t>(impl->nbytes(), bytes);
    if (kept) std::memcpy(fresh.get(), impl->data(), kept);
    impl->set_data_ptr_noswap(std::move(fresh));
    impl->set_nbytes(bytes);
  }
};

} // namespace

Limits& limits() {
  static Limits all;
  return all;
}

void touch(c10::DeviceIndex index) {
  auto& l = limits();
  const bool first = !l.used;
  l.used = true;
  if (first) report(kFirstUse, "", "");
  if (l.forked) {
    report("TN410", "error", "the neuron device is used in a forked child of a process that had already used it");
    TORCH_CHECK(false, "Cannot re-initialize Neuron runtime in forked subprocess. ",
                "To use Neuron with multiprocessing, you must use the 'spawn' start method");
  }
  if (l.enforced && l.owned >= 0 && index != l.owned) {
    report("TN105", "error", c10::str("neuron:", int(index), " is used in the process that owns neuron:", l.owned));
    TORCH_CHECK(false, "Device index ", int(index), " is out of range. Valid range is ", l.owned, " to ", l.owned,
                " for this process");
  }
}

c10::DeviceIndex current_device() { return current; }

void set_current_device(c10::DeviceIndex index) {
  const int count = limits().visible;
  TORCH_CHECK(index >= 0 && index < count, "Device index ", int(index), " is out of range. Valid range is 0 to ",
              count - 1, " for this process");
  touch(index);
  current = index;
}

MemoryStats memory_stats(c10::DeviceIndex index) {
  std::lock_guard<std::mutex> lock(memory_mutex);
  return memory.at(index);
}

void reset_peak(c10::DeviceIndex index) {
  std::lock_guard<std::mutex> lock(memory_mutex);
  memory.at(index).peak = memory.at(index).current;
}

const at::Generator& default_generator(c10::DeviceIndex index) {
  static std::array<at::Generator, kMaxDevices> all = [] {
    std::array<at::Generator, kMaxDevices> made;
    for (int i = 0; i < kMaxDevices; i++) made[i] = at::make_generator<NeuronGenerator>(c10::DeviceIndex(i));
    return made;
  }();
  return all.at(index < 0 ? current : index);
}

at::Generator cpu_generator_of(const at::Generator& neuron) {
  return static_cast<NeuronGenerator*>(neuron.unsafeGetGeneratorImpl())->inner;
}

void forget_spare_normals(const at::Generator& neuron) {
  auto& cpu = static_cast<NeuronGenerator*>(neuron.unsafeGetGeneratorImpl())->cpu();
  cpu.set_next_float_normal_sample(std::nullopt);
  cpu.set_next_double_normal_sample(std::nullopt);
}

void install_hooks() {
  static const bool done = [] {
    at::RegisterPrivateUse1HooksInterface(new Hooks());
    return true;
  }();
  (void)done;
}

void set_reporter(Reporter fresh) {
  std::lock_guard<std::mutex> lock(reporter_mutex);
  reporter = std::move(fresh);
}

void report(const std::string& code, const std::string& severity, const std::string& message) {
  Reporter known;
  {
    std::lock_guard<std::mutex> lock(reporter_mutex);
    known = reporter;
  }
  if (known) known(code, severity, message); // takes the GIL: no lock of ours may be held
}

} // namespace neuron_standin
