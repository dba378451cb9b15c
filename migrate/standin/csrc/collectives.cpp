// A torch.distributed backend that rides on gloo: neuron tensors are aliased as CPU tensors, never copied.
#include "collectives.h"
#include "standin.h"

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <numeric>

namespace neuron_standin {
namespace {
using Tensors = std::vector<at::Tensor>;
using c10d::Backend;
using c10d::OpType;
using c10d::Work;
using WorkPtr = c10::intrusive_ptr<Work>;

at::Tensor cpu(const at::Tensor& t) { return is_neuron(t) ? alias_on_cpu(t) : t; }
Tensors cpu(const Tensors& list) {
  Tensors out;
  for (const auto& t : list) out.push_back(cpu(t));
  return out;
}
std::vector<Tensors> cpu(const std::vector<Tensors>& lists) {
  std::vector<Tensors> out;
  for (const auto& list : lists) out.push_back(cpu(list));
  return out;
}
Tensors flat(const std::vector<Tensors>& lists) {
  Tensors out;
  for (const auto& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

void refuse_uneven(const std::vector<int64_t>& sizes) {
  if (!limits().enforced || sizes.empty()) return;
  for (auto n : sizes) {
    if (n == sizes.front()) continue;
    report("TN414", "error", "all_to_all with uneven split sizes");
    TORCH_CHECK_NOT_IMPLEMENTED(false, "alltoall_base: Only even split sizes are supported");
  }
}

// Waits for the inner work; its future holds the caller's neuron tensors.
struct NeuronWork final : Work {
  NeuronWork(WorkPtr inner, Tensors results, int rank, OpType op)
      : Work(rank, op), inner_(std::move(inner)), results_(std::move(results)) {
    future_ = c10::make_intrusive<at::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    c10::intrusive_ptr<at::ivalue::Future> from;
    try {
      from = inner_->getFuture();
    } catch (const c10::Error&) { // some gloo works have none: finish now
      inner_->wait();
      future_->markCompleted(c10::IValue(results_));
      return;
    }
    from->addCallback([done = future_, results = results_](at::ivalue::Future& f) {
      if (f.hasError()) done->setError(f.exception_ptr());
      else done->markCompleted(c10::IValue(results));
    });
  }
  bool isCompleted() override { return inner_->isCompleted(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  std::exception_ptr exception() const override { return inner_->exception(); }
  bool wait(std::chrono::milliseconds limit) override { return inner_->wait(limit); }
  void synchronize() override { inner_->synchronize(); }
  Tensors result() override { return results_; }
  c10::intrusive_ptr<at::ivalue::Future> getFuture() override { return future_; }

  WorkPtr inner_;
  Tensors results_;
  c10::intrusive_ptr<at::ivalue::Future> future_;
};

struct NeuronBackend final : Backend {
  NeuronBackend(c10::intrusive_ptr<Backend> inner, bool whole_world)
      : Backend(inner->getRank(), inner->getSize()), inner_(std::move(inner)), whole_world_(whole_world) {}
  const std::string getBackendName() const override { return "neuron"; }

  WorkPtr wrap(WorkPtr work, Tensors results, OpType op) {
    return c10::make_intrusive<NeuronWork>(std::move(work), std::move(results), getRank(), op);
  }
  // For results that were already written: every rank has them once the barrier is passed.
  WorkPtr settled(Tensors results, OpType op) {
    c10d::BarrierOptions options;
    return wrap(inner_->barrier(options), std::move(results), op);
  }

  WorkPtr broadcast(Tensors& t, const c10d::BroadcastOptions& o) override {
    auto c = cpu(t);
    return wrap(inner_->broadcast(c, o), t, OpType::BROADCAST);
  }
  WorkPtr allreduce(Tensors& t, const c10d::AllreduceOptions& o) override {
    auto c = cpu(t);
    if (o.reduceOp != c10d::ReduceOp::AVG) return wrap(inner_->allreduce(c, o), t, OpType::ALLREDUCE);
    auto sum = o; // gloo has no average
    sum.reduceOp = c10d::ReduceOp::SUM;
    inner_->allreduce(c, sum)->wait();
    for (auto& x : c) x.div_(getSize());
    return settled(t, OpType::ALLREDUCE);
  }
  WorkPtr allreduce_coalesced(Tensors& t, const c10d::AllreduceCoalescedOptions& o) override {
    auto c = cpu(t);
    return wrap(inner_->allreduce_coalesced(c, o), t, OpType::ALLREDUCE_COALESCED);
  }
  WorkPtr reduce(Tensors& t, const c10d::ReduceOptions& o) override {
    auto c = cpu(t);
    return wrap(inner_->reduce(c, o), t, OpType::REDUCE);
  }
  WorkPtr allgather(std::vector<Tensors>& out, Tensors& in, const c10d::AllgatherOptions& o) override {
    auto co = cpu(out);
    auto ci = cpu(in);
    return wrap(inner_->allgather(co, ci, o), flat(out), OpType::ALLGATHER);
  }
  WorkPtr _allgather_base(at::Tensor& out, at::Tensor& in, const c10d::AllgatherOptions& o) override {
    auto co = cpu(out), ci = cpu(in);
    return wrap(inner_->_allgather_base(co, ci, o), {out}, OpType::_ALLGATHER_BASE);
  }
  WorkPtr allgather_into_tensor_coalesced(Tensors& out, Tensors& in, const c10d::AllgatherOptions& o) override {
    auto co = cpu(out), ci = cpu(in);
    return wrap(inner_->allgather_into_tensor_coalesced(co, ci, o), out, OpType::ALLGATHER_COALESCED);
  }
  WorkPtr gather(std::vector<Tensors>& out, Tensors& in, const c10d::GatherOptions& o) override {
    auto co = cpu(out);
    auto ci = cpu(in);
    return wrap(inner_->gather(co, ci, o), flat(out), OpType::GATHER);
  }
  WorkPtr scatter(Tensors& out, std::vector<Tensors>& in, const c10d::ScatterOptions& o) override {
    auto co = cpu(out);
    auto ci = cpu(in);
    return wrap(inner_->scatter(co, ci, o), out, OpType::SCATTER);
  }
  WorkPtr reduce_scatter(Tensors& out, std::vector<Tensors>& in, const c10d::ReduceScatterOptions& o) override {
    auto co = cpu(out);
    auto ci = cpu(in);
    return wrap(inner_->reduce_scatter(co, ci, o), out, OpType::REDUCE_SCATTER);
  }
  WorkPtr _reduce_scatter_base(at::Tensor& out, at::Tensor& in, const c10d::ReduceScatterOptions& o) override {
    auto co = cpu(out), ci = cpu(in);
    if (o.reduceOp != c10d::ReduceOp::AVG) {
      return wrap(inner_->_reduce_scatter_base(co, ci, o), {out}, OpType::_REDUCE_SCATTER_BASE);
    }
    auto sum = o;
    sum.reduceOp = c10d::ReduceOp::SUM;
    inner_->_reduce_scatter_base(co, ci, sum)->wait();
    co.div_(getSize());
    return settled({out}, OpType::_REDUCE_SCATTER_BASE);
  }
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& out, Tensors& in, const c10d::ReduceScatterOptions& o) override {
    auto co = cpu(out), ci = cpu(in);
    return wrap(inner_->reduce_scatter_tensor_coalesced(co, ci, o), out, OpType::REDUCE_SCATTER);
  }
  WorkPtr alltoall_base(at::Tensor& out, at::Tensor& in, std::vector<int64_t>& out_sizes,
                        std::vector<int64_t>& in_sizes, const c10d::AllToAllOptions& o) override {
    refuse_uneven(out_sizes);
    refuse_uneven(in_sizes);
    auto co = cpu(out), ci = cpu(in);
    return wrap(inner_->alltoall_base(co, ci, out_sizes, in_sizes, o), {out}, OpType::ALLTOALL_BASE);
  }
  // gloo has no list form: one flat buffer with split sizes.
  WorkPtr alltoall(Tensors& out, Tensors& in, const c10d::AllToAllOptions& o) override {
    std::vector<int64_t> out_sizes, in_sizes;
    Tensors flattened;
    for (const auto& t : out) out_sizes.push_back(t.numel());
    for (const auto& t : in) {
      in_sizes.push_back(t.numel());
      flattened.push_back(cpu(t).reshape({-1}));
    }
    refuse_uneven(out_sizes);
    refuse_uneven(in_sizes);
    auto ci = at::cat(flattened);
    auto co = at::empty({std::accumulate(out_sizes.begin(), out_sizes.end(), int64_t{0})}, ci.options());
    const auto sizes = out_sizes; // gloo takes the vectors away
    inner_->alltoall_base(co, ci, out_sizes, in_sizes, o)->wait();
    const auto parts = co.split_with_sizes(sizes);
    for (size_t i = 0; i < out.size(); i++) cpu(out[i]).copy_(parts[i].view_as(out[i]));
    return settled(out, OpType::ALLTOALL);
  }
  WorkPtr send(Tensors& t, int to, int tag) override {
    auto c = cpu(t);
    return inner_->send(c, to, tag);
  }
  WorkPtr recv(Tensors& t, int from, int tag) override {
    auto c = cpu(t);
    return inner_->recv(c, from, tag);
  }
  WorkPtr recvAnysource(Tensors& t, int tag) override {
    TORCH_CHECK_NOT_IMPLEMENTED(!limits().enforced, "recv from any source is not supported by the neuron backend");
    auto c = cpu(t);
    return inner_->recvAnysource(c, tag);
  }
  WorkPtr barrier(const c10d::BarrierOptions& o) override {
    if (limits().enforced && !whole_world_) {
      report("TN407", "error", "barrier on a group that is not the default group");
      TORCH_CHECK_NOT_IMPLEMENTED(false, "Barrier is implemented only for default group");
    }
    c10d::BarrierOptions options; // device ids mean nothing to gloo
    options.timeout = o.timeout;
    return inner_->barrier(options);
  }
  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }

  c10::intrusive_ptr<Backend> inner_;
  bool whole_world_;
};
} // namespace

c10::intrusive_ptr<Backend> wrap_backend(c10::intrusive_ptr<Backend> inner, bool whole_world) {
  return c10::make_intrusive<NeuronBackend>(std::move(inner), whole_world);
}

} // namespace neuron_standin
