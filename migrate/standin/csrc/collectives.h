// The `neuron` process-group backend.
#pragma once
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace neuron_standin {

// Forwards every collective to `inner` (gloo) over the same memory. `whole_world` marks the default group.
c10::intrusive_ptr<c10d::Backend> wrap_backend(c10::intrusive_ptr<c10d::Backend> inner, bool whole_world);

} // namespace neuron_standin
