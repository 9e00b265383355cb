// Tuned plans on disk, from process to process, in a folder of their own beside the kernel cache: they cost
// minutes of timing, so nothing evicts them. Three files: plans.jsonl, the plans that won, which every compile
// looks up, and timings.jsonl and builds.jsonl, each measurement and each build for a prediction, from which a
// command goes on that was stopped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/tune/line_file.h"
#include "runtime/tune/record.h"

namespace fa {

struct StoredPlans {
  std::vector<TunedPlan> plans;  // merged
  int junk = 0;                  // lines of the file that could not be read
  std::string problem;           // why the file could not be read, or empty
};

class PlanStore {
 public:
  explicit PlanStore(const std::string& folder, bool shared = false);

  const std::string& folder() const { return folder_; }

  /// All plans of a spec (TuneKey::spec), for whatever GPU or CPU. `problem`: why the store could not be read, or empty.
  std::vector<TunedPlan> of_spec(const std::string& spec, std::string& problem) const;
  /// Those of any of the keys, which are of one spec.
  std::vector<TunedPlan> find(const std::vector<TuneKey>& keys, std::string& problem) const;
  /// Keeps plans, each the latest of its key and problem only. Returns why it could not, or an empty string.
  std::string keep(const std::vector<TunedPlan>& plans) const;
  /// Adds one measurement. Returns as `keep` does.
  std::string note(const TunedTiming& timing) const;
  /// What is known of each plan of a problem. An unreadable file counts as none.
  std::vector<TunedTiming> timings(const TuneKey& key, const std::string& problem) const;

  /// The same for what was built to predict plans.
  std::string note(const TunedBuild& build) const;
  std::vector<TunedBuild> builds(const TuneKey& key) const;

  StoredPlans list() const;
  /// Drops the plans and measurements of these specs (TuneKey::spec), of all where there are none given.
  /// `dropped`: how many plans. Returns as `keep` does.
  std::string forget(const std::vector<std::string>& specs, int& dropped) const;

 private:
  std::string folder_;
  LineFile plans_, timings_, builds_;
};

/// The folder: FA_TUNE_DIR, else the kernel cache's with "-tuned" after its name. Empty where there is none.
std::string tune_folder(const std::string& cache_dir);
/// The store there, of the trust that the environment says (FA_CACHE_SHARED).
PlanStore open_plan_store(const std::string& cache_dir);

}  // namespace fa
