// Times kernels for the tuner on problems with tensors, on the host or, by events, on a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "runtime/tune/tune.h"
#include "tools/problem/problem.h"
#include "tools/problem/session.h"

namespace fa::tools {

/// One spec at several sizes: a plan's time is the geometric mean over them, so that each size counts alike.
class SessionTimer final : public KernelTimer {
 public:
  /// Makes the tensors and places them. `device`: what the kernels run on. Throws Interrupted.
  SessionTimer(const Spec& spec, const std::vector<ProblemInputs>& inputs, Device device, int cuda_device,
               const Target& target);

  std::optional<double> seconds(const Kernel& kernel, int runs) override;

 private:
  struct Timed {
    std::unique_ptr<Problem> problem;
    std::unique_ptr<Session> session;
    int launches = 0;  // in a run, so that it is long enough for the clock; 0: not known yet
  };
  double seconds_at(Timed& timed, const Kernel& kernel, int runs) const;

  bool is_gpu_ = false;
  std::vector<Timed> sizes_;
};

/// What is timed, in words, all that a plan's time depends on: "B1 H8/2 N1024 N1x4096, window 64".
std::string describe_timed(const Spec& spec, const std::vector<ProblemInputs>& inputs);

}  // namespace fa::tools
