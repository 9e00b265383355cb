// What is remembered of tuning, as values: which plan a kernel should have, and what was timed on the way
// there.
// Both are lines of JSON, which this encodes, decodes and merges. No file, no clock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/cost.h"
#include "runtime/build/sass.h"

namespace fa {

/// What a tuned plan holds for. A change of any part makes another key, so an old plan is never used for it.
struct TuneKey {
  std::string spec;      // hash of the canonical spec
  std::string code;      // hash of the templates, or of this compiler's sources for the host
  std::string device;    // "NVIDIA H200 as h200", "host znver4, 2 threads"; of a prediction "any h200"
  std::string compiler;  // "NVRTC 13.0", "LLVM 19.1.7"
  bool operator==(const TuneKey&) const = default;
};

/// The plan that won.
struct TunedPlan {
  TuneKey key;
  std::string label;    // "causal bf16 d128 host", for people
  std::string problem;  // "B1 H8 N1024,4096"
  std::string plan;     // as Plan::print says it
  double ms = 0;        // of the problem, with this plan
  double gain = 1;      // the default plan's time over this one's
  std::string default_plan;
  int timed = 0, of = 0;  // plans
  bool finished = false;  // the search ended by itself
  std::int64_t date = 0;  // seconds since 1970
  /// Nothing was timed: ms and gain are the model's, and `timed` plans were built.
  bool predicted = false;
  std::vector<std::string> worth_timing =
      {};  // of a prediction: plans that a machine with the GPU should time
  /// The only size that was timed, near which the plan holds; nothing: it holds for every size.
  std::optional<ProblemSize> size = {};
  /// The commit of the Facet that found it, where it comes from a table that ships (runtime/tune/shipped); empty: from
  /// the store, whose lines do not have it.
  std::string shipped = {};
  bool operator==(const TunedPlan&) const = default;
};

/// What one plan took, for a search that goes on later.
struct TunedTiming {
  TuneKey key;
  std::string problem, plan;
  int runs = 0;
  double ratio = 1;  // its time over the default plan's
  double ms = 0;
  bool failed = false;
  bool operator==(const TunedTiming&) const = default;
};

/// What NVRTC made of one plan, for a prediction that goes on later.
struct TunedBuild {
  TuneKey key;
  std::string plan;
  AsBuilt built;
  SassMix mix;
  std::string failure;  // why it could not be built, or empty; then the rest means nothing
  bool operator==(const TunedBuild&) const = default;
};

/// One line, without its end.
std::string encode(const TunedPlan& plan);
std::string encode(const TunedTiming& timing);
std::string encode(const TunedBuild& build);
/// Nothing where the line is torn, junk, or of another format.
std::optional<TunedPlan> decode_plan(std::string_view line);
std::optional<TunedTiming> decode_timing(std::string_view line);
std::optional<TunedBuild> decode_build(std::string_view line);

/// Values of a file's bytes, in its order, and how many lines could not be read.
template <class Record>
struct Records {
  std::vector<Record> records;
  int junk = 0;
};
Records<TunedPlan> decode_plans(std::string_view bytes);
/// Only lines that hold `with` are looked at: reading JSON takes longer than finding text.
Records<TunedPlan> decode_plans(std::string_view bytes, std::string_view with);
Records<TunedTiming> decode_timings(std::string_view bytes, std::string_view with);
Records<TunedBuild> decode_builds(std::string_view bytes, std::string_view with);

/// One plan of each (key, problem): the latest, of those the last in the list; a predicted one only where none
/// was measured. In the order of their first.
std::vector<TunedPlan> merge(const std::vector<TunedPlan>& plans);
/// The plan for a key: of its problems the one that was tuned last. Measured ones come before predicted ones.
const TunedPlan* choose_tuned(const std::vector<TunedPlan>& plans, const TuneKey& key);
/// The same for the first of several keys that has a plan.
const TunedPlan* choose_first_tuned(const std::vector<TunedPlan>& plans, const std::vector<TuneKey>& keys);
/// The last of each plan's timings, for one key and problem.
std::vector<TunedTiming> last_of_each(const std::vector<TunedTiming>& timings, const TuneKey& key,
                                      std::string_view problem);

}  // namespace fa
